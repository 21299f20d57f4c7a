# SPDX-License-Identifier: BSD-2-Clause
"""The golden model of Cherry: the worked job, loops and contexts, memory, faults, lists
(specification, sections 4 to 7)."""

import struct
import zlib

import numpy as np
import pytest

from quintet.firmware.cherry import small
from quintet.gateware.cores.cherry.asm.decimals import element
from quintet.gateware.cores.cherry.image import FILL, Descriptor, Step, list_bytes
from quintet.gateware.cores.cherry.model import arithmetic
from quintet.gateware.cores.cherry.model.model import Model
from quintet.gateware.cores.cherry.model.races import Overlap, Race, Races
from quintet.gateware.cores.cherry.params import SPACE
from quintet.gateware.cores.cherry.software import SOFTWARE
from quintet.gateware.isa.asm import assemble, assemble_text
from tests.gateware.cores.cherry.bench.portable import WIDTHS, reasons

AT = 0x1000
TWO = element("2.0")


def machine(text=None, *, data=None, contexts=4, memory=1 << 16, params=None, **options):
    """A model with a program in its memory, and the registers that run it."""
    model = Model(
        SPACE.resolve("sim", {"contexts": contexts, **(params or {})}),
        np.zeros(memory, np.uint8),
        **options,
    )
    data = assemble_text(SOFTWARE, text).data if data is None else data
    model.memory[AT : AT + len(data)] = np.frombuffer(data, np.uint8)
    return model, {"program_address": AT, "program_length": len(data)}


def run(text, mem=None, **options):
    """Outcome and MEM of a program that starts with ``mem`` (address -> elements): the same with
    other contexts, if it is portable."""
    outcome, found = run_once(text, mem, **options)
    if (
        outcome.status == "done"
        and ".needs contexts" not in text
        and not reasons(assemble_text(SOFTWARE, text))
    ):
        for contexts in WIDTHS:
            assert (run_once(text, mem, **{**options, "contexts": contexts})[1] == found).all(), (
                contexts
            )
    return outcome, found


def run_once(text, mem, **options):
    model, registers = machine(text, **options)
    for at, elements in (mem or {}).items():
        model.mem[at : at + np.size(elements)] = np.ravel(elements)
    return model.run(registers), model.mem


def put(model, at, array):
    raw = np.ascontiguousarray(array).view(np.uint8).ravel()
    model.memory[at : at + len(raw)] = raw


def tile(*values):
    return np.array([element(v) for v in values]).reshape(4, 4)


COUNT = tile(*range(16))


# The worked job


@pytest.mark.parametrize("contexts, shuffle", [(2, None), (4, None), (16, 3)])
def test_the_worked_job(contexts, shuffle):
    program = assemble(SOFTWARE, small.FOLDER / "relu_matmul.s")
    model, registers = machine(data=program.data, contexts=contexts, shuffle=shuffle)
    arrays = small.arrays()
    assert {n: zlib.crc32(a.tobytes()) for n, a in arrays.items()} == {
        n: small.CRC[n] for n in arrays
    }
    put(model, 0x2000, arrays["a.npy"])
    put(model, 0x2100, arrays["b.npy"])
    outcome = model.run(registers)
    assert (
        outcome.status == "done"
        and zlib.crc32(model.memory[0x3000:0x3080].tobytes()) == small.CRC["c"]
    )
    assert outcome.counters == {
        "instructions": 35,
        "operations": 288,
        "bytes_read": 796,
        "bytes_written": 128,
    }
    assert outcome.values["fault_context"] == outcome.values["loop_var[3]"] == 0xFFFF_FFFF


def test_the_worked_job_with_its_lists_in_registers():
    text = (small.FOLDER / "relu_matmul.s").read_text()
    whole = assemble_text(SOFTWARE, text).data
    model, registers = machine(
        "\n".join(line for line in text.splitlines() if not line.startswith((".in", ".out")))
    )
    for name, array in zip((0x2000, 0x2100), small.arrays().values(), strict=True):
        put(model, name, array)
    put(model, 0x4000, np.frombuffer(whole[0x40:0xA0], np.uint8))
    put(model, 0x4100, np.frombuffer(whole[0xA0:0xE0], np.uint8))
    outcome = model.run({**registers, "dma_in_list": 0x4000, "dma_out_list": 0x4100})
    assert (
        outcome.status == "done"
        and zlib.crc32(model.memory[0x3000:0x3080].tobytes()) == small.CRC["c"]
    )


def test_faults_of_the_worked_job():
    text = (small.FOLDER / "relu_matmul.s").read_text().replace(".apu C PC", ".apu C 0x3FFFE")
    outcome, _ = run(text)
    assert (outcome.fault.name, outcome.fault.pc, outcome.fault.detail) == (
        "mem_range",
        0x1194,
        0x3FFFE,
    )
    assert outcome.values["fault_context"] == 0 and outcome.values["loop_var[3]"] == 0
    data = bytearray(assemble(SOFTWARE, small.FOLDER / "relu_matmul.s").data)
    data[0x160:0x164] = struct.pack("<I", 0x28000)
    model, registers = machine(data=bytes(data))
    outcome = model.run(registers)
    assert (outcome.fault.name, outcome.fault.pc, outcome.fault.detail) == (
        "opcode",
        0x1160,
        0x28000,
    )


# Elements

BOTH = (
    ".apu X 0 1 4\n.apu W 16 1 4\n.apu O 32 1 4\n.apu A 48 1 4\nload X, INPUT\nload W, "
    "WEIGHTS\nload A, ACC\n"
)


@pytest.mark.parametrize(
    "code, result",
    [
        ("add", lambda x, w, a: arithmetic.add(x, w)),
        ("sub", lambda x, w, a: arithmetic.sub(x, w)),
        ("mul", lambda x, w, a: arithmetic.mul(x, w)),
        ("relu", lambda x, w, a: arithmetic.relu(x)),
        ("gtz", lambda x, w, a: arithmetic.gtz(x)),
        ("copy OUTPUT, WEIGHTS", lambda x, w, a: w),
        ("zero OUTPUT", lambda x, w, a: 0 * x),
        (
            "matmul\ncopy OUTPUT, ACC",
            lambda x, w, a: np.array(
                [[arithmetic.dot(x[i], w[:, j], a[i, j]) for j in range(4)] for i in range(4)]
            ),
        ),
        ("mulacc\ncopy OUTPUT, ACC", lambda x, w, a: arithmetic.dot(x[..., None], w[..., None], a)),
    ],
)
def test_element_operations(code, result):
    x, w, a = (
        tile(*np.linspace(-3, 3, 16)),
        tile(*np.linspace(2, -1, 16)),
        tile(*np.linspace(1, 5, 16)),
    )
    outcome, mem = run(BOTH + code + "\nstore O, OUTPUT", {0: x, 16: w, 48: a})
    assert outcome.status == "done" and (mem[32:48].reshape(4, 4) == result(x, w, a)).all()


@pytest.mark.parametrize(
    "operands, rows",
    [
        ("0, 0", {0: [24, 28, 32, 36]}),
        ("1, 0", {0: [24, 29, 34, 39]}),
        ("0, 0, 2, 3", {3: [4, 6, 8, 10]}),
        (
            "0, 1, 4, 1",
            {0: [0, 6, 2, 3], 1: [4, 22, 6, 7], 2: [8, 38, 10, 11], 3: [12, 54, 14, 15]},
        ),
        ("1, 1, 2", {0: [1, 1, 2, 3], 1: [13, 5, 6, 7], 2: [25, 9, 10, 11], 3: [37, 13, 14, 15]}),
        ("0, 2", {0: [120, 1, 2, 3]}),
        ("1, 2, 1, 2", {2: [14, 9, 10, 11]}),
    ],
)
def test_sums(operands, rows):
    """OUTPUT and ACC hold 0 to 15."""
    outcome, mem = run(
        BOTH + f"copy OUTPUT, INPUT\nsum {operands}\nstore O, ACC", {0: COUNT, 48: COUNT}
    )
    want = np.array(COUNT)
    for row, values in rows.items():
        want[row] = [element(v) for v in values]
    assert outcome.status == "done" and (mem[32:48].reshape(4, 4) == want).all()


@pytest.mark.parametrize(
    "operands, row, values",
    [
        ("0, 0", 0, [12, 13, 14, 15]),
        ("1, 0, 1, 2", 2, [8, 9, 10, 11]),
        ("0, 2, 3", 0, [11, 1, 2, 3]),
        ("0, 1, 3, 2", 3, [12, 13, 14, 15]),
        ("1, 2, 1, 3", 3, [12, 13, 14, 15]),
    ],
)
def test_maxima(operands, row, values):
    _, mem = run(BOTH + f"copy OUTPUT, INPUT\nmax {operands}\nstore O, ACC", {0: COUNT, 48: COUNT})
    assert list(mem[32 + 4 * row : 36 + 4 * row]) == [element(v) for v in values]


def test_a_wide_accumulator():
    tenth = np.full(16, 0x0F733)
    text = BOTH + "matmul\nstore O, ACC\ncopy OUTPUT, ACC\nsum 0\nstore X, ACC"
    outcome, mem = run(
        ".needs acc_frac=17\n" + text, {0: tenth, 16: tenth}, params={"acc_frac": 17}
    )
    assert outcome.status == "done" and set(mem[32:48]) == {0x0F48F}
    outcome, _ = run(text, params={"acc_frac": 17})
    assert (outcome.fault.name, outcome.fault.pc, outcome.fault.detail) == ("feature", AT + 8, 0)


# Loads and stores


@pytest.mark.parametrize("zero", [0, 1])
@pytest.mark.parametrize("skip", [0, 1])
@pytest.mark.parametrize("len_y, len_x", [(1, 1), (2, 3), (3, 4), (4, 2), (4, 4)])
def test_partial_tiles(len_y, len_x, zero, skip):
    if skip and len_y == 4:
        return
    outcome, mem = run(
        f".apu A 0 1 5\n.apu B 40 1 4\n.apu C 100 1 4\nload B, WEIGHTS\nload A, WEIGHTS, "
        f"{len_y}, {len_x}, {zero}, {skip}\n"
        "store C, WEIGHTS",
        {0: np.arange(1, 21), 40: np.arange(100, 116)},
    )
    want = np.zeros((4, 4), int) if zero else np.arange(100, 116).reshape(4, 4)
    want[skip : skip + len_y, :len_x] = np.arange(1, 21).reshape(4, 5)[:len_y, :len_x]
    assert outcome.status == "done" and (mem[100:116].reshape(4, 4) == want).all()


def test_strides_wrap_and_stores_overlap():
    _, mem = run(
        ".apu A 10 -1 0\n.apu S 50 0 1\nload A, INPUT\nstore S, INPUT\nload A, INPUT, 1, 4",
        {7: [1, 2, 3, 4]},
    )
    # Row by row: the last column stays.
    assert list(mem[50:54]) == [1, 1, 1, 1]
    outcome, _ = run(".apu A 0xFFF 1 4\nload A, INPUT")
    assert (outcome.fault.name, outcome.fault.detail) == ("mem_range", 0x1000)
    outcome, _ = run(".apu A 0 -1 4\nload A, INPUT")
    assert outcome.fault.detail == 0x3FFFF
    assert run(".apu A 0x3FFFF 1 0\nload A, INPUT, 1, 1")[0].fault.detail == 0x3FFFF
    assert run(".apu A 4 262140 4\nload A, INPUT, 1, 2")[0].status == "done"


# Loops

LOOP = ".loop n {n}\n.apu A 0 1 4 n:16\n.apu B 2048 1 4 n:16\n"
BODY = "start_independent_loop n\nload A, INPUT\nrelu\nstore B, OUTPUT\nend_loop n\n"


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 13])
@pytest.mark.parametrize("contexts, shuffle", [(1, None), (4, None), (16, 1)])
def test_iterations_in_groups(n, contexts, shuffle):
    outcome, mem = run(
        LOOP.format(n=n) + BODY,
        {0: np.arange(0x10000, 0x10000 + 1024)},
        contexts=contexts,
        shuffle=shuffle,
    )
    assert outcome.counters["instructions"] == 1 + 4 * n
    assert (mem[2048 : 2048 + 16 * n] == np.arange(0x10000, 0x10000 + 16 * n)).all() and not mem[
        2048 + 16 * n :
    ].any()


def test_eight_loops_deep_and_the_law_of_address_units():
    names = [f"l{k}" for k in range(8)]
    text = (
        "".join(f".loop {name} 2\n" for name in names)
        + ".apu A 0 0 0 "
        + " ".join(f"{n}:{1 << k}" for k, n in enumerate(names))
    )
    text += (
        "\n.apu ONE 300 0 0\nload ONE, INPUT\n"
        + "".join(f"start_loop {n}\n" for n in names)
        + "store A, INPUT, 1, 1\n"
    )
    outcome, mem = run(text + "".join(f"end_loop {n}\n" for n in reversed(names)), {300: [7]})
    assert outcome.status == "done" and (mem[:256] == 7).all()


def raw(*words, loops=((0, 2, 1), (1, 3, 1)), contexts=0):
    """A bare image of these words."""
    records = [value for _, count, body in loops for value in (count, body)]
    size = 8 + len(records) + len(words)
    mask = sum(1 << k for k, *_ in loops)
    return struct.pack(
        f"<{size}I",
        0x59524843,
        1 | size << 16,
        contexts,
        len(words) | mask << 24,
        0,
        0,
        0,
        0,
        *records,
        *words,
    )


def start(k, independent=False):
    return (17 if independent else 18) << 13 | k << 10


def end(k):
    return 19 << 13 | k << 10


ADD = 2 << 13


@pytest.mark.parametrize(
    "words, index, detail",
    [
        ([start(0, True), start(1), ADD, end(1)], 1, 1 | 1 << 8),
        ([start(0), start(0)], 1, 2 << 8),
        ([ADD, end(1)], 1, 1 | 3 << 8),
        ([start(0), ADD, end(1)], 2, 1 | 4 << 8),
        ([start(0), end(0)], 1, 5 << 8),
        ([start(0, True), ADD, ADD, end(0)], 3, 5 << 8),
    ],
)
def test_wrong_loops(words, index, detail):
    model, registers = machine(data=raw(*words))
    fault = model.run(registers).fault
    assert (fault.name, fault.pc, fault.detail) == ("state", AT + 4 * (12 + index), detail)


def test_more_loop_faults():
    def fault(data, **options):
        model, registers = machine(data=data, **options)
        found = model.run(registers).fault
        return found.name, found.pc - AT, found.detail

    assert fault(raw(start(3))) == ("undeclared", 48, 3)
    assert fault(raw(start(0), ADD)) == ("program_end", 52, 0)
    assert fault(raw(start(1), ADD, loops=((1, 0, 1),))) == ("program_end", 40, 1)
    assert fault(raw(15 << 13 | 5 << 8)) == ("undeclared", 48, 5 | 1 << 8)
    assert fault(raw(start(0, True), ADD, end(0), loops=((0, 3, 1),), contexts=2)) == (
        "state",
        40,
        6 << 8,
    )
    assert fault(raw(ADD, contexts=5)) == ("capacity", 8, 5)
    model, registers = machine(data=raw(start(1), ADD, end(1), loops=((1, 0, 1),)))
    assert model.run(registers).status == "done"


# Registers and contexts


def test_uniform_and_private_tiles():
    text = """
.needs contexts=4
.loop a 4
.loop b 2
.loop c 4
.apu P 0 1 4 a:16
.apu Q 512 1 4 c:16
.apu U 256 1 4
start_independent_loop a
  load P, INPUT             ; private in four contexts
end_loop a
start_independent_loop b
  copy OUTPUT, INPUT        ; contexts 0 and 1 read their own
end_loop b
start_independent_loop c
  store Q, OUTPUT           ; contexts 2 and 3 see the uniform OUTPUT, zero
end_loop c
load U, OUTPUT              ; ordered: drops the private copies
start_independent_loop c
  store Q, OUTPUT
end_loop c
"""
    both = {0: np.arange(1, 65), 256: np.arange(100, 116)}
    cut = text.index("load U, OUTPUT ")
    _, mem = run(text[:cut], both)
    assert list(mem[512:544]) == list(range(1, 33)) and not mem[544:576].any()
    _, mem = run(text, both)
    assert (mem[512:576].reshape(4, 16) == np.arange(100, 116)).all()


def test_a_uniform_write_drops_private_copies_of_all_contexts():
    text = """
.needs contexts=4
.loop a 4
.loop b 1
.loop c 4
.apu P 0 1 4 a:16
.apu Q 512 1 4 c:16
start_independent_loop a
  load P, INPUT
end_loop a
start_independent_loop b
  zero INPUT
end_loop b
start_independent_loop c
  store Q, INPUT
end_loop c
"""
    _, mem = run(text, {0: np.arange(1, 65), 512: np.arange(64)})
    assert not mem[512:576].any()


@pytest.mark.parametrize("contexts", [1, 4, 16])
def test_portable_programs_do_not_depend_on_contexts(contexts):
    text = (
        LOOP.format(n=11)
        + ".apu W 1024 1 4\nload W, WEIGHTS\nstart_independent_loop n\nzero ACC\nload A, "
        "INPUT\nmatmul\n"
        "copy OUTPUT, ACC\nstore B, OUTPUT\nend_loop n"
    )
    data = {0: np.arange(0xFE00, 0xFE00 + 176), 1024: np.arange(0xFC00, 0xFC10)}
    reference = run(text, data, contexts=2)
    got = run(text, data, contexts=contexts)
    assert (got[1] == reference[1]).all() and got[0].counters["instructions"] == reference[
        0
    ].counters["instructions"]


def test_operations_count_uniform_instructions_once():
    text = LOOP.format(n=4) + (
        "load A, INPUT\nstart_independent_loop n\nrelu\nload A, INPUT\nrelu\nstore B, "
        "OUTPUT\nend_loop n"
    )
    assert run(text)[0].counters["operations"] == 16 + 4 * 16


@pytest.mark.parametrize(
    "code, racing",
    [
        ("load A, INPUT\nstore B, INPUT", None),
        (
            "load B, INPUT\nstore S, INPUT",
            "iteration 0 of an independent loop writes element 0x810 of MEM, which iteration 1 "
            "reads",
        ),
        (
            "store S, INPUT\nload B, INPUT",
            "iteration 1 of an independent loop reads element 0x810 of MEM, which iteration 0 "
            "writes",
        ),
        (
            "store U, INPUT",
            "iteration 1 of an independent loop writes element 0x400 of MEM, which iteration 0 "
            "writes",
        ),
        ("load U, INPUT\nstore B, INPUT", None),
        (
            "load U, INPUT\nstore V, INPUT",
            "iteration 1 of an independent loop writes element 0x400 of MEM, which every "
            "iteration reads",
        ),
        # The writer reads the element as well, first or last of all.
        (
            "load V, INPUT\nload U, WEIGHTS\nstore V, INPUT",
            "iteration 1 of an independent loop writes element 0x400 of MEM, which every",
        ),
        (
            "load B, INPUT\nload S, INPUT\nstore B, INPUT",
            "iteration 1 of an independent loop writes element 0x810 of MEM, which iteration 0 "
            "reads",
        ),
        (
            "load B, INPUT\nload S, INPUT\nstore S, INPUT",
            "iteration 0 of an independent loop writes element 0x810 of MEM, which iteration 1 "
            "reads",
        ),
        ("load B, INPUT\nstore B, INPUT", None),
    ],
)
def test_races_are_found(code, racing):
    text = (
        LOOP.format(n=6)
        + ".apu S 2064 1 4 n:16\n.apu U 1024 1 4\n.apu V 1008 1 4 n:16\nstart_independent_loop n\n"
        + code
    )
    if racing:
        with pytest.raises(Race, match=racing) as caught:
            run(text + "\nend_loop n")
        assert caught.value.pc is not None
        assert run(text + "\nend_loop n", races=False)[0].status == "done"
    else:
        assert run(text + "\nend_loop n")[0].status == "done"


def test_reads_of_many_iterations_are_those_of_each():
    def accesses(races, together, rng):
        """The first race among random accesses, ``None`` if there is none."""
        for _ in range(3):
            count = int(rng.integers(1, 6))
            races.start(count)
            for _ in range(4):
                first = int(rng.integers(0, count))
                addresses = rng.integers(0, 24, (count - first, 2, 2))
                try:
                    if rng.random() < 0.3:
                        races.write(addresses[0], first)
                    elif together:
                        races.read_by_each(addresses, first)
                    else:
                        for number, own in enumerate(addresses):
                            races.read(own, first + number)
                except Race as race:
                    return str(race)
        return None

    seen = set()
    for seed in range(300):
        one, all_at_once = (
            accesses(Races(24), together, np.random.default_rng(seed)) for together in (0, 1)
        )
        assert one == all_at_once, seed
        seen.add(one is None)
    assert seen == {True, False}


def test_the_limit_of_instructions():
    model, registers = machine(LOOP.format(n=4) + BODY)
    outcome = model.run(registers, cycle_limit=6)
    assert (
        outcome.status == "aborted"
        and outcome.fault.code == 8
        and outcome.counters["instructions"] == 5
    )


def test_a_store_that_faults_in_context_two():
    outcome, mem = run(
        ".loop n 4\n.apu A 0 0 0\n.apu B 0xFE0 1 4 n:16\nload A, INPUT\nstart_independent_loop "
        "n\nstore B, INPUT\n"
        "end_loop n",
        {0: [9]},
    )
    assert (outcome.fault.name, outcome.fault.detail) == ("mem_range", 0x1000)
    assert outcome.values["fault_context"] == 2 | 2 << 14 and outcome.values["loop_var[0]"] == 2
    assert (mem[0xFE0:] == 9).all()


# DMA


@pytest.mark.parametrize(
    "words, elements",
    [
        (
            [
                0x3F802000,
                0x3F806000,
                0x3F802001,
                0x7F7FDFFF,
                0x7F7FE000,
                0x007FFFFF,
                0x80000001,
                0xFF800001,
            ],
            [0x0FE00, 0x0FE02, 0x0FE01, 0x1FDFF, 0x1FE00, 0x00000, 0x20000, 0x1FF00],
        )
    ],
)
def test_fp32_in(words, elements):
    model, registers = machine(f".in fp32 0x2000 5 1 {len(words)}")
    put(model, 0x2000, np.array(words, "<u4"))
    assert model.run(registers).status == "done" and list(model.mem[5 : 5 + len(words)]) == elements


@pytest.mark.parametrize(
    "fmt, elements, words",
    [
        (
            "bf16",
            [0x0FE02, 0x0FE06, 0x1FDFF, 0x20003, 0x1FF05],
            [0x3F82_3F80, 0x8000_7F80, 0x0000_7FC0],
        ),
        ("fp32", [0x0FE00, 0x2FE01], [0x3F800000, 0xBF804000]),
        ("raw", [0x3FFFF, 5], [0x3FFFF, 5]),
        (
            "packed",
            [0x0FE00 + k for k in range(16)],
            [
                0xF804FE00,
                0x80CFE023,
                0x14FE043F,
                0xCFE063F8,
                0xFE083F81,
                0xE0A3F824,
                0x0C3F82CF,
                0xE3F834FE,
                0x3F83CFE0,
            ],
        ),
    ],
)
def test_formats_out_and_back(fmt, elements, words):
    model, registers = machine(f".out {fmt} 0x2000 5 1 {len(elements)}")
    model.mem[5 : 5 + len(elements)] = elements
    assert model.run(registers).status == "done"
    assert list(model.memory[0x2000 : 0x2000 + 4 * len(words)].view("<u4")) == words
    model, registers = machine(f".in {fmt} 0x2000 5 1 {len(elements)}")
    put(model, 0x2000, np.array(words, "<u4"))
    assert model.run(registers).status == "done"
    if fmt != "bf16":
        assert list(model.mem[5 : 5 + len(elements)]) == elements


def test_rows_that_transpose_pad_and_run_backwards():
    model, registers = machine(
        ".in raw 0x2010 0 3 5 pitch=-4 mem_pitch=1 mem_step=8\n.fill 1.0 100 2 3 mem_pitch=10\n"
        ".out raw 0x3000 0 2 2 pitch=16 mem_pitch=8"
    )
    put(model, 0x2000, np.arange(12, dtype="<u4"))
    outcome = model.run(registers)
    assert outcome.status == "done" and [list(model.mem[r : r + 40 : 8]) for r in range(3)] == [
        [4, 5, 6, 7, 8],
        [3, 4, 5, 6, 7],
        [2, 3, 4, 5, 6],
    ]
    assert (
        list(model.mem[100:103]) == list(model.mem[110:113]) == [0x0FE00] * 3
        and not model.mem[103:110].any()
    )
    assert list(model.memory[0x3000:0x3018].view("<u4")) == [4, 3, 0, 0, 5, 4]
    assert (
        outcome.counters["bytes_read"] == 64 + 32 + 128 + 32 + 60
        and outcome.counters["bytes_written"] == 16
    )


def descriptor(*words):
    return struct.pack("<8I", *words)


@pytest.mark.parametrize(
    "words, fault, detail",
    [
        ((4, 0, 0, 0x10001, 0, 0, 0, 0), "descriptor", 4),
        ((1 | 4 << 8, 0, 0, 0x10001, 0, 0, 0, 0), "descriptor", 0x401),
        ((1 | 1 << 16, 0, 0, 0x10001, 0, 0, 0, 0), "descriptor", 0x10001),
        ((1, 2, 0, 0x10001, 0, 0, 0, 0), "descriptor", 2),
        ((1, 0, 1 << 18, 0x10001, 0, 0, 0, 0), "descriptor", 1 << 18),
        ((1, 0, 0, 1, 0, 0, 0, 0), "descriptor", 1),
        ((1, 0, 0, 0x10001, 2, 0, 0, 0), "descriptor", 2),
        ((1, 0, 0, 0x10001, 0, 0, 0, 9), "descriptor", 9),
        ((3 | 1 << 8, 0, 0, 0x10001, 0, 0, 0, 0), "descriptor", 0x103),
        ((3, 1 << 18, 0, 0x10001, 0, 0, 0, 0), "descriptor", 1 << 18),
        ((3, 1, 0xFFE, 0x10004, 0, 0, 1, 0), "dma_range", 0x1000),
        ((1, 0xFFF8, 0, 0x10004, 0, 0, 1, 0), "window", 0x10000),
        ((2, 0xFFFC, 0, 0x20001, 4, 0, 1, 0), "window", 0x10000),
    ],
)
def test_descriptor_faults(words, fault, detail):
    model, registers = machine("add")
    put(model, 0x4000, np.frombuffer(descriptor(*words) + bytes(32), np.uint8))
    found = model.run({**registers, "dma_in_list": 0x4000}).fault
    assert (found.name, found.pc, found.detail) == (fault, 0x4000, detail)


def test_lists_at_odd_places():
    model, registers = machine("add")
    found = model.run({**registers, "dma_in_list": 0x4002}).fault
    assert (found.name, found.pc, found.detail) == ("descriptor", 0x4002, 0x4002)
    found = model.run({**registers, "dma_out_list": 0x10000}).fault
    assert (found.name, found.pc, found.detail) == ("window", 0x10000, 0x10000)
    model = Model(SPACE.resolve("sim"), np.zeros(256, np.uint8))
    found = model.run({"program_address": 0x200, "window_limit": 0x1000}).fault
    assert (found.name, found.pc, found.detail) == ("bus", 0x200, 0x200)


@pytest.mark.parametrize(
    "offset, word, fault",
    [
        (0, 0x59524844, "image"),
        (4, 2 | 9 << 16, "image"),
        (4, 1 | 10 << 16, "image"),
        (8, 1 << 11, "image"),
        (8, 1 << 10, "feature"),
        (12, 1 | 1 << 22, "image"),
        (12, 1 | 33 << 16, "image"),
        (16, 1, "image"),
        (32, 1 << 18, "image"),
        (12, 600, "capacity"),
    ],
)
def test_images_that_are_refused(offset, word, fault):
    data = bytearray(raw(ADD, loops=()))
    data[offset : offset + 4] = struct.pack("<I", word)
    model, registers = machine(data=bytes(data))
    found = model.run({**registers, "program_length": 0}).fault
    wrong = 4 if (offset, word) == (4, 1 | 10 << 16) else offset
    assert (found.name, found.pc, found.detail) == (fault, AT + wrong, word)


def test_an_image_longer_than_its_file():
    model, registers = machine("add")
    found = model.run({**registers, "program_length": 32}).fault
    assert (found.name, found.pc, found.detail) == ("capacity", AT + 4, 1 | 9 << 16)


# Lists

STEPS = """
.program p
.apu X 0 1 4
.apu Y 64 1 4
load X, INPUT
relu
store Y, OUTPUT
.step p
.in raw 0x2000 0 4 4
.out raw 0x3000 64 4 4
.step p {flags} rebase=0x400 apus=X,Y
.in raw {source} {at} 4 4
.out raw 0x3100 0x440 4 4
"""


@pytest.mark.parametrize("sequential", [0, 1])
def test_steps_with_rebase(sequential):
    model, registers = machine(STEPS.format(flags="prefetch defer", source="0x2100", at="0x400"))
    put(model, 0x2000, np.arange(0x10000, 0x10080, dtype="<u4"))
    outcome = model.run({**registers, "options": sequential})
    assert outcome.status == "done" and outcome.values["step"] == 1
    assert list(model.memory[0x3000:0x3040].view("<u4")) == list(range(0x10000, 0x10010))
    assert list(model.memory[0x3100:0x3140].view("<u4")) == list(range(0x10040, 0x10050))
    # The image is read once.
    assert outcome.counters["bytes_read"] == 32 + 64 + 4 * (8 + 8 + 3) + 8 * 32 + 128


@pytest.mark.parametrize(
    "source, at, message",
    [
        ("0x2100", "0x38", r"in list touches element 0x40 of MEM, which step 0 uses"),
        (
            "0x3000",
            "0x400",
            r"in list reads main memory at 0x3000, which the out list of step 0 writes",
        ),
    ],
)
def test_a_broken_promise_of_prefetch(source, at, message):
    text = STEPS.format(flags="prefetch", source=source, at=at)
    with pytest.raises(Overlap, match=message):
        run(text)
    model, registers = machine(text)
    assert model.run({**registers, "options": 1}).status == "done"


def test_a_broken_promise_of_defer():
    with pytest.raises(Overlap, match="step 0 is deferred, but step 1 writes element 0x40 of MEM"):
        run(
            STEPS.format(flags="", source="0x2100", at="0x400")
            .replace(".step p\n", ".step p defer\n", 1)
            .replace("rebase=0x400 apus=X,Y", "")
        )


@pytest.mark.parametrize("action", ["load X, INPUT", "store X, INPUT"])
def test_a_deferred_fill_of_what_the_next_program_uses(action):
    image = assemble_text(SOFTWARE, f".apu X 64 1 4\n{action}\n").data
    fill = [Descriptor(FILL, "fp32", 0x0FE00, 70, 1, 1, 0, 1)]
    for defer in (False, True):
        model, registers = machine(
            data=list_bytes([(image, Step(0, defer=defer), [], fill), (image, Step(0), [], [])])
        )
        if defer:
            with pytest.raises(
                Overlap,
                match=(
                    "step 0 is deferred, but step 1 uses element 0x46 of MEM, which its out "
                    "list writes"
                ),
            ):
                model.run(registers)
        else:
            assert model.run(registers).status == "done"


@pytest.mark.parametrize(
    "offset, word",
    [(4, 1), (8, 32), (12, 1), (32, 3), (32, 0), (36, 0x10000), (44, 4), (48, 1 << 18), (56, 1)],
)
def test_lists_that_are_refused(offset, word):
    data = bytearray(
        assemble_text(SOFTWARE, STEPS.format(flags="", source="0x2100", at="0x400")).data
    )
    data[offset : offset + 4] = struct.pack("<I", word)
    model, registers = machine(data=bytes(data))
    found = model.run(registers).fault
    assert (found.name, found.pc, found.detail) == ("image", AT + offset, word)


def test_a_fault_in_the_second_step_leaves_the_first_ones_output():
    text = STEPS.format(flags="", source="0x2100", at="0x400").replace(
        "rebase=0x400", "rebase=0xFF8"
    )
    model, registers = machine(text)
    put(model, 0x2000, np.arange(0x10000, 0x10080, dtype="<u4"))
    outcome = model.run(registers)
    assert outcome.fault.name == "mem_range" and outcome.values["step"] == 1
    assert list(model.memory[0x3000:0x3040].view("<u4")) == list(range(0x10000, 0x10010))
