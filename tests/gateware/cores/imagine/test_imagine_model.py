# SPDX-License-Identifier: BSD-2-Clause
"""The golden model of IMAGine: products, every instruction against the machine of single bits,
random programs, faults."""

import numpy as np
import pytest

from quintet.gateware.cores.imagine.isa import ISA
from quintet.gateware.cores.imagine.model.model import OFF, PARALLEL, SERIAL, ArrayState, Model
from quintet.gateware.cores.imagine.params import SPACE, geometry, register_file
from tests.gateware.cores.imagine.bench import programs as imagine_programs
from tests.gateware.cores.imagine.oracle.slow import SlowMachine
from tests.support.shares import fewer

SIZES = (  # rows, cols, reg_width, depth
    (1, 1, 16, 64),
    (3, 2, 8, 64),
    (2, 3, 4, 64),
    (2, 5, 16, 256),
    (4, 4, 8, 512),
    (2, 6, 4, 1024),
    (1, 17, 16, 128),
)


def params_of(rows, cols, reg_width, depth):
    return SPACE.resolve(
        "sim", {"rows": rows, "cols": cols, "reg_width": reg_width, "depth": depth}
    )


def products(width, a, b, ref_sign=False):
    """{rd+1, rd} of ``mv_MULT``, one product a PE, as signed integers."""
    blocks = -(-len(a) // 16)
    rows = min(256, blocks)
    cols = -(-blocks // rows)
    machine = ArrayState(params_of(rows, cols, width, 64), ref_sign=ref_sign)
    size = rows * cols * 16
    for number, operand in ((2, a), (3, b)):
        padded = np.zeros(size, np.int64)
        padded[: len(operand)] = operand
        machine.registers[number] = (
            (padded & (1 << width) - 1).astype(np.uint16).reshape(rows, cols, 16)
        )
    machine.registers[:2] = np.random.default_rng(0).integers(
        0, 1 << width, machine.registers[:2].shape
    )
    machine.mv_clrmbit()
    for bit in range(width):
        machine.mv_updatepp(0, 2, 3, bit)
    low, high = (machine.registers[n].astype(np.int64).reshape(-1)[: len(a)] for n in (0, 1))
    both = low | high << width
    return both - (both >> 2 * width - 1 << 2 * width)


@pytest.mark.parametrize("width", (4, 8))
def test_every_product(width):
    every = np.arange(-(1 << width - 1), 1 << width - 1)
    a, b = (x.reshape(-1) for x in np.meshgrid(every, every))
    assert (products(width, a, b) == a * b).all()
    assert (products(width, a, a) == a * a).all()
    published = products(width, a, b, ref_sign=True)
    wrong = published != a * b
    assert wrong.sum() == {4: 15, 8: 255}[width]
    assert ((a == -(1 << width - 1)) & (b != 0))[wrong].all()


def test_random_products_of_16_bits():
    rng = np.random.default_rng(16)
    corners = np.array([-32768, -32767, -1, 0, 1, 2, 32766, 32767, 0x5555, -0x5556])
    a, b = (x.reshape(-1) for x in np.meshgrid(corners, corners))
    a, b = (np.concatenate([x, rng.integers(-32768, 32768, 100_000)]) for x in (a, b))
    assert (products(16, a, b) == a * b).all()


@pytest.mark.parametrize(
    "a, b, product",
    [
        (-32768, 1, 0xFFFF8000),
        (1, -32768, 0xFFFF8000),
        (-32768, -32768, 0x40000000),
        (-32768, 32767, 0xC0008000),
        (32767, 32767, 0x3FFF0001),
        (-1, -1, 1),
        (12345, -321, 0xFFC38887),
    ],
)
def test_golden_products(a, b, product):
    assert products(16, np.array([a]), np.array([b]))[0] & 0xFFFFFFFF == product


def test_published_sign_of_the_most_negative_operand():
    assert products(16, np.array([-32768]), np.array([1]), ref_sign=True)[0] == 32768


def run_both(words, params):
    """A model, and a machine of single bits, after ``words``; everything is compared."""
    rows, cols, width, depth = (params[n] for n in ("rows", "cols", "reg_width", "depth"))
    model, slow = ArrayState(params), SlowMachine(rows, cols, width, depth)
    emitted = []
    for word in words:
        decoded = ISA.decode(word, params)
        assert decoded.fault is None, hex(word)
        found = model.execute(decoded.instruction.mnemonic, decoded.values)
        emitted += [] if found is None else found.tolist()
        slow.run(word)
    assert emitted == slow.emitted
    ram = np.array(slow.ram).transpose(2, 0, 1)
    used = depth // width * width
    assert (model.ram()[:used] == ram[:used]).all()
    assert model.columns.tolist() == [
        sum(bit << b for b, bit in enumerate(bits)) for bits in slow.columns
    ]
    assert model.mode == slow.mode
    return model, emitted


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_random_programs_against_single_bits(size):
    params = params_of(*size)
    for seed in range(fewer(3)):
        run_both(
            imagine_programs.random_words(f"slow {seed}", params, 700 if size[1] < 10 else 200),
            params,
        )


@pytest.mark.long
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_many_random_programs_against_single_bits(size):
    for seed in range(60):
        run_both(
            imagine_programs.random_words(f"long {seed}", params_of(*size), 2000), params_of(*size)
        )


def machine_with(params, **registers):
    """A machine whose registers ``r3=array`` hold what is given, [R, 16*C]."""
    machine = ArrayState(params)
    for name, value in registers.items():
        value = np.asarray(value) & (1 << machine.width) - 1
        machine.registers[int(name[1:])] = np.broadcast_to(
            value, (machine.rows, machine.cols * 16)
        ).reshape(machine.rows, machine.cols, 16)
    return machine


def test_a_register_bit_is_a_ram_row():
    machine = ArrayState(params_of(2, 2, 8, 64))
    machine.mv_selectBlk(1, 0)
    machine.mv_write(3 * 8 + 5, 0x8001)
    assert (
        np.flatnonzero(machine.values(3)[1]).tolist() == [0, 15] and not machine.values(3)[0].any()
    )
    assert machine.values(3)[1, 0] == 32 and machine.ram()[29, 1, 0] == 0x8001
    machine.mv_write(3 * 8 + 5, 0x8000)
    assert np.flatnonzero(machine.values(3)[1]).tolist() == [15]


@pytest.mark.parametrize(
    "select, reached",
    [
        (("mv_selectAll",), {(r, c) for r in range(3) for c in range(2)}),
        (("mv_selectRow", 1), {(1, 0), (1, 1)}),
        (("mv_selectCol", 1), {(0, 1), (1, 1), (2, 1)}),
        (("mv_selectBlk", 2, 0), {(2, 0)}),
    ],
)
def test_selection_gates_writes_alone_and_persists(select, reached):
    machine = ArrayState(params_of(3, 2, 16, 64))
    machine.mv_selectBlk(0, 0)
    getattr(machine, select[0])(*select[1:])
    for addr in (0, 17):
        machine.mv_write(addr, 1)
        machine.mv_mov(2, 0)
        assert {tuple(at) for at in np.argwhere(machine.ram()[addr] != 0)} == reached
    assert {tuple(at) for at in np.argwhere(machine.ram()[32] != 0)} == reached
    machine.reset()
    machine.mv_write(0, 1)
    assert machine.ram()[0].all() and not machine.registers[2].any()


@pytest.mark.parametrize("fold, half", [(1, 8), (2, 4), (3, 2), (4, 1)])
def test_folds(fold, half):
    x = np.arange(100, 116)
    machine = machine_with(params_of(1, 1, 16, 64), r1=x)
    machine.mv_blockFold(fold, 1, 1)
    wanted = x.copy()
    wanted[:half] += x[half : 2 * half]
    assert machine.values(1)[0].tolist() == wanted.tolist()


@pytest.mark.parametrize("cols", (1, 2, 3, 4, 6, 8, 16))
def test_levels_of_a_row(cols):
    x = np.arange(1, 16 * cols + 1)
    machine = machine_with(params_of(1, cols, 16, 64), r1=x)
    first = x[::16].copy()
    for level in range(4):
        machine.mv_accumRow(level, 1)
        for c in range(0, cols, 2 << level):
            if c + (1 << level) < cols:
                first[c] += first[c + (1 << level)]
        assert machine.values(1)[0, ::16].tolist() == first.tolist()
        others = np.arange(16 * cols) % 16 != 0
        assert (machine.values(1)[0] == x)[others].all()
    assert first[0] == x[::16].sum()


@pytest.mark.parametrize("width", (4, 8, 16))
def test_offsets(width):
    low, high = np.random.default_rng(1).integers(0, 1 << width, (2, 16))
    for offset in range(width):
        machine = machine_with(params_of(1, 1, width, 64), r1=low, r2=high)
        machine.mv_movOffset(offset, 1, 1)
        wanted = (low | high << width) >> offset & (1 << width) - 1
        assert (machine.registers[1].reshape(-1) == wanted).all()


def test_sums_wrap_with_every_aliasing():
    for rd in range(3):
        for a in range(3):
            for b in range(3):
                machine = machine_with(params_of(1, 1, 4, 64), r0=7, r1=-8, r2=5)
                x = [7, -8, 5]
                machine.mv_add(rd, a, b)
                assert (machine.values(rd) == (x[a] + x[b] + 8) % 16 - 8).all()
                machine = machine_with(params_of(1, 1, 4, 64), r0=7, r1=-8, r2=5)
                machine.mv_sub(rd, a, b)
                assert (machine.values(rd) == (x[a] - x[b] + 8) % 16 - 8).all()


def test_a_single_step_with_bit_1_subtracts():
    machine = machine_with(params_of(1, 1, 16, 128), r2=5, r3=1)
    machine.mv_updatepp(0, 2, 3, 0)
    assert (machine.values(0) == -5).all() and machine.prevm.all()


# Column registers


def test_capture_by_every_instruction_and_no_other():
    machine = machine_with(params_of(2, 1, 16, 128), r1=3, r2=4, r3=0x7001, r4=0x1234)
    machine.execute("vv_serialEn", {})
    for mnemonic, values, wanted in (
        ("mv_mov", {"rd": 0, "rs": 1}, 3),
        ("mv_add", {"rd": 0, "rs1": 1, "rs2": 2}, 7),
        ("mv_sub", {"rd": 0, "rs1": 1, "rs2": 2}, 0xFFFF),
        ("mv_blockFold", {"fold": 1, "rd": 0, "rs": 2}, 8),
        ("mv_movOffset", {"offset": 4, "rd": 0, "rs": 3}, 0x4700),
        ("mv_accumRow", {"level": 0, "reg": 2}, 4),
        ("mv_write", {"addr": 0, "data": 0xFFFF}, 4),
        ("mv_clrmbit", {}, 4),
        ("mv_nop", {}, 4),
        ("vv_nop", {}, 4),
    ):
        machine.execute(mnemonic, values)
        assert machine.columns.tolist() == [wanted] * 2, mnemonic


def test_the_high_word_stays_after_a_product():
    machine = machine_with(params_of(1, 1, 16, 128), r2=12345, r3=-321)
    machine.execute("vv_serialEn", {})
    machine.execute("mv_clrmbit", {})
    for bit in range(16):
        machine.execute(
            "mv_updatepp", {"ppreg": 0, "multiplicand": 2, "multiplier": 3, "bitNo": bit}
        )
    assert machine.columns.tolist() == [0xFFC3] and machine.registers[1].reshape(-1)[0] == 0xFFC3


def test_modes():
    machine = machine_with(params_of(3, 1, 8, 64), r1=np.array([[-5], [7], [-128]]))
    assert machine.mode == OFF
    machine.execute("mv_mov", {"rd": 2, "rs": 1})
    assert not machine.columns.any()
    machine.execute("vv_serialEn", {})
    machine.execute("mv_mov", {"rd": 2, "rs": 1})
    machine.execute("vv_shiftOff", {})
    machine.execute("mv_add", {"rd": 2, "rs1": 1, "rs2": 1})
    assert machine.columns.tolist() == [0xFB, 7, 0x80]
    assert machine.execute("vv_parallelEn", {}).tolist() == [0x0100FFFB, 0x01000007, 0x0300FF80]
    assert machine.mode == PARALLEL and not machine.columns.any()
    machine.execute("mv_mov", {"rd": 2, "rs": 1})
    assert machine.execute("vv_parallelEn", {}).tolist() == [0x01000000, 0x01000000, 0x03000000]
    machine.execute("vv_serialEn", {})
    assert machine.mode == SERIAL


# Runs


def run(words, params=None, *, memory=None, **registers):
    params = params or params_of(4, 2, 16, 256)
    memory = np.zeros(0x2000, np.uint8) if memory is None else memory
    data = np.frombuffer(ISA.store(words), np.uint8)
    memory[0x1000 : 0x1000 + data.size] = data
    model = Model(params, memory)
    given = {
        "program_address": 0x1000,
        "program_length": data.size,
        "output_at": 0x100,
        "output_limit": 0x200,
        **registers,
    }
    return model, model.run(given), memory


def test_a_vector():
    model, outcome, memory = run([0x44000000, 0x14000000, 0x48000000])
    assert outcome.status == "done" and outcome.fault is None
    assert outcome.counters == {
        "instructions": 3,
        "operations": 0,
        "bytes_read": 12,
        "bytes_written": 16,
    }
    assert outcome.values == {
        "output_count": 4,
        "vectors": 1,
        "eov": 1,
        "geometry": geometry(model.params),
        "register_file": register_file(model.params),
    }
    assert memory[0x100:0x110].view("<u4").tolist() == [0x01000000] * 3 + [0x03000000]
    model.clear("eov", 0)
    assert model.eov == 1
    model.clear("eov", 1)
    assert model.eov == 0
    with pytest.raises(ValueError, match="^register vectors is no flag; there is eov$"):
        model.clear("vectors", 1)


def test_registers_survive_a_start_and_not_a_reset():
    params = params_of(2, 1, 16, 64)
    write, show = [0x18800100, 0x04000003], [0x44000000, 0x1C000000, 0x48000000]
    model, _, memory = run(write, params)
    data = np.frombuffer(ISA.store([0x04010001, *show]), np.uint8)
    memory[0x1000 : 0x1000 + data.size] = data
    given = {
        "program_address": 0x1000,
        "program_length": data.size,
        "output_at": 0x100,
        "output_limit": 0x200,
    }
    outcome = model.run(given)
    assert (
        memory[0x100:0x108].view("<u4").tolist() == [0x01000000, 0x03000003]
        and outcome.values["eov"] == 1
    )
    model.reset()
    assert model.run(given).values["eov"] == 1
    assert memory[0x100:0x108].view("<u4").tolist() == [0x01000002, 0x03000002], (
        "all blocks selected again"
    )
    model.reset()
    assert model.run({**given, "program_length": 0}).values["eov"] == 0


@pytest.mark.parametrize(
    "words, registers, fault, pc, detail, retired",
    [
        ([], {}, None, None, None, 0),
        ([0] * 3, {"program_length": 10}, "program_align", 0x1000, 10, 0),
        ([0] * 3, {"program_length": 10, "output_at": 0x102}, "program_align", 0x1000, 10, 0),
        ([0] * 3, {"output_at": 0x102}, "program_align", 0x1000, 0x102, 0),
        ([0] * 3, {"window_base": 0x1040}, "program_window", 0x1000, 0x1000, 0),
        ([0] * 40, {"window_limit": 0x1040}, "program_window", 0x1000, 0x1040, 0),
        ([0] * 3, {"window_limit": 0x40}, "program_window", 0x1000, 0x1000, 0),
        ([0, 0x48000000, 0], {"output_limit": 0x10F}, "output_full", 0x1004, 0x10F, 1),
        ([0, 0x48000000, 0x48000000], {"output_limit": 0x110}, "output_full", 0x1008, 0x110, 2),
        ([0x48000000], {"output_limit": 0}, "output_full", 0x1000, 0x100, 0),
        ([0x48000000], {"window_base": 0x140}, "output_window", 0x1000, 0x100, 0),
        (
            [0x48000000],
            {"output_at": 0x1FF8, "output_limit": 0x3000},
            "output_window",
            0x1000,
            0x2000,
            0,
        ),
        (
            [0x48000000],
            {"output_at": 0xFFFF_FFF8, "output_limit": 0xFFFF_FFFF},
            "output_full",
            0x1000,
            0xFFFF_FFFF,
            0,
        ),
        (
            [0, 0x48000000, 0],
            {"output_at": 0x1FF8, "output_limit": 0x3000, "window_limit": 0x4000},
            "bus_write",
            0x1004,
            0x2000,
            2,
        ),
        ([0] * 1023 + [0x80000000], {}, "illegal_submodule", 0x1FFC, 0x80000000, 1023),
        (
            [0] * 1024,
            {"program_length": 0x1008, "window_limit": 0x4000},
            "bus_read",
            0x2000,
            0x2000,
            1024,
        ),
        ([0, 0x18000002, 0], {}, "select_range", 0x1004, 0x18000002, 1),
    ],
    ids=str,
)
def test_faults(words, registers, fault, pc, detail, retired):
    _, outcome, _ = run(words, **registers)
    assert outcome.status == ("fault" if fault else "done")
    if fault:
        assert (outcome.fault.name, outcome.fault.pc, outcome.fault.detail) == (fault, pc, detail)
        assert outcome.fault.code == ISA.fault_codes[fault]
    assert outcome.counters["instructions"] == retired


def test_the_cycle_limit_counts_words():
    memory = np.zeros(0x2000, np.uint8)
    model = Model(params_of(1, 1, 16, 64), memory)
    memory[0x100:0x104] = np.frombuffer(ISA.store([0x44000000]), np.uint8)
    given = {"program_address": 0x100, "program_length": 40}
    outcome = model.run(given, cycle_limit=3)
    assert (
        outcome.status == "aborted"
        and outcome.fault.name == "aborted"
        and outcome.fault.pc == 0x10C
    )
    assert model.array.mode == OFF
    assert model.run(given, cycle_limit=10).status == "done"


def test_trace_names_the_words_that_write():
    seen, memory = [], np.zeros(0x1000, np.uint8)
    memory[:8] = np.frombuffer(ISA.store([0x48000000] * 2), np.uint8)
    Model(params_of(2, 1, 16, 64), memory).run(
        {"program_length": 8, "output_at": 0x80, "output_limit": 0x90},
        trace=lambda *entry: seen.append(entry),
    )
    assert seen == [(0, 0x80, 8), (4, 0x88, 8)]


@pytest.mark.parametrize(
    "registers, message",
    [
        ({"vectors": 1}, "^no writable register 'vectors'; there are "),
        ({"eov": 1}, "^no writable register 'eov'"),
    ],
)
def test_refused_registers(registers, message):
    with pytest.raises(ValueError, match=message):
        Model(SPACE.resolve("sim"), np.zeros(64, np.uint8)).run(registers)


@pytest.mark.parametrize("fault", imagine_programs.FAULTS)
def test_random_programs_run_into_the_fault_asked_for(fault):
    params = params_of(3, 3, 8, 256)
    for seed in range(5):
        case = imagine_programs.random_case(seed, params, fault=fault, budget=400)
        outcome = Model(params, case.memory.copy()).run(
            {"window_limit": case.memory.size, **case.registers}
        )
        assert outcome.status == "fault" and outcome.fault.name == fault, (seed, outcome)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_random_programs_are_legal_and_within_their_budget(size):
    for seed in range(4):
        case = imagine_programs.random_case(seed, params_of(*size), budget=1500)
        outcome = Model(case.params, case.memory.copy()).run(case.registers)
        assert outcome.status == "done" and outcome.counters["instructions"] == len(case.words)
        assert outcome.values["vectors"] > 0 and case.cycles < 1500 + 6 * (900 + 30 * 20)
