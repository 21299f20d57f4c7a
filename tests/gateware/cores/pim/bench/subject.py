# SPDX-License-Identifier: BSD-2-Clause
"""PIM: generator, builds and comparer of the campaigns and the shrinker."""

from quintet.gateware.cores.pim.software import SOFTWARE
from quintet.gateware.isa.asm import disassemble
from tests.gateware.cores.pim.bench import compare
from tests.gateware.cores.pim.bench import programs as pim_programs
from tests.support.campaigns import aborted, bus_error, whole
from tests.support.subjects import Subject

__all__ = ["SUBJECT"]


def _draw(legal=True):
    return lambda seed, params, rng: pim_programs.random_case(
        seed, params, legal=legal, budget=rng.choice((800, 1500, 4000))
    )


#: Of eight programs six run as they are (one of these into a fault), one is aborted, one meets a
#: bus error.
PLAN = (
    whole(_draw(legal=False)),
    *[whole(_draw())] * 5,
    aborted(_draw(), compare.check_aborted, 8000),
    bus_error(_draw(), compare.check_bus_error, compare.some_address),
)

SUBJECT = Subject(
    "pim",
    tuple(compare.BUILDS),
    compare.open_build,
    compare.check_case,
    PLAN,
    pim_programs.random_case,
    compare.with_words,
    lambda case: disassemble(SOFTWARE, case.image.data()),
    pim_programs.FAULTS,
    compare.CYCLES,
    1500,
)
