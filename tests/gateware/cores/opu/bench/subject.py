# SPDX-License-Identifier: BSD-2-Clause
"""OPU: generator, builds and comparer of the campaigns and the shrinker."""

from quintet.gateware.cores.opu.isa import ISA
from quintet.gateware.cores.opu.software import SOFTWARE
from quintet.gateware.isa.asm import disassemble
from tests.gateware.cores.opu.bench import compare
from tests.gateware.cores.opu.bench import directed as opu_directed
from tests.gateware.cores.opu.bench import programs as opu_programs
from tests.support.campaigns import aborted, bus_error, whole
from tests.support.subjects import Subject

__all__ = ["SUBJECT"]


def _draw(legal=True):
    return lambda seed, params, rng: opu_programs.random_case(
        seed, params, legal=legal, budget=rng.choice((4000, 8000, 20000))
    )


#: Of six programs four run as they are (one of these into a fault), one is aborted, one meets a bus
#: error.
PLAN = (
    whole(_draw(legal=False)),
    *[whole(_draw())] * 3,
    aborted(_draw(), compare.check_aborted, 8000),
    bus_error(_draw(), compare.check_bus_error, compare.some_address),
)

SUBJECT = Subject(
    "opu",
    tuple(compare.BUILDS),
    compare.open_build,
    compare.check_case,
    PLAN,
    opu_programs.random_case,
    compare.with_words,
    lambda case: disassemble(SOFTWARE, ISA.store(case.words)),
    opu_programs.FAULTS,
    2_000_000,
    8000,
    opu_directed.directed_cases,
)
