# SPDX-License-Identifier: BSD-2-Clause
"""What every IMAGine build must stand: checks of one bench against the golden model."""
import random
from functools import partial

from tests.gateware.cores.imagine.bench import compare
from tests.gateware.cores.imagine.bench import directed as imagine_directed
from tests.gateware.cores.imagine.bench import programs as imagine_programs
from tests.support import comparing
from tests.support.campaigns import random_behaviour

__all__ = ["aborts", "bench_fixture", "bus_errors", "check", "core_resets", "directed", "every_fault", "random_programs",
           "runs_without_reset"]

bench_fixture = partial(comparing.bench_fixture, compare.open_build)


def check(bench, case, behaviour, seed=0, note="", model=None):
    """A run equals the model's; its outcome."""
    problems, outcome = compare.check_case(bench, case, behaviour, seed, model=model)
    assert not problems, (case.name, note, problems)
    return outcome


def random_programs(bench, seeds, budget=1200):
    """One in eight ends in a fault; every one with a memory of its own temper."""
    for seed in seeds:
        check(bench, imagine_programs.random_case(seed, bench.params, legal=seed % 8 != 0, budget=budget),
              random_behaviour(seed), seed)


def every_fault(bench, fault, count=4):
    for seed in range(count):
        try:
            case = imagine_programs.random_case(seed, bench.params, fault=fault, budget=300)
        except ValueError:
            return          # no word raises it with these sizes
        assert check(bench, case, random_behaviour(seed), seed).fault.name == case.fault


def directed(bench, group, behaviour):
    for seed, case in enumerate(imagine_directed.directed_cases(bench.params, group)):
        check(bench, case, behaviour or random_behaviour(seed), seed)


def runs_without_reset(bench, count, budget=600):
    """The array's state goes through runs that end well, by a fault, and begin anew."""
    model = compare.fresh(bench)
    for seed in range(count):
        fault = (None, None, "reserved_bits", None, "output_full")[seed % 5]
        case = imagine_programs.random_case(f"chain {seed}", bench.params, fault=fault, budget=budget)
        check(bench, case, random_behaviour(seed), seed, "in a chain of runs", model)


def aborts(bench, count, latest):
    """Aborts at random cycles; what they leave is shown by another program."""
    aborted = 0
    for seed in range(count):
        rng = random.Random(seed)
        case = imagine_programs.random_case(seed, bench.params, budget=1500)
        problems, outcome = compare.check_aborted(bench, case, rng.choice((0, 1, 2, rng.randrange(100), rng.randrange(latest))),
                                                  random_behaviour(seed), seed)
        assert not problems, (case.name, problems)
        aborted += outcome.status == "aborted"
    assert aborted > count // 2


def bus_errors(bench, count):
    """At addresses of the program and the results, reads or writes or both."""
    hit = 0
    for seed in range(count):
        rng = random.Random(seed)
        case = imagine_programs.random_case(seed, bench.params, budget=600)
        base, at, end = (case.registers[n] for n in ("program_address", "output_at", "output_limit"))
        address = rng.choice((base + rng.randrange(4 * len(case.words)), rng.randrange(at, end), rng.randrange(at, end)))
        problems, outcome = compare.check_bus_error(bench, case, address, rng.choice((True, False, None)),
                                                    random_behaviour(seed), seed)
        assert not problems, (case.name, hex(address), problems)
        hit += outcome.status == "fault"
    assert hit > count // 4


def core_resets(bench, count):
    """Core resets at random cycles, and the same program whole after each."""
    for seed in range(count):
        case = imagine_programs.random_case(seed, bench.params, legal=seed % 3 != 0, budget=600)
        bench.behave(random_behaviour(seed), seed=seed)
        bench.load(case.memory)
        bench.start(comparing.registers_of(case))
        bench.step(random.Random(seed).choice((0, 1, 3, 17, 200, 1500)))
        bench.reset()
        assert bench.status() == 0
        check(bench, case, random_behaviour(seed), seed, "after a core reset")
