# SPDX-License-Identifier: BSD-2-Clause
"""Checks of every IMAGine build on one bench against the golden model."""

from functools import partial

from tests.gateware.cores.imagine.bench import compare
from tests.gateware.cores.imagine.bench import directed as imagine_directed
from tests.gateware.cores.imagine.bench import programs as imagine_programs
from tests.support import comparing
from tests.support.campaigns import random_behaviour
from tests.support.checks import Checks

__all__ = [
    "aborts",
    "bench_fixture",
    "bus_errors",
    "check",
    "core_resets",
    "directed",
    "every_fault",
    "random_programs",
    "runs_without_reset",
]


def _address(case, rng):
    """Of the program or the results."""
    base, at, end = (case.registers[n] for n in ("program_address", "output_at", "output_limit"))
    return rng.choice(
        (base + rng.randrange(4 * len(case.words)), rng.randrange(at, end), rng.randrange(at, end))
    )


bench_fixture = partial(comparing.bench_fixture, compare.open_build)
CHECKS = Checks(compare, imagine_programs.random_case)
check = CHECKS.run
random_programs = partial(CHECKS.random_programs, fails=8, budget=1200)
core_resets = partial(CHECKS.core_resets, fails=3, budget=600)


def every_fault(bench, fault, count=4):
    for seed in range(count):
        try:
            case = imagine_programs.random_case(seed, bench.params, fault=fault, budget=300)
        except ValueError:
            return  # no word raises it with these sizes
        assert check(bench, case, random_behaviour(seed), seed).fault.name == case.fault


def directed(bench, group, behaviour):
    for seed, case in enumerate(imagine_directed.directed_cases(bench.params, group)):
        check(bench, case, behaviour or random_behaviour(seed), seed)


def runs_without_reset(bench, count, budget=600):
    """The array's state goes through runs that end well, by a fault, and begin anew."""
    model = compare.fresh(bench)
    for seed in range(count):
        fault = (None, None, "reserved_bits", None, "output_full")[seed % 5]
        case = imagine_programs.random_case(
            f"chain {seed}", bench.params, fault=fault, budget=budget
        )
        check(bench, case, random_behaviour(seed), seed, "in a chain of runs", model=model)


def aborts(bench, count, latest):
    assert CHECKS.aborts(bench, count, latest, budget=1500) > count // 2


def bus_errors(bench, count):
    CHECKS.bus_errors(bench, count, count // 4, address=_address, budget=600)
