# SPDX-License-Identifier: BSD-2-Clause
"""The directed tests of section 11 on the model: hand-made expectations, and exact fractions."""

import numpy as np
import pytest
from test_opu_model_random import check, run_model

from quintet.gateware.cores.opu.model.model import Model, SelfModifyingProgram
from quintet.gateware.cores.opu.params import SPACE
from quintet.gateware.cores.opu.software import SOFTWARE
from quintet.gateware.cores.opu.types import TYPE_SETS
from tests.gateware.cores.opu.bench import directed as opu_directed
from tests.gateware.cores.opu.bench import programs as opu_programs
from tests.gateware.cores.opu.bench.directed import RESULTS


def build(types, preset="sim"):
    return SPACE.resolve(preset, {"types": types})


@pytest.mark.parametrize("types", TYPE_SETS)
@pytest.mark.parametrize("group", opu_directed.group_names())
def test_against_fractions(group, types):
    """All cases with the default types, a part of them with the others."""
    count, cases = 0, opu_directed.directed_cases(build(types), group)
    for case in cases if types == "8-8-16-16" else opu_directed.shuffled(cases, 1, 20):
        outcome = check(case)
        if case.notes.get("fault"):
            assert (outcome.fault.name, outcome.fault.detail) == case.notes["fault"], case.name
        count += 1
    assert count >= {"cancelling": 9, "order of taps": 2, "memory order": 10}.get(group, 20)
    assert types != "8-8-16-16" or group not in ("regions", "faults", "posts") or count > 60


def test_on_a_build_that_holds_every_shape():
    """Tiles of 127x16 and kernels of 64x64x9, which the small build cannot take."""
    names = set()
    for case in opu_directed.directed_cases(SPACE.resolve("85f"), "geometry"):
        names.add(case.name)
        if case.name.startswith(("tile", "kernel")):
            check(case)
    assert {"kernel 64x64x9", "tile (127, 16, 16)", "tile (16, 127, 16)", "kernel 16x2x36"} <= names


def kappa8(value):
    return max(-128, min(127, (value + 128) // 256))


@pytest.mark.parametrize("act", [0, 1, 2])
def test_every_value_of_ofm_through_store(act):
    seen = 0
    for case in opu_directed.every_value_cases(build("8-8-16-16"), act):
        outcome, memory, model = run_model(case)
        assert outcome.status == "done"
        got = memory[RESULTS : RESULTS + 16384].view(np.int8)
        values = range(case.notes["first"], case.notes["first"] + 16384)
        expected = []
        for value in values:
            x = kappa8(value)
            expected.append(x if act == 0 or x >= 0 else 0 if act == 1 else (2 * x + 8) // 16)
        assert got.tolist() == expected
        seen += len(expected)
    assert seen == 65536


def test_leaky_on_the_documents_examples():
    from quintet.gateware.cores.opu.model.arithmetic import activate

    assert activate(np.array([-4, -5, -12, -13, -128, 0, 7, 127]), 2).tolist() == [
        0,
        -1,
        -1,
        -2,
        -16,
        0,
        7,
        127,
    ]


def test_taps_in_another_order_give_another_result():
    case = next(iter(opu_directed.directed_cases(build("8-8-16-16"), "order of taps")))
    memory = run_model(case)[1]
    stored = [
        memory[RESULTS + 512 * n : RESULTS + 512 * n + 2].view(np.int8).tolist() for n in range(4)
    ]
    assert len({tuple(values) for values in stored}) > 1


def test_twice_in_a_row_and_after_anything_else():
    """A run depends on nothing that ran before."""
    params = build("8-8-16-16")
    cases = [
        opu_programs.random_case(seed, params, legal=seed % 2 == 0, budget=4000)
        for seed in range(8)
    ]
    alone = [run_model(case)[:2] for case in cases]
    memory = np.zeros(cases[0].memory.size, np.uint8)
    model = Model(params, memory)
    for case, (outcome, expected) in [*zip(cases, alone, strict=True)] * 2:
        memory[:] = case.memory
        assert model.run(case.registers) == outcome and (memory == expected).all()


def program(text, memory, at=0, **registers):
    from quintet.gateware.isa.asm import assemble_text

    data = assemble_text(SOFTWARE, text).data
    memory[at : at + len(data)] = np.frombuffer(data, np.uint8)
    return {"program_address": at, "program_length": len(data), **registers}


def test_counters_and_trace():
    memory = np.full(0x4000, 1, np.uint8)
    text = (
        "@shape.ifm [2,3,16]\n@shape.ofm [2,3,4]\n@shape.ker 2\n@mem.ifm 0, 3\n@mem.ofm 0, "
        "[4,5]\nld.ifm 0x40\nld.ker 0x60\n"
        "ld.bias 0x60\nconv.bias ifm:[0,0], ker:0\nconv.acc ifm:[0,0], ker:1\nstore 0x86\npad "
        "0x80, 1\nend\n.word 9"
    )
    registers, traced = program(text, memory), []
    outcome = Model(SPACE.resolve(), memory).run(
        registers, trace=lambda *entry: traced.append(entry)
    )
    assert outcome.counters == {
        "instructions": 13,
        "operations": 2 * 2 * 3 * 4 * 16,
        "bytes_read": 13 * 4 + 2 * 3 * 16 + 2 * 4 * 16 + 8,
        "bytes_written": 2 * 3 * 4 + (4 * 5 - 2 * 3) * 64,
    }
    stores = [(address, size) for pc, address, size in traced if pc == 40]
    assert stores == [(0x2180 + 64 * (5 * i + j), 4) for i in range(2) for j in range(3)]
    pads = [(address, size) for pc, address, size in traced if pc == 44]
    assert pads == [
        (0x2000, 320),
        (0x2140, 64),
        (0x2240, 64),
        (0x2280, 64),
        (0x2380, 64),
        (0x23C0, 320),
    ]


def test_trace_joins_whole_slots():
    memory = np.zeros(0x8000, np.uint8)
    registers, traced = (
        program(
            "@shape.ifm [2,2,16]\n@shape.ofm [2,2,64]\n@shape.ker 1\n@mem.ifm 0, 2\n@mem.ofm "
            "0, [2,3]\n"
            "ld.ifm 0x40\nld.ker 0x40\nconv ifm:[0,0], ker:0\nstore 0x80\nend",
            memory,
        ),
        [],
    )
    Model(SPACE.resolve(), memory).run(registers, trace=lambda *entry: traced.append(entry))
    assert traced == [(32, 0x2000, 128), (32, 0x20C0, 128)]


def test_trace_of_rows_that_overlap():
    """Each row is in memory when it is told, not yet changed by the next one."""
    memory = np.zeros(0x8000, np.uint8)
    memory[0x1000:0x1100:64] = 1, 2, 3, 4
    memory[0x1200:0x1220:16] = 1
    registers, traced = (
        program(
            "@shape.ifm [2,2,16]\n@shape.ofm [2,2,2]\n@shape.ker 1\n@mem.ifm 0, 2\n@mem.ofm 0, "
            "[2,1]\n"
            "@shift 8, 0\nld.ifm 0x40\nld.ker 0x48\nconv ifm:[0,0], ker:0\nstore 0x80\nend",
            memory,
        ),
        [],
    )
    Model(SPACE.resolve(), memory).run(
        registers,
        trace=lambda pc, address, size: traced.append(
            (address, memory[address : address + size].tolist())
        ),
    )
    assert traced == [(0x2000, [1, 1]), (0x2040, [2, 2]), (0x2040, [3, 3]), (0x2080, [4, 4])]


def test_read_only_registers():
    memory = np.zeros(0x1000, np.uint8)
    registers = program("@stride [1,1]\n.word 0xabc9\nend", memory, at=0x40)
    outcome = Model(SPACE.resolve("25f", {"types": "8-8-32-32"}), memory).run(registers)
    assert outcome.values == {
        "fault_insn": 0xABC9,
        "cap_types": 0x20200808,
        "cap_lanes": 0x01010110,
        "cap_ifm_lines": 1536,
        "cap_ofm_lines": 16384,
        "cap_ker_rows": 2304,
    }
    assert (outcome.fault.code, outcome.fault.pc, outcome.fault.detail) == (1, 0x44, 9)
    assert (
        Model(SPACE.resolve(), memory).run({**registers, "program_length": 4}).values["fault_insn"]
        == 0
    )


def test_cycle_limit_counts_instructions():
    memory = np.zeros(0x1000, np.uint8)
    registers = program("@mem.ofm 0, [1,1]\npad 0x20, 1\n@stride [1,1]\nend", memory, at=0x40)
    memory[0x800:0x840] = 7
    model = Model(SPACE.resolve(), memory)
    outcome = model.run(registers, cycle_limit=1)
    assert (
        outcome.status == "aborted" and memory[0x800] == 7 and outcome.counters["instructions"] == 1
    )
    assert (outcome.fault.code, outcome.fault.name, outcome.fault.pc, outcome.fault.detail) == (
        8,
        "aborted",
        0x44,
        0,
    )
    assert model.run(registers, cycle_limit=3).fault.pc == 0x4C and memory[0x800] == 0
    assert model.run(registers, cycle_limit=4).status == "done"
    model.reset()
    assert model.ofm is None


def test_memory_that_ends_inside_the_window():
    memory = np.zeros(0x1000, np.uint8)
    text = "@mem.ofm 0, [2,2]\npad 0x3e, 1\nend"
    registers = program(text, memory, window_limit=0x4000)
    memory[0xF80:] = 9
    fault = Model(SPACE.resolve(), memory).run(registers).fault
    assert (fault.code, fault.name, fault.pc, fault.detail) == (6, "bus", 4, 0x1000) and (
        memory[0xF80:] == 9
    ).all()
    fault = Model(SPACE.resolve(), memory).run({**registers, "program_address": 0x1000}).fault
    assert (fault.name, fault.pc, fault.detail) == ("bus", 0x1000, 0x1000)


def test_regions_of_a_whole_4_gib():
    """Registers at their resets: ISA addresses are those of main memory."""
    memory = np.zeros(0x2000, np.uint8)
    memory[0x1000:] = 5
    registers = program("@mem.ofm 0, [1,1]\npad 0x40, 1\n@mem.ofm 1, [1,1]\npad 0, 1\nend", memory)
    outcome = Model(SPACE.resolve(), memory).run(registers)
    assert not memory[0x1000:0x1040].any() and memory[0x1040] == 5
    assert (outcome.fault.name, outcome.fault.detail) == ("window", 0x1000_0000)


def test_limits_above_a_region_and_low_bits():
    memory = np.full(0x2000, 5, np.uint8)
    registers = program("@mem.ofm 2, [1,1]\npad 1, 1\nend", memory)
    outcome = Model(SPACE.resolve(), memory).run(
        {**registers, "region_base[2]": 0x103F, "region_limit[2]": 0xFFFF_FFFF}
    )
    assert (
        outcome.status == "done"
        and not memory[0x1040:0x1080].any()
        and memory[0x103F] == memory[0x1080] == 5
    )
    outcome = Model(SPACE.resolve(), memory).run(
        {**registers, "region_base[2]": 0x1000, "region_limit[2]": 127}
    )
    assert (outcome.fault.name, outcome.fault.detail) == ("region", 0x2000_0040)


def test_a_program_that_writes_itself_goes_on_as_it_was():
    memory = np.zeros(0x1000, np.uint8)
    registers = program("@mem.ofm 0, [1,1]\npad 0, 1\n@stride [1,1]\nend", memory)
    with pytest.warns(
        SelfModifyingProgram, match=r"the instruction at 0x4 writes 0x0..0x3f, part of the program"
    ):
        outcome = Model(SPACE.resolve(), memory).run(registers)
    assert (
        outcome.status == "done" and outcome.counters["instructions"] == 4 and not memory[:16].any()
    )


@pytest.mark.parametrize(
    "registers, message",
    [
        ({"region_base[16]": 0}, r"no writable register 'region_base\[16\]'"),
        ({"region_base": 0}, "no writable register"),
        (
            {"region_limit[0]": 1 << 32},
            r"register region_limit\[0\] must be 0 to 0xffffffff, not 4294967296",
        ),
    ],
)
def test_registers_refused(registers, message):
    with pytest.raises(ValueError, match=message):
        Model(SPACE.resolve(), np.zeros(64, np.uint8)).run(registers)


def test_a_network_of_many_macs_is_quick_enough_to_use():
    """41 M MACs in few instructions: whole tiles are one product of matrices (no bound on time,
    only that it ends)."""
    memory = np.random.default_rng(0).integers(0, 256, 1 << 20).astype(np.uint8)
    taps = (
        "".join(f"conv{'.acc' if n else ''} ifm:[{n // 3},{n % 3}], ker:{n}\n" for n in range(9))
        * 18
    )
    text = (
        "@shape.ifm [24,24,64]\n@shape.ofm [8,8,64]\n@shape.ker 9\n@mem.ifm 0, 24\n@mem.ofm 0, "
        "[8,8]\n@shift -8, 0\n"
        f"ld.ifm 0x400\nld.ker 0x1000\n{taps}store 0x2000\nend"
    )
    outcome = Model(SPACE.resolve("85f-large"), memory).run(program(text, memory))
    assert outcome.counters["operations"] == 18 * 9 * 64 * 64 * 64
