# SPDX-License-Identifier: BSD-2-Clause
"""What every OpenTPU engine must stand, pipelined or small: checks of one bench against the golden model."""
import random
from functools import partial

from quintet.boards.virtual.bench import IDEAL, Behaviour
from tests.gateware.cores.opentpu.bench import programs
from tests.gateware.cores.opentpu.bench.compare import check_aborted, check_bus_error, check_case, open_build, sanitised
from tests.support import comparing
from tests.support.campaigns import random_behaviour

__all__ = ["aborts", "bench_fixture", "bus_errors", "bus_errors_among_nops", "core_resets", "every_fault", "hazards", "nop_runs", "random_programs",
           "shared_bench"]

bench_fixture = partial(comparing.bench_fixture, open_build)
shared_bench = partial(comparing.shared_bench, open_build)


def _check(bench, case, behaviour, seed=0, note=""):
    problems, outcome = check_case(bench, case, behaviour, seed)
    assert not problems, (case.name, note, problems)
    return outcome


def random_programs(bench, seeds):
    """A third of them with a fault injected; every one with a memory of its own temper."""
    for seed in seeds:
        _check(bench, programs.random_case(seed, bench.params, legal=seed % 3 != 0), random_behaviour(seed), seed)


def nop_runs(bench, seeds):
    """Programs with runs of NOPs: whole, aborted, with a failing beat, without an end, with a window that ends behind them. Memory
    behind a program is zero, and reads as NOPs."""
    for seed in seeds:
        rng = random.Random(f"nop runs {seed}")
        case = programs.random_case(seed, bench.params)
        hlt = programs.OP["HLT"]
        words = case.words[:next(k for k, word in enumerate(case.words) if word.opcode == hlt)]
        kind = seed % 5
        words = programs.nop_runs(words, seed)
        if kind != 3:
            words.append(programs.Word(hlt))
        elif rng.random() < 0.7:
            words += [programs.Word(programs.OP["NOP"])] * rng.randrange(24)
        case = sanitised(case, words)
        at, size = case.registers["program_address"], case.registers["program_length"]
        if kind == 4:
            case.registers["window_limit"] = programs.align(at + size, 64)
        behaviour = random_behaviour(seed)
        if kind == 1:
            problems, _ = check_aborted(bench, case, rng.randrange(6000), behaviour, seed)
        elif kind == 2:
            problems, _ = check_bus_error(bench, case, at + rng.randrange(size), None, behaviour, seed)
        else:
            problems, outcome = check_case(bench, case, behaviour, seed)
            assert (outcome.fault.name if outcome.fault else None) == ("program_end" if kind == 3 else None), case.name
        assert not problems, (case.name, seed, problems)


def bus_errors_among_nops(bench):
    """The first word that lies in the failing beat faults, all before it retire: fetch may ask for many at once."""
    nop, hlt = programs.Word(programs.OP["NOP"]), programs.Word(programs.OP["HLT"])
    case = sanitised(programs.random_case(0, bench.params), [nop] * 40 + [hlt])
    at = case.registers["program_address"]
    for word in range(41):
        for behaviour in (IDEAL, random_behaviour(word)):
            place = at + 14 * word + 7
            beat = place - place % bench.beat_bytes
            problems, got = check_bus_error(bench, case, place, None, behaviour, word)
            assert not problems, (word, problems)
            first = max(beat - at, 0) // 14
            assert (got.fault.name, got.fault.pc, got.counters["instructions"]) == ("bus_error", at + 14 * first, first), word


def every_fault(bench, fault, count=12):
    seen = set()
    for seed in range(count):
        outcome = _check(bench, programs.random_case(seed, bench.params, fault=fault), random_behaviour(seed), seed)
        seen.add(outcome.fault.name if outcome.fault else None)
    if fault not in ("bitflip", "bad_config"):
        assert fault in seen


def aborts(bench, count, every):
    """Aborts at random cycles; after every ``every``-th the same program runs whole."""
    for seed in range(count):
        rng = random.Random(seed)
        case = programs.random_case(seed, bench.params)
        problems, _ = check_aborted(bench, case, rng.choice((0, 1, 2, rng.randrange(100), rng.randrange(3000))),
                                    random_behaviour(seed), seed)
        assert not problems, (case.name, problems)
        if seed % every == 0:
            _check(bench, case, IDEAL, note="after an abort")


def core_resets(bench, count):
    """Core resets at random cycles, and the same program whole after each."""
    for seed in range(count):
        case = programs.random_case(seed, bench.params, legal=seed % 3 != 0)
        bench.behave(random_behaviour(seed), seed=seed)
        bench.load(case.memory)
        bench.start({"window_limit": case.memory.size, **case.registers})
        bench.step(random.Random(seed).choice((0, 1, 3, 17, 200, 1500)))
        bench.reset()
        assert bench.status() == 0
        _check(bench, case, random_behaviour(seed), seed, "after a core reset")


def bus_errors(bench, count, least):
    """At the first, last or a random byte of each region, reads or writes or both; ``least``: so many must be hit."""
    hit = 0
    for seed in range(count):
        rng = random.Random(seed)
        case = programs.random_case(seed, bench.params)
        region, size = rng.choice([
            (case.registers["program_address"], len(case.program)),
            (case.registers["hostmem_base"], case.registers["hostmem_limit"] - case.registers["hostmem_base"]),
            (case.registers["weights_base"], case.registers["weights_limit"] - case.registers["weights_base"])])
        address = region + rng.choice((0, size - 1, rng.randrange(size)))
        problems, outcome = check_bus_error(bench, case, address, rng.choice((True, False, None)), random_behaviour(seed),
                                            seed)
        assert not problems, (case.name, hex(address), problems)
        hit += outcome.status == "fault"
        _check(bench, case, IDEAL, note="after a bus error")
    assert hit > least


def hazards(bench):
    for case in programs.hazard_cases(bench.params):
        for behaviour in (IDEAL, Behaviour(latency=3, gap=6, gap_percent=40, stall_percent=20)):
            _check(bench, case, behaviour, 1, behaviour)
