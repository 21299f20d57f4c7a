# SPDX-License-Identifier: BSD-2-Clause
"""IMAGine's gateware against its golden model: random programs, directed ones, every fault, aborts,
bus errors, resets.

Three builds: odd sizes of 8 bits with the smallest FIFOs behind the shell's arbiter, 4 bits with
more rows than FIFO-out holds, 16 bits with a clock of the array's own. `make test` runs 1,000
random programs and more; ``test_imagine_campaigns.py`` goes on.
"""

import pytest

from quintet.boards.virtual.bench import IDEAL, Behaviour
from tests.gateware.cores.imagine.bench import checks as imagine_checks
from tests.gateware.cores.imagine.bench import compare as imagine_compare
from tests.gateware.cores.imagine.bench import directed as imagine_directed
from tests.gateware.cores.imagine.bench import programs as imagine_programs
from tests.support.shares import fewer, parts

#: Random programs of a build, and into how many tests they are cut.
COUNT, PARTS = 336, 8
#: A memory on which results leave slowly.
SLOW = Behaviour(latency=30, depth=1, gap=9, gap_percent=100, stall_percent=75)

bench = imagine_checks.bench_fixture(imagine_compare.QUICK)


@parts(PARTS)
def test_random_programs(bench, part):
    imagine_checks.random_programs(bench, range(part * COUNT // PARTS, (part + 1) * COUNT // PARTS))


@pytest.mark.parametrize("fault", imagine_programs.FAULTS)
def test_every_fault(bench, fault):
    imagine_checks.every_fault(bench, fault)


@pytest.mark.parametrize("group", imagine_directed.group_names())
def test_directed_programs(bench, group):
    imagine_checks.directed(bench, group, IDEAL)


@pytest.mark.parametrize("group", ("columns", "ends", "limits"))
def test_directed_programs_on_a_slow_memory(bench, group):
    imagine_checks.directed(bench, group, SLOW)


def test_runs_without_a_reset(bench):
    imagine_checks.runs_without_reset(bench, fewer(20, 5))


def test_aborts(bench):
    imagine_checks.aborts(bench, fewer(30), 3000)


def test_bus_errors(bench):
    imagine_checks.bus_errors(bench, fewer(30))


def test_core_resets_at_random_cycles(bench):
    imagine_checks.core_resets(bench, fewer(12))


def test_eov_is_cleared_by_a_write_of_1_while_busy_too(bench):
    register = bench.registers["eov"].offset
    case = next(imagine_directed.directed_cases(bench.params, "columns"))
    imagine_checks.check(bench, case, IDEAL)
    assert bench.read_register(register) == 1
    bench.write_register(register, 0)
    assert bench.read_register(register) == 1
    bench.write_register(register, 1)
    assert bench.read_register(register) == 0
    bench.start({"window_limit": case.memory.size, **case.registers})
    seen = 0
    while bench.busy:
        if bench.read_register(register):
            seen += 1
            bench.write_register(register, 1)
    assert bench.outcome().status == "done" and seen > 3
