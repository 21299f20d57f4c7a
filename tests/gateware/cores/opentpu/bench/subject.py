# SPDX-License-Identifier: BSD-2-Clause
"""OpenTPU: generator, builds and comparer of the campaigns and the shrinker."""

from tests.gateware.cores.opentpu.bench import compare, programs
from tests.support.campaigns import aborted, bus_error, whole
from tests.support.subjects import Subject

__all__ = ["SUBJECT"]


def _draw(seed, params, rng):
    return programs.random_case(seed, params)


def _faulty(seed, params, rng):
    return programs.random_case(seed, params, legal=False)


def _with_nops(seed, params, rng):
    case = programs.random_case(seed, params)
    return compare.sanitised(case, programs.nop_runs(case.words, seed))


#: Of six programs four run as they are, with a fault injected or with runs of NOPs, one is aborted,
#: one meets a bus error.
PLAN = (
    whole(_faulty),
    whole(_with_nops),
    whole(_draw),
    whole(_draw),
    aborted(_draw, compare.check_aborted, 4000),
    bus_error(_draw, compare.check_bus_error, lambda case, rng: rng.randrange(case.memory.size)),
)

SUBJECT = Subject(
    "opentpu",
    tuple(compare.BUILDS),
    compare.open_build,
    compare.check_case,
    PLAN,
    programs.random_case,
    compare.sanitised,
    lambda case: "".join(f"  {word}\n" for word in case.words),
    programs.FAULTS,
    compare.CYCLES,
)
