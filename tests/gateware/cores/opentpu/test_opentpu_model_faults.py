# SPDX-License-Identifier: BSD-2-Clause
"""Every fault of section 6 on the golden model: code, name, pc, detail, precedence, and what is
left in memory."""

import random

import numpy as np
import pytest

from quintet.firmware.opentpu.measure.workloads import workload
from quintet.gateware.cores.opentpu.isa import ISA
from quintet.gateware.cores.opentpu.model.model import Model
from quintet.gateware.cores.opentpu.params import SPACE
from quintet.tools.compiler.backends.opentpu.codegen.program import Word
from tests.gateware.cores.opentpu.bench.programs import FAULTS, case_of, random_case

OP = ISA.opcodes
BASE, HOST, WEIGHTS, TILES = 0x1000, 0x2000, 0x3000, 8
ALL = {"ext_conv": True, "ext_pool": True, "ext_diag": True, "ext_bias": True}


def run(*words, ext=True, registers=None, size=0x4000, **options):
    """Run ``words`` at 0x1000 on the small build: 64 host vectors, 8 tiles, n = 4, UB 512, ACC
    256."""
    params = SPACE.resolve("sim", ALL if ext else {"ext_norm": False, "ext_sync": False})
    data = b"".join(word.pack() for word in words)
    memory = np.zeros(size, np.uint8)
    memory[BASE : BASE + len(data)] = np.frombuffer(data, np.uint8)
    memory[HOST : HOST + 256] = 7
    values = {
        "program_address": BASE,
        "program_length": len(data),
        "hostmem_base": HOST,
        "hostmem_limit": HOST + 256,
        "weights_base": WEIGHTS,
        "weights_limit": WEIGHTS + TILES * 16,
        **(registers or {}),
    }
    return Model(params, memory).run(values, **options)


def report(outcome):
    """(name, index of the word, detail), and that number, name and status agree."""
    fault = outcome.fault
    assert fault is not None and ISA.fault_codes[fault.name] == fault.code
    assert outcome.status == ("aborted" if fault.name == "aborted" else "fault")
    assert (fault.pc - BASE) % 14 == 0
    return fault.name, (fault.pc - BASE) // 14, fault.detail


HLT = Word(OP["HLT"])
NOP = Word(OP["NOP"])
RW0 = Word(OP["RW"])
MMC_S = Word(OP["MMC"], 5, 1)


#: Flag D of an RW: only the tile's diagonal lies in memory.
DIAGONAL = 0x40


def word(name, flags=0, length=0, addr=0, ub=0):
    return Word(OP[name], flags, length, addr, ub)


def diagonal(row):
    return word("RW", DIAGONAL, addr=row)


@pytest.mark.parametrize(
    "words, expected",
    [
        # opcodes
        ((word("RHM", 0, 1), Word(0x08)), ("illegal_opcode", 1, 0x08)),
        ((Word(0xFF, 0xFF, 1, 2, 3),), ("illegal_opcode", 0, 0xFF)),
        # must-be-zero, the lowest field number first
        ((word("NOP", 1, 1, 1, 1),), ("bad_field", 0, 1)),
        ((word("NOP", 0, 1, 1, 1),), ("bad_field", 0, 2)),
        ((word("HLT", 0, 0, 1 << 63, 1),), ("bad_field", 0, 3)),
        ((word("HLT", 0, 0, 0, 1 << 23),), ("bad_field", 0, 4)),
        ((word("WHM", 1, 1, 0, 0xFFFFFF),), ("bad_field", 0, 1)),
        ((word("RW", 0, 1, 1 << 60),), ("bad_field", 0, 2)),
        ((word("RW", 0, 0, 1 << 60, 1),), ("bad_field", 0, 4)),
        ((word("MMC", 0x08, 1),), ("bad_field", 0, 1)),
        ((word("ACT", 0x01, 1),), ("bad_field", 0, 1)),
        ((word("SYNC", 2),), ("bad_field", 0, 1)),
        ((word("SYNC", 0, 0, 1 << 16),), ("bad_field", 0, 3)),
        ((word("SYNC", 0, 3, 1 << 16),), ("bad_field", 0, 2)),
        ((word("CFG", 0, 0, 1 << 32, 0),), ("bad_field", 0, 3)),
        # CFG: bad_config comes before bad_field
        ((word("CFG", 1, 1, 0x30000, 0),), ("bad_config", 0, 0)),
        ((word("CFG", 0, 0, 1 << 32, 4),), ("bad_config", 0, 4)),
        ((word("CFG", 0, 0, 0x01, 2),), ("bad_config", 0, 2)),
        ((word("CFG", 0, 0, 0x10, 2),), ("bad_config", 0, 2)),
        ((word("CFG", 0, 0, 0x01000011, 2),), ("bad_config", 0, 2)),
        ((word("CFG", 0, 0, 0, 0xFFFFFF),), ("bad_config", 0, 0xFFFFFF)),
        # unified buffer
        ((word("RHM", 0, 2, 0, 511),), ("ub_range", 0, 512)),
        ((word("WHM", 0, 0, 1 << 60, 257),), ("ub_range", 0, 512)),
        ((word("ACT", 0, 1, 999, 0xFFFFFF),), ("ub_range", 0, 0xFFFFFF)),
        ((word("MMC", 0, 1, 999, 512),), ("ub_range", 0, 512)),
        # accumulators: all 64 bits count, the detail saturates
        ((word("MMC", 0, 2, 255),), ("acc_range", 0, 256)),
        ((word("ACT", 0, 0, 1),), ("acc_range", 0, 256)),
        ((word("ACT", 0, 1, 1 << 32),), ("acc_range", 0, 0xFFFFFFFF)),
        ((word("ACT", 0, 1, (1 << 64) - 1),), ("acc_range", 0, 0xFFFFFFFF)),
        # host memory: low 32 bits of the last vector
        ((word("RHM", 0, 2, 63),), ("host_range", 0, 64)),
        ((word("WHM", 0, 1, 1 << 62),), ("host_range", 0, 0)),
        ((word("RHM", 0, 2, (1 << 64) - 1),), ("host_range", 0, 0)),
        ((word("RHM", 0, 2, 0x1_2345_6789),), ("host_range", 0, 0x2345678A)),
        # weights
        ((word("RW", addr=8),), ("weight_range", 0, 8)),
        ((word("RW", addr=1 << 32),), ("weight_range", 0, 0)),
        ((word("RW", addr=(1 << 60)),), ("weight_range", 0, 0)),
        ((RW0, RW0, RW0, RW0, RW0, word("RW", addr=8)), ("weight_range", 5, 8)),
        # diagonals are counted in rows: 8 tiles are 32
        ((diagonal(31), diagonal(32)), ("weight_range", 1, 32)),
        ((diagonal(1 << 32),), ("weight_range", 0, 0)),
        ((diagonal(1 << 62),), ("weight_range", 0, 0)),
        ((diagonal((1 << 64) - 1),), ("weight_range", 0, 0xFFFFFFFF)),
        ((RW0, RW0, RW0, RW0, RW0, diagonal(32)), ("weight_range", 5, 32)),
        ((diagonal(0), RW0, diagonal(1), RW0, RW0, diagonal(2)), ("weight_overflow", 5, 5)),
        ((diagonal(3), MMC_S, MMC_S), ("weight_underflow", 2, 0)),
        ((word("RW", 0xC0),), ("bad_field", 0, 1)),
        ((word("RW", DIAGONAL, 1, 1 << 60),), ("bad_field", 0, 2)),
        ((word("RW", DIAGONAL, 0, 1 << 60, 1),), ("bad_field", 0, 4)),
        ((word("MMC", 4, 1),), ("no_weights", 0, 0)),
        (
            (
                RW0,
                word("MMC", 4, 1),
            ),
            ("no_weights", 1, 0),
        ),
        ((MMC_S,), ("weight_underflow", 0, 0)),
        ((RW0, MMC_S, MMC_S), ("weight_underflow", 2, 0)),
        ((RW0, RW0, RW0, RW0, RW0, RW0), ("weight_overflow", 5, 5)),
        ((RW0, MMC_S, RW0, RW0, RW0, RW0, RW0, RW0), ("weight_overflow", 7, 5)),
        # no HLT
        ((NOP, NOP), ("program_end", 2, 28)),
        # found while running: after all others
        ((word("CFG", 0, 0, 0x01000102, 1), RW0, word("MMC", 7, 3, 0, 511)), ("ub_range", 2, 512)),
        ((word("CFG", 0, 0, 0x01000102, 1), word("MMC", 6, 3, 0, 511)), ("no_weights", 1, 0)),
        ((word("CFG", 0, 0, 0x00640202, 1), RW0, word("MMC", 7, 4, 0, 450)), ("ub_range", 2, 550)),
        ((word("CFG", 0, 0, 0x00012, 2), word("ACT", 0x20, 1, 255)), ("acc_range", 1, 256)),
        (
            (
                word("CFG", 0, 0, 0x10122, 2),
                word("CFG", 0, 0, 0x00010064, 3),
                word("ACT", 0x20, 200, 56),
            ),
            ("acc_range", 2, 256),
        ),
        ((word("ACT", 0x20, 1, 1 << 40),), ("acc_range", 0, 0xFFFFFFFF)),
        ((word("ACT", 0x20, 1, 1 << 40, 512),), ("ub_range", 0, 512)),
    ],
)
def test_fault(words, expected):
    assert report(run(*words, *(() if expected[0] == "program_end" else (HLT,)))) == expected


@pytest.mark.parametrize(
    "words, expected",
    [
        ((word("CFG", 0, 0, 0, 0),), ("illegal_opcode", 0, 0x10)),
        ((word("ACT", 0x20, 1),), ("bad_field", 0, 1)),
        ((diagonal(0),), ("bad_field", 0, 1)),
        ((word("SYNC", 0xFF, 1, (1 << 64) - 1, 7), word("NOP", 1)), ("bad_field", 1, 1)),
    ],
)
def test_fault_without_extensions(words, expected):
    assert report(run(*words, HLT, ext=False)) == expected


@pytest.mark.parametrize("opcode", range(256))
def test_every_opcode(opcode):
    outcome = run(Word(opcode), HLT)
    if opcode not in OP.values():
        assert report(outcome) == ("illegal_opcode", 0, opcode)
    else:
        assert outcome.fault is None or outcome.fault.name in (
            "host_range",
            "ub_range",
            "acc_range",
            "no_weights",
        )


def test_must_be_zero_bits_one_by_one():
    """Flip each bit of legal words: the table of the instruction set says which are fields."""
    params = SPACE.resolve("sim", ALL)
    legal = [
        NOP,
        HLT,
        RW0,
        diagonal(0),
        word("RHM", 0, 1),
        word("WHM", 0, 1),
        MMC_S,
        word("ACT", 0, 1),
        word("SYNC"),
        word("CFG"),
    ]
    for good in legal:
        for bit in range(104):
            bits = int.from_bytes(good.pack(), "big") ^ 1 << bit
            bad = Word(
                bits >> 104,
                bits >> 96 & 255,
                bits >> 88 & 255,
                bits >> 24 & (1 << 64) - 1,
                bits & 0xFFFFFF,
            )
            decoded = ISA.decode(bits, params)
            fault = run(RW0, MMC_S, RW0, bad, HLT).fault
            if decoded.fault is not None:
                assert (fault.name, fault.detail) == (decoded.fault, decoded.detail), bad
            else:
                assert fault is None or fault.name in ("host_range", "weight_range"), bad


# Start


@pytest.mark.parametrize(
    "registers, name, detail",
    [
        ({"program_length": 0}, "bad_register", 0x24),
        ({"program_length": 29}, "bad_register", 0x24),
        ({"program_length": 29, "hostmem_base": HOST + 1}, "bad_register", 0x24),
        ({"hostmem_base": HOST + 8}, "bad_register", 0x100),
        ({"hostmem_base": 0x0FF0, "hostmem_limit": 0x1001}, "bad_register", 0x100),
        ({"hostmem_base": 0x1000, "hostmem_limit": 0x1010}, "bad_register", 0x100),
        ({"hostmem_base": 0, "hostmem_limit": 0x4000}, "bad_register", 0x100),
        ({"hostmem_limit": HOST - 1, "weights_base": 8}, "bad_register", 0x104),
        ({"weights_base": WEIGHTS + 4}, "bad_register", 0x108),
        ({"weights_limit": WEIGHTS - 16}, "bad_register", 0x10C),
        ({"cfg_norm": 0x30000, "cfg_pool": 0}, "bad_config", 0),
        ({"cfg_pool": 0x10001}, "bad_config", 2),
        ({"cfg_pool": 0x10001, "weights_base": 4}, "bad_register", 0x108),
        ({"window_limit": 0x1000}, "window", 0x1000),
        ({"window_base": 0x1040}, "window", 0x1000),
        ({"window_base": 0x1040, "cfg_norm": 0x20}, "bad_config", 0),
    ],
)
def test_start_fault(registers, name, detail):
    outcome = run(NOP, HLT, registers=registers)
    assert report(outcome) == (name, 0, detail)
    assert outcome.counters["instructions"] == outcome.counters["bytes_read"] == 0


@pytest.mark.parametrize(
    "registers",
    [
        {"hostmem_base": 0x1010, "hostmem_limit": 0x1010},
        {"hostmem_base": 0, "hostmem_limit": 0x1000},
        {"hostmem_base": 0x1020, "hostmem_limit": 0x1040},
        {"program_address": BASE + 7},
        {"window_base": 0x1000, "window_limit": 0x1040},
        {"window_base": 0x103F, "window_limit": 0x107F},
    ],
)
def test_start_is_good(registers):
    assert run(NOP, HLT, registers=registers).status == "done"  # the window's low six bits read 0


def test_program_past_the_window_by_one_byte():
    words = [NOP] * 9 + [HLT]  # 140 bytes
    assert run(*words, registers={"window_limit": 0x10C0}).status == "done"
    assert report(run(*words, registers={"window_limit": 0x1080})) == ("window", 0, 0x1080)


# Window and memory's end


def test_window_at_issue_comes_last():
    limit = {"window_limit": HOST + 64}
    assert report(run(word("RHM", 0, 17), HLT, registers=limit)) == ("window", 0, HOST + 64)
    assert run(word("RHM", 0, 16), HLT, registers=limit).status == "done"
    assert report(run(word("WHM", 0, 1, 20), HLT, registers=limit)) == ("window", 0, HOST + 80)
    assert report(run(RW0, HLT, registers=limit)) == ("window", 0, WEIGHTS)
    assert report(run(diagonal(2), HLT, registers=limit)) == ("window", 0, WEIGHTS + 8)
    assert report(run(word("RHM", 0, 0, 63), HLT, registers=limit))[0] == "host_range"
    # Below the window: host memory begins under it.
    low = {"window_base": 0x1000, "hostmem_base": 0x0F00, "hostmem_limit": 0x1000}
    assert report(run(word("RHM", 0, 1, 0), HLT, registers=low)) == ("window", 0, 0x0F00)


def test_memory_ends():
    registers = {
        "hostmem_limit": 0x5000,
        "weights_base": 0x3FF0,
        "weights_limit": 0x5000,
        "window_limit": 0xFFFFFFC0,
    }
    assert run(word("RHM", 0, 1, 0x1FFC // 4), HLT, registers=registers).status == "done"
    assert report(run(word("RHM", 0, 2, 0x1FFC // 4), HLT, registers=registers)) == (
        "bus_error",
        0,
        0x4000,
    )
    assert report(run(word("WHM", 0, 1, 0x2800 // 4), HLT, registers=registers)) == (
        "bus_error",
        0,
        0x4800,
    )
    assert report(run(word("RW", addr=1), HLT, registers=registers)) == ("bus_error", 0, 0x4000)
    assert run(diagonal(3), HLT, registers=registers).status == "done"
    assert report(run(diagonal(4), HLT, registers=registers)) == ("bus_error", 0, 0x4000)
    past = {"program_address": 0x3FF0, "program_length": 28, "window_limit": 0xFFFFFFC0}
    outcome = run(NOP, HLT, registers=past)  # zeros are NOPs: the second word is past the end
    assert outcome.fault.name == "bus_error" and outcome.fault.pc == 0x3FFE


# The end of a run


def test_cycle_limit_counts_instructions():
    assert report(run(NOP, NOP, NOP, HLT, cycle_limit=3)) == ("aborted", 3, 0)
    assert run(NOP, NOP, NOP, HLT, cycle_limit=4).status == "done"
    assert report(run(HLT, cycle_limit=0)) == ("aborted", 0, 0)


def test_small_job_faults():
    case = workload("W18")

    def outcome(registers=None, drop=None):
        memory = case.memory.copy()
        values = dict(case.registers)
        if drop is not None:
            data = case.program[: 14 * drop] + case.program[14 * drop + 14 :]
            memory[0x1000 : 0x1000 + len(data)] = np.frombuffer(data, np.uint8)
            values["program_length"] = len(data)
        return memory, Model(case.params, memory).run({**values, **(registers or {})}).fault

    memory, fault = outcome({"hostmem_limit": 0x2027})
    assert (fault.code, fault.pc, fault.detail) == (20, 0x108C, 9)
    # The older WHM is complete, the faulting one wrote nothing.
    assert memory[0x2010:0x201C].tobytes() == bytes.fromhex("ffff1efb ff0000ff ff0000ff")
    assert not memory[0x201C:0x2040].any()
    _, fault = outcome(drop=2)
    assert (fault.name, fault.pc) == ("weight_underflow", 0x1038)
    _, fault = outcome(drop=11)
    assert (fault.name, fault.pc, fault.detail) == ("program_end", 0x109A, 154)


def test_nothing_after_a_fault():
    words = (
        word("RHM", 0, 1),
        word("WHM", 0, 1, 40),
        word("WHM", 0, 1, 64),
        word("WHM", 0, 1, 41),
        HLT,
    )
    params = SPACE.resolve("sim")
    host = np.full((64, 4), 5, np.int8)
    host[40:] = 0
    case = case_of("after", params, words, host, np.zeros((1, 4, 4), np.int8))
    outcome = Model(params, case.memory).run(case.registers)
    base = case.registers["hostmem_base"]
    assert outcome.fault.name == "host_range"
    assert (case.memory[base + 160 : base + 164] == 5).all() and not case.memory[
        base + 164 : base + 256
    ].any()
    assert outcome.counters == {
        "instructions": 2,
        "operations": 0,
        "bytes_read": 28 + 4,
        "bytes_written": 4,
    }


# Random faults


@pytest.mark.parametrize("fault", FAULTS)
def test_injected_fault(fault):
    """What the generator injects, the model reports, at a word of the program and with memory
    elsewhere untouched."""
    names = []
    for preset in ("sim", "sim-ext", "85f-8x8"):
        params = SPACE.resolve(preset)
        for seed in range(12):
            case = random_case(seed, params, fault=fault)
            memory = case.memory.copy()
            outcome = Model(params, memory).run(case.registers)
            names.append(outcome.fault.name if outcome.fault else None)
            outside = np.ones(len(memory), bool)
            for address, size in case.ranges:
                outside[address : address + size] = False
            assert np.array_equal(memory[outside], case.memory[outside])
    if fault != "bitflip":
        assert names.count(fault) >= 0.8 * len(names)


def test_decoder_agrees_with_the_table():
    """Random words: faults that need no state are those of the table's own decoder."""
    rng = random.Random(6)
    for ext in (True, False):
        params = SPACE.resolve("sim", ALL if ext else {"ext_norm": False, "ext_sync": False})
        for _ in range(400):
            bits = rng.getrandbits(112) & rng.getrandbits(112) & rng.getrandbits(112)
            bits = rng.choice([*OP.values(), rng.randrange(256)]) << 104 | bits & (1 << 104) - 1
            decoded = ISA.decode(bits, params)
            fault = run(
                RW0,
                MMC_S,
                Word(
                    bits >> 104,
                    bits >> 96 & 255,
                    bits >> 88 & 255,
                    bits >> 24 & (1 << 64) - 1,
                    bits & 0xFFFFFF,
                ),
                HLT,
                ext=ext,
            ).fault
            if decoded.fault is not None:
                assert (fault.name, fault.detail) == (decoded.fault, decoded.detail), f"{bits:028x}"
