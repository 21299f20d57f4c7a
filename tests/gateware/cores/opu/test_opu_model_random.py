# SPDX-License-Identifier: BSD-2-Clause
"""Random programs: the model against exact fractions, memory and faults compared; and the generator
itself."""

import warnings
from collections import Counter

import pytest

from quintet.gateware.cores.opu.isa import ISA
from quintet.gateware.cores.opu.model.model import Model, SelfModifyingProgram
from quintet.gateware.cores.opu.params import SPACE
from quintet.gateware.cores.opu.types import TYPE_SETS
from tests.gateware.cores.opu.bench import programs as opu_programs
from tests.gateware.cores.opu.oracle import slow as opu_slow
from tests.support.campaigns import Campaign
from tests.support.shares import fewer

QUICK = 60


def run_model(case):
    memory = case.memory.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error", SelfModifyingProgram)
        model = Model(case.params, memory)
        return model.run(case.registers), memory, model


def check(case):
    """Model and fractions agree, and the case is what it says it is."""
    outcome, memory, model = run_model(case)
    slow = bytearray(case.memory.tobytes())
    machine = opu_slow.Slow(case.params["types"], slow, case.params)
    status, fault = machine.run(case.registers)
    assert outcome.status == status == ("done" if case.fault is None else "fault"), (
        case.name,
        outcome,
        fault,
    )
    if fault is not None:
        name, pc, detail, word = fault
        assert (outcome.fault.name, outcome.fault.pc, outcome.fault.detail) == (name, pc, detail), (
            case.name
        )
        assert outcome.values["fault_insn"] == word and name == case.fault, case.name
    assert memory.tobytes() == bytes(slow), case.name
    assert (outcome.counters["instructions"], outcome.counters["operations"]) == (
        machine.retired,
        machine.macs,
    ), case.name
    if case.fault is None and "ofm" in machine.buf:
        ofm = model.ofm.tolist()
        for (i, j, k), value in machine.buf["ofm"].items():
            assert ofm[i][j][k] == value, (case.name, i, j, k)
    return outcome


def params_of(types, preset="sim"):
    return SPACE.resolve(preset, {"types": types})


@pytest.mark.parametrize("types", TYPE_SETS)
def test_legal_programs_against_fractions(types):
    for seed in range(fewer(QUICK)):
        check(opu_programs.random_case(seed, params_of(types), budget=8000))


@pytest.mark.parametrize("types", TYPE_SETS)
@pytest.mark.parametrize("fault", opu_programs.FAULTS)
def test_illegal_programs_against_fractions(types, fault):
    for seed in range(fewer(6)):
        check(opu_programs.random_case(seed, params_of(types), fault=fault, budget=3000))


@pytest.mark.long
@pytest.mark.parametrize("types", TYPE_SETS)
def test_long_programs_against_fractions(types):
    # Those that these types can be built with.
    presets = [
        name
        for name in SPACE.presets
        if types == "8-8-16-16"
        or SPACE.resolve(name)["engine"] == "pipelined"
        and (types[0] == "8" or SPACE.resolve(name)["multiplier"] != "dsp_pair")
    ]
    for seed in Campaign("opu-model", 1 / len(TYPE_SETS)).seeds(types):
        check(
            opu_programs.random_case(
                seed, params_of(types, presets[seed % len(presets)]), legal=seed % 3 != 0
            )
        )


@pytest.mark.parametrize("preset", SPACE.presets)
def test_generator_gives_what_it_says_in_every_preset(preset):
    params = SPACE.resolve(preset)
    for seed in range(fewer(20)):
        case = opu_programs.random_case(seed, params)
        assert run_model(case)[0].status == "done" and case.cycles < 60_000
        illegal = opu_programs.random_case(seed, params, legal=False)
        fault = run_model(illegal)[0].fault
        assert fault is not None and fault.name == illegal.fault


def test_generator_is_reproducible_and_gives_a_triple():
    words, memory, registers = one = opu_programs.random_case(3, SPACE.resolve("sim"))
    again = opu_programs.random_case(3, SPACE.resolve("sim"))
    assert words == again.words and registers == again.registers and (memory == again.memory).all()
    at = registers["program_address"]
    assert memory[at : at + 4 * len(words)].tobytes() == one.program == ISA.store(words)


def test_generator_covers_the_isa():
    """Every instruction, every form of @post, every shape of channels; results neither all 0 nor
    all saturated."""
    params, seen, channels, posts, zero, edge, total, silent = (
        SPACE.resolve("sim"),
        Counter(),
        set(),
        set(),
        0,
        0,
        0,
        0,
    )
    for seed in range(150):
        case = opu_programs.random_case(seed, params)
        outcome, memory, model = run_model(case)
        silent += (memory == case.memory).all()
        for word in case.words[: outcome.counters["instructions"]]:
            decoded = ISA.decode(word)
            seen[decoded.instruction.mnemonic] += 1
            if decoded.instruction.mnemonic == "@post":
                posts.add(decoded.values["post"])
        if model.ofm is not None:
            low, high = model.types.ofm_range
            channels.add((model._sequence.ifm[2], model._sequence.ofm[2]))
            zero += int((model.ofm == 0).sum())
            edge += int(((model.ofm == low) | (model.ofm == high)).sum())
            total += model.ofm.size
    assert set(seen) == set(ISA.opcodes) and len(posts) == 11
    assert {k for _, k in channels} == {2, 4, 8, 16, 32, 64} and {c for c, _ in channels} == {
        16,
        32,
        64,
    }
    assert zero < total // 3 and edge < total // 3 and edge and zero and silent < 15


def test_faults_cover_their_details():
    """Each detail of range but the rarest, both masks of capacity, many of undef_*: in a few
    hundred programs."""
    details = {}
    for fault in ("range", "capacity", "undef_reg", "undef_buf"):
        for seed in range(80):
            case = opu_programs.random_case(seed, SPACE.resolve("sim"), fault=fault, budget=2000)
            got = run_model(case)[0].fault
            details.setdefault(got.name, set()).add(got.detail)
    assert details["range"] >= {1, 2, 4, 5, 6, 7, 8} and details["capacity"] == {1, 2, 8}
    assert details["undef_reg"] >= {1, 2, 4, 8, 16, 9, 7} and details["undef_buf"] >= {1, 2, 3, 8}
