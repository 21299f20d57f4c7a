# SPDX-License-Identifier: BSD-2-Clause
"""The golden model: the specification's golden data, a second model in plain integers,
properties."""

import numpy as np
import pytest

from quintet.firmware.opentpu.measure.workloads import SMALL_Y, workload
from quintet.gateware.cores.opentpu.model.model import (
    IntegerUnit,
    Model,
    conv_rows,
    pool_rows,
    sigmoid_table,
)
from quintet.gateware.cores.opentpu.params import SPACE
from quintet.tools.compiler.backends.opentpu.codegen.program import Program
from tests.gateware.cores.opentpu.bench.programs import (
    case_of,
    hazard_cases,
    pad,
    random_case,
    scatter,
)
from tests.gateware.cores.opentpu.oracle import slow as opentpu_slow


def run(case, **options):
    memory = case.memory.copy()
    return memory, Model(case.params, memory).run(case.registers, **options)


# Golden data of the specification


def test_sigmoid_table():
    table = sigmoid_table()
    assert list(table[9:17]) == [128, 187, 225, 243, 251, 254, 255, 255] and table[17] == 255
    assert [int(table[9 - k]) for k in range(1, 7)] == [68, 30, 12, 4, 1, 0]
    assert list(sigmoid_table(compat=True)[:9]) == [255] * 9
    assert [opentpu_slow.sigmoid(v) for v in range(-9, 9)] == list(table)


# norm -> for v = 1000, 1020, -20, -1100, 2^31-1, -2^31: none, ReLU, sigmoid (section 4.9)
_NORM = {
    0x00000: "e8e8ff fcfcff ec0000 b40000 ffffff 000000",
    0x00003: "7d7dff 7f7fff fd000c 760000 ffffff 000000",
    0x00103: "7d7dff 8080ff fe001e 770000 0000ff 000000",
    0x10103: "7d7dff 7f7fff fe001e 800000 7f7fff 800000",
    0x20103: "7d7dff 8080ff 00001e 000000 ffffff 000000",
    0x1011F: "000080 000080 000080 000080 0101bb ff0044",
}


@pytest.mark.parametrize("norm", _NORM)
def test_norm_table(norm):
    values = np.array([1000, 1020, -20, -1100, 2**31 - 1, -(2**31)], np.int32)
    unit = IntegerUnit(n=2, ub_rows=64, acc_rows=64)
    got = []
    for func in (0, 1, 2):
        unit.activate(np.stack([values, values], axis=1), 0, func, norm)
        assert np.array_equal(unit.ub[:, 0], unit.ub[:, 1])
        got.append(unit.ub[:6, 0].view(np.uint8).copy())
    assert np.stack(got, axis=1).tobytes() == bytes.fromhex(_NORM[norm])
    unit.activate(np.stack([values, values], axis=1), 0, 3, norm)
    assert unit.ub[:6, 0].view(np.uint8).tobytes() == got[0].tobytes()


def test_address_patterns():
    rows = conv_rows(14 | 1 << 8 | 16 << 16, 1000, 196)
    assert [int(rows[i]) - 1000 for i in (0, 13, 14, 195)] == [0, 13, 16, 221]
    assert list(conv_rows(0x100, 5, 256)) == list(range(5, 261))
    origins = pool_rows(2 | 2 << 4 | 7 << 8 | 2 << 16, 14 | 28 << 16, 100, 49)[:, 0]
    assert [int(origins[i]) - 100 for i in (0, 6, 7, 48)] == [0, 12, 28, 180]
    assert list(pool_rows(0x10011, 0, 7, 256)[:, 0]) == list(range(7, 263))
    assert pool_rows(3 | 2 << 4, 10, 0, 1).tolist() == [[0, 1, 2, 10, 11, 12]]


def test_small_job():
    case = workload("W18")
    model = Model(case.params, case.memory)
    outcome = model.run(case.registers)
    assert outcome.status == "done" and outcome.fault is None
    assert outcome.counters == {
        "instructions": 12,
        "operations": 144,
        "bytes_read": 12 * 14 + 2 * 16 + 12,
        "bytes_written": 24,
    }
    assert case.memory[0x2010:0x2028].tobytes() == bytes.fromhex(SMALL_Y)
    assert model.acc[:3].tolist() == [[3, 13, 4, 8], [11, 1, -4, 6], [110, -70, 0, -40]]
    assert model.acc[8:11].tolist() == [[11, 11, -2, 4], [15, -9, -6, 8], [150, -140, -100, 10]]
    assert model.run({**case.registers, "sigmoid_compat": 1}).status == "done"
    assert case.memory[0x2010:0x201C].tobytes() == bytes.fromhex("fffffffb ffffffff ffffffff")


def test_accumulators_wrap():
    # -128 * -128 * n, added until 2^31 is passed, then the other way round.
    params = SPACE.resolve("sim", {"acc_rows": 64})
    step = 16384 * 4
    program = Program()
    program.rhm(0, 0, 256)
    program.rw(0)
    program.mmc(0, 0, 1, switch=True, overwrite=True)
    for _ in range(2**31 // step):
        program.mmc(0, 0, 1)
    for k in range(4):
        program.cfg("norm", 8 * k)
        program.act(0, k, 1)
    program.whm(0, 256, 4)
    program.hlt()
    host = np.full((260, 4), -128, np.int8)
    case = case_of("wrap", params, program.words, host, np.full((1, 4, 4), -128, np.int8))
    memory, outcome = run(case)
    assert outcome.status == "done"
    at = case.registers["hostmem_base"] + 256 * 4
    value = int.from_bytes(memory[at : at + 16 : 4].tobytes(), "little", signed=True)
    assert value == -(2**31) + step


# Against a second model


def check_against_slow(params, case):
    """Memory and counters of a case are those of the slow model, which is written by itself."""
    memory, outcome = run(case)
    assert outcome.status == "done", case.name
    slow = bytearray(case.memory.tobytes())
    retired, macs = opentpu_slow.run(params, slow, case.registers)
    assert memory.tobytes() == bytes(slow), case.name
    assert (outcome.counters["instructions"], outcome.counters["operations"]) == (retired, macs)


@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize("preset", ["sim", "sim-ext", "sim-plain", "85f-8x8", "85f-12x12"])
def test_random_programs(preset, extended):
    params = SPACE.resolve(preset, {"ext_diag": extended, "ext_bias": extended})
    for seed in range(25 if params["n"] <= 4 else 6):
        check_against_slow(params, random_case(seed, params))


@pytest.mark.parametrize("n", [2, 64, 66, 128, 254, 256])
def test_random_programs_of_every_size(n):
    for preset, extended in (("sim-ext", True), ("sim-plain", False)):
        params = SPACE.resolve(preset, {"n": n, "ext_diag": extended, "ext_bias": extended})
        check_against_slow(params, random_case(n, params, length=12))


@pytest.mark.parametrize("n", [2, 64, 66, 128, 254, 256])
def test_largest_sums_and_last_addresses(n):
    """-128 * -128 in every cell; the last tile, vector, row of the buffer and of the accumulators,
    and a fault one past each."""
    params = SPACE.resolve("sim", {"n": n})
    ub, acc, vectors, tiles = params["ub_rows"], params["acc_rows"], 5, 3

    def case(words):
        weights = np.zeros((tiles, n, n), np.int8)
        weights[-1] = -128
        return case_of("ends", params, words, np.full((vectors, n), -128, np.int8), weights)

    program = Program()
    program.rhm(vectors - 1, ub - 1, 1)
    program.rw(tiles - 1)
    program.mmc(ub - 1, acc - 1, 1, switch=True, overwrite=True)
    for k in range(3):
        program.cfg("norm", 8 * k)
        program.act(acc - 1, ub - 3 + k, 1)
    program.whm(ub - 3, vectors - 3, 3)
    program.hlt()
    made = case(program.words)
    memory, outcome = run(made)
    assert outcome.status == "done"
    assert outcome.counters["operations"] == n * n
    assert outcome.counters["bytes_read"] == 14 * len(program.words) + n + n * n
    assert outcome.counters["bytes_written"] == 3 * n
    at = made.registers["hostmem_limit"] - 3 * n
    result = memory[at : at + 3 * n].reshape(3, n).astype(int)
    assert (result[0] + (result[1] << 8) + (result[2] << 16) == 16384 * n).all()
    for name, instruction, operands, detail in (
        ("host_range", "rhm", (vectors, 0, 1), vectors),
        ("weight_range", "rw", (tiles,), tiles),
        ("ub_range", "whm", (ub, 0, 1), ub),
        ("acc_range", "act", (acc, 0, 1), acc),
    ):
        program = Program()
        getattr(program, instruction)(*operands)
        fault = run(case(program.words))[1].fault
        assert (fault.name, fault.detail) == (name, detail)


@pytest.mark.parametrize("n", [4, 12])
def test_a_diagonal_scales_each_element_by_a_byte_of_its_row(n):
    """RW.D takes rows of N bytes from weight memory, the last one too, and counts N bytes for each;
    other tiles before and behind it come as they are."""
    params = SPACE.resolve("sim", {"n": n, "ext_diag": True})
    rng = np.random.default_rng(n)
    rows, vectors = 2 * n, 3
    host = np.zeros((4 * vectors, n), np.int8)
    host[:vectors] = rng.integers(-128, 128, (vectors, n))
    tiles = rng.integers(-128, 128, (rows // n, n, n)).astype(np.int8)
    program = Program()
    program.rhm(0, 0, vectors)
    program.rw(1)
    program.rw(rows - 1, diagonal=True)
    program.rw(0)
    for k in range(3):
        program.mmc(0, vectors * k, vectors, switch=True, overwrite=True)
        program.act(vectors * k, vectors * (k + 1), vectors)
    program.whm(vectors, vectors, 3 * vectors)
    program.hlt()
    case = case_of("diagonal", params, program.words, host, tiles)
    memory, outcome = run(case)
    assert outcome.status == "done"
    assert outcome.counters["bytes_read"] == 14 * len(program.words) + n * (vectors + 1 + 2 * n)
    at = case.registers["hostmem_base"] + vectors * n
    result = memory[at : at + 3 * vectors * n].view(np.int8).reshape(3, vectors, n)
    x = host[:vectors].astype(int)
    expected = x @ tiles[1], x * tiles[1, n - 1], x @ tiles[0]  # the last row lies in tile 1
    assert np.array_equal(result, np.stack(expected).astype(np.int8))


def test_sums_begin_with_the_last_row():
    """MMC.B adds each product to the last row as it was before, wraps as MMC does, and is MMC where
    there is one row; O overwrites."""
    params = SPACE.resolve("sim", {"ext_bias": True})
    rng = np.random.default_rng(3)
    host = np.zeros((12, 4), np.int8)
    host[:5] = rng.integers(-128, 128, (5, 4))
    tile = rng.integers(-128, 128, (1, 4, 4)).astype(np.int8)
    program = Program()
    program.rhm(0, 0, 5)
    program.rw(0)
    program.mmc(0, 10, 5, switch=True, overwrite=True)
    program.mmc(1, 11, 4, bias=True)  # begins with row 14
    program.mmc(0, 20, 2, overwrite=True, bias=True)
    program.mmc(4, 21, 1, bias=True)
    program.hlt()
    case = case_of("bias", params, program.words, host, tile)
    model = Model(params, case.memory.copy())
    assert model.run(case.registers).status == "done"
    products = host[:5].astype(int) @ tile[0]
    assert np.array_equal(model.acc[10:15], [products[0], *(products[4] + products[1:])])
    assert np.array_equal(model.acc[20:22], [products[0], products[1] + products[4]])
    unit = IntegerUnit(n=4, ub_rows=4, acc_rows=4)
    unit.tile, unit.ub[:], unit.acc[3] = tile[0].astype(np.float32), 1, 2**31 - 1
    unit.multiply(slice(0, 4), 0, 4, False, bias=True)
    wrapped = 2**31 - 1 + tile[0].sum(0, dtype=np.int64)
    assert np.array_equal(unit.acc, [(wrapped + 2**31) % 2**32 - 2**31] * 4)


def test_hazard_programs_are_legal():
    for preset, extended in (("sim", True), ("sim-plain", False)):
        params = SPACE.resolve(preset, {"ext_diag": extended, "ext_bias": extended})
        for case in hazard_cases(params, distances=(0, 3)):
            memory, outcome = run(case)
            assert outcome.status == "done", case.name
            slow = bytearray(case.memory.tobytes())
            opentpu_slow.run(params, slow, case.registers)
            assert memory.tobytes() == bytes(slow), case.name


# Properties


@pytest.mark.parametrize("change", ["pad", "nop", "sync"])
def test_insertions_change_nothing(change):
    params = SPACE.resolve("sim-ext")
    for seed in range(10):
        case = random_case(seed, params)
        base, outcome = run(case)
        words = (
            pad(case.words, 4)
            if change == "pad"
            else scatter(case.words, seed, sync=change == "sync")
        )
        # The longer program lies behind everything else, so that the rest of memory is the same.
        at = len(case.memory)
        data = b"".join(word.pack() for word in words)
        longer = np.concatenate(
            [case.memory, np.frombuffer(data + bytes(-len(data) % 64), np.uint8)]
        )
        registers = {
            **case.registers,
            "program_address": at,
            "program_length": len(data),
            "window_limit": len(longer),
        }
        result = Model(params, longer).run(registers)
        assert result.status == "done"
        assert np.array_equal(longer[:at], base)
        assert result.counters["operations"] == outcome.counters["operations"]


def test_runs_are_independent():
    case = random_case(3, SPACE.resolve("sim-ext"))
    model = Model(case.params, case.memory)
    first = model.run(case.registers)
    image = case.memory.copy()
    case = random_case(3, SPACE.resolve("sim-ext"))
    model.memory[:] = case.memory
    model.run({**case.registers, "program_length": 28})
    model.memory[:] = case.memory
    again = model.run(case.registers)
    assert again == first and np.array_equal(model.memory, image)


def test_trace_names_every_written_byte():
    case = random_case(11, SPACE.resolve("sim"))
    written, pcs = np.zeros(len(case.memory), bool), set()

    def trace(pc, address, size):
        written[address : address + size] = True
        pcs.add(pc)

    memory, outcome = run(case, trace=trace)
    assert not (memory != case.memory)[~written].any() and written.any()
    for pc in pcs:
        assert memory[pc] == 1 and (pc - case.registers["program_address"]) % 14 == 0


def test_sync_tag():
    program = Program()
    program.sync(0x1234, interrupt=True)
    program.hlt()
    for ext, tag in ((True, 0x1234), (False, 0)):
        params = SPACE.resolve("sim", {"ext_sync": ext})
        case = case_of(
            "sync", params, program.words, np.zeros((4, 4), np.int8), np.zeros((1, 4, 4), np.int8)
        )
        _, outcome = run(case)
        assert outcome.status == "done" and outcome.values == {"sync_tag": tag}


def test_unbuilt_extensions_are_ignored_as_published():
    params = SPACE.resolve("sim-plain")
    program = Program()
    program.rhm(0, 0, 4)
    program.rw(0)
    program.mmc(0, 0, 4, switch=True, convolve=True)
    program.sync(0xFFFF, interrupt=True)
    program.act(0, 8, 4)
    program.whm(8, 4, 4)
    program.hlt()
    host = np.arange(32, dtype=np.int8).reshape(8, 4)
    case = case_of("published", params, program.words, host, np.eye(4, dtype=np.int8)[None])
    memory, outcome = run(case)
    assert outcome.status == "done"
    at = case.registers["hostmem_base"]
    assert np.array_equal(memory[at + 16 : at + 32], memory[at : at + 16])


def test_norm_reset_is_wired_in():
    for params, registers in (
        (SPACE.resolve("sim", {"norm_reset": 0x10102}), {}),
        (SPACE.resolve("up5k-4x4", {"norm_reset": 0x10102}), {"cfg_norm": 5}),
        (SPACE.resolve("sim"), {"cfg_norm": 0x10102}),
    ):
        case = workload("W18")
        memory = case.memory.copy()
        assert Model(params, memory).run({**case.registers, **registers}).status == "done"
        # Row 8 after two products, [11, 11, -2, 4] with ReLU's rows shifted too: a quarter,
        # rounded.
        first = np.clip((np.array([3, 13, 4, 8]) + 2) >> 2, 0, 127)
        second = first @ np.array([[1, -1, 0, 0], [0, 1, 0, -1], [1, 0, -2, 1], [0, 0, 1, 1]])
        second = second + np.array([1, 2, 3, 4]) @ np.array(
            [[1, -1, 0, 0], [0, 1, 0, -1], [1, 0, -2, 1], [0, 0, 1, 1]]
        )
        assert memory[0x201C:0x2020].view(np.int8).tolist() == ((second + 2) >> 2).tolist()


@pytest.mark.parametrize(
    "change, message",
    [
        ({"mode": "float16"}, "mode must be one of int8, float32"),
        ({"hostmem": np.zeros((1, 4), np.float32)}, "belong to mode float32"),
        ({"mode": "float32"}, "hostmem must be a float32 array of shape"),
        (
            {
                "mode": "float32",
                "hostmem": np.zeros((1, 4), np.float32),
                "weights": np.zeros((1, 4, 5), np.float32),
            },
            "weights must be a float32 array of shape",
        ),
    ],
)
def test_constructor_refuses(change, message):
    arguments = {"memory": np.zeros(64, np.uint8), **change}
    with pytest.raises(ValueError, match=message):
        Model(SPACE.resolve("sim"), arguments.pop("memory"), **arguments)


# Float mode (section 5, erratum 19)


def test_float_mode():
    case = workload("W18")
    host = np.zeros((16, 4), np.float32)
    host[:3] = case.memory[0x2000:0x200C].view(np.int8).reshape(3, 4)
    weights = case.memory[0x3000:0x3020].view(np.int8).reshape(2, 4, 4).astype(np.float32)
    image = case.memory.copy()
    outcome = Model(case.params, case.memory, mode="float32", hostmem=host, weights=weights).run(
        case.registers
    )
    assert outcome.status == "done" and outcome.counters["operations"] == 144
    assert np.array_equal(case.memory, image)  # results are in hostmem
    sums = np.maximum(host[:3] @ weights[0], 0) @ weights[1] + host[:3] @ weights[1]
    assert np.allclose(host[4:7], 255 / (1 + np.exp(-sums.astype(np.float64))), rtol=1e-5)
    assert np.array_equal(host[7:10], sums)
    assert sums.max() > 127  # nothing was truncated


def test_a_diagonal_in_float_mode():
    """Row 5 of the weights, which are those of tile 1, multiplies element by element."""
    params = SPACE.resolve("sim", {"ext_diag": True})
    host = np.array([[1.5, -2, 300, 4], [0, 0, 0, 0]], np.float32)
    weights = np.arange(32, dtype=np.float32).reshape(2, 4, 4) / 4
    program = Program()
    program.rhm(0, 0, 1)
    program.rw(5, diagonal=True)
    program.mmc(0, 0, 1, switch=True, overwrite=True)
    program.act(0, 1, 1)
    program.whm(1, 1, 1)
    program.hlt()
    case = case_of("float", params, program.words, host.astype(np.int8), weights.astype(np.int8))
    model = Model(params, case.memory, mode="float32", hostmem=host, weights=weights)
    assert model.run(case.registers).status == "done"
    assert np.array_equal(host[1], host[0] * weights[1, 1])
