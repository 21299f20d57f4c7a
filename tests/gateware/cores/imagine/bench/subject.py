# SPDX-License-Identifier: BSD-2-Clause
"""IMAGine: generator, builds and comparer of the campaigns and the shrinker."""

from quintet.gateware.cores.imagine.isa import ISA
from quintet.gateware.cores.imagine.software import SOFTWARE
from quintet.gateware.isa.asm import disassemble
from tests.gateware.cores.imagine.bench import compare
from tests.gateware.cores.imagine.bench import directed as imagine_directed
from tests.gateware.cores.imagine.bench import programs as imagine_programs
from tests.support.campaigns import aborted, bus_error, whole
from tests.support.subjects import Subject

__all__ = ["SUBJECT"]


def _draw(legal=True):
    return lambda seed, params, rng: imagine_programs.random_case(
        seed, params, legal=legal, budget=rng.choice((600, 1200, 3000))
    )


def _address(case, rng):
    """Of the program, or of the results."""
    registers = case.registers
    return rng.choice(
        (
            registers["program_address"] + rng.randrange(4 * len(case.words)),
            rng.randrange(registers["output_at"], registers["output_limit"]),
        )
    )


#: Of ten programs eight run as they are (one of these into a fault), one is aborted, one meets a
#: bus error.
PLAN = (
    whole(_draw(legal=False)),
    *[whole(_draw())] * 7,
    aborted(_draw(), compare.check_aborted, 4000),
    bus_error(_draw(), compare.check_bus_error, _address),
)

SUBJECT = Subject(
    "imagine",
    tuple(compare.BUILDS),
    compare.open_build,
    compare.check_case,
    PLAN,
    imagine_programs.random_case,
    compare.with_words,
    lambda case: disassemble(SOFTWARE, ISA.store(case.words), case.params),
    imagine_programs.FAULTS,
    500_000,
    1200,
    imagine_directed.directed_cases,
)
