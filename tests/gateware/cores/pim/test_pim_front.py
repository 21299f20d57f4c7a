# SPDX-License-Identifier: BSD-2-Clause
"""The front end of a processor against the model: random programs, every fault, and what its cycles
are."""

import random

import numpy as np
import pytest

from quintet.firmware.pim.measure.case import make_case
from quintet.gateware.cores.pim.image.image import CoreProgram, Group, Image
from quintet.gateware.cores.pim.isa import ISA
from quintet.gateware.cores.pim.params import SPACE
from tests.gateware.cores.pim.bench.front import compare_front, run_front
from tests.gateware.cores.pim.bench.programs import MEMORY, random_case

PARAMS = SPACE.resolve("sim")
GMEM = MEMORY // 2
FAULTS = (
    "illegal_opcode",
    "illegal_field",
    "odd_pair",
    "width",
    "group",
    "core_range",
    "lmem_range",
    "gmem_range",
    "overlap",
    "code_end",
)


def case_of(text, *, mode=0, params=PARAMS, groups=(), **registers):
    """A one-core program of lines ``mnemonic name=value ..``."""
    words = []
    for line in text.strip().splitlines():
        mnemonic, *fields = line.split()
        values = {name: int(value, 0) for name, value in (field.split("=") for field in fields)}
        words.append((0, ISA.encode(mnemonic, **values)))
    image = Image(
        [CoreProgram(mode=mode, groups=list(groups))], params["xb_rows"], params["xb_cols"], GMEM, 0
    )
    memory = np.frombuffer(random.Random(1).randbytes(MEMORY), np.uint8).copy()
    return make_case(
        "directed", params, image, words, memory, 0x400, {"window_limit": MEMORY, **registers}
    )


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed):
    compare_front(
        random_case(f"front {seed}", PARAMS, cores=1, budget=700),
        seed=seed,
        beat_bytes=(8, 4, 2, 8, 8, 1)[seed],
    )


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_precise(fault):
    compare_front(random_case(f"front {fault}", PARAMS, cores=1, budget=400, fault=fault), seed=3)


def sldi(register, value):
    return f"sldi rd={register} imm={value}"


def test_one_simple_instruction_a_cycle():
    text = "\n".join(
        sldi(k % 32, k) if k % 3 else f"saddi rd={k % 32} rs1={(k - 1) % 32} imm={k}"
        for k in range(1200)
    )
    got = compare_front(case_of(text), latency=(1, 1), stall=0)
    assert got.cycles <= 1200 + 12


def test_a_small_move_takes_four_cycles():
    moves = [f"lmv rd=1 rs1=2 size=4 offset_value={4 * k} offset_select=1" for k in range(100)]
    got = compare_front(
        case_of("\n".join([sldi(1, 512), sldi(2, 0), *moves])), latency=(1, 1), stall=0, latest=0
    )
    first, last = (got.units.commands[k][0] for k in (0, -1))
    assert last - first <= 4 * 99 + 8


def test_scalars_forward_and_wrap():
    compare_front(
        case_of("""
        sldi rd=1 imm=0x7fffffff
        saddi rd=1 rs1=1 imm=1
        sldi rd=2 imm=0xffffffff
        smul rd=3 rs1=2 rs2=2
        sadd rd=4 rs1=3 rs2=1
        ssub rd=4 rs1=4 rs2=2
        smuli rd=4 rs1=4 imm=-3
        ssub rd=5 rs1=4 rs2=4
        saddi rd=5 rs1=5 imm=-1
        sadd rd=5 rs1=5 rs2=5
        smul rd=5 rs1=5 rs2=4
        nop
        sadd rd=0 rs1=5 rs2=5""")
    )


@pytest.mark.parametrize("beat_bytes", (1, 2, 4, 8))
def test_sld_at_any_address_sees_older_stores(beat_bytes):
    lines = [
        "sldi rd=6 imm=0",
        "sldi rd=7 imm=0x100",
        "sldi rd=1 imm=0",
        "lldi rd=1 imm=0x5a size=32 offset_value=3",
    ]
    for k in range(9):
        lines += [
            f"st rd=6 rs1=1 size=3 offset_value={k} offset_select=1",
            f"sld rd={10 + k} rs1=6 offset_value={k - 2}",
        ]
    compare_front(case_of("\n".join(lines)), beat_bytes=beat_bytes)


@pytest.mark.parametrize(
    "offset,high,low,legal",
    (
        (-1, 1, 0, True),
        (-1, 0, 1, True),
        (0, 1, 0, False),
        (1, 0xFFFF_FFFF, 0xFFFF_FFFF, True),
        (-1, 0, 0, False),
        (0, 0xFFFF_FFFF, 0xFFFF_FFFF, False),
        (1, 0, 0xFFFF_FFFF, False),
    ),
)
def test_global_addresses_have_64_bits(offset, high, low, legal):
    # The window holds GMem addresses 0 to 63 and, wrapped, those that are far up.
    case = case_of(
        f"sldi rd=2 imm={high}\nsldi rd=3 imm={low}\nsld rd=4 rs1=2 offset_value={offset}"
    )
    got = compare_front(case)
    assert (got.fault is None) == (legal and (low + offset) % (1 << 32) < GMEM - 4)


#: Elements of the vectors that reach from one end of local memory towards the other: all of them
#: take minutes in Amaranth's simulator.
@pytest.mark.parametrize("most", [300, pytest.param(2047, marks=pytest.mark.long)])
def test_strides_near_the_ends_of_local_memory(most):
    size = PARAMS["lmem_bytes"]
    for start, stride, length in (
        (0, 1, most),
        (size - 2, -1, most),
        (size - 1, -2, most),
        (size - 2 * most + 1, 2, most),
        (0, 2, most),
        (0, 3, min(1400, most)),
        (size - 3 * (most // 2) + 2, 3, most // 2),
        (size - 3 * (most // 2) + 3, 3, most // 2),
        (7, -1, 8),
        (7, -1, 9),
        (100, 0, 500),
        (5, 0x7FFF_FFFF, 1),
        (5, 0x8000_0000, 2),
        (5, 1 << 29, 2),
        (size, 0, 1),
        (0xFFFF_FFF0, 8, 40),
        (0, 1 << 17, 2),
        (0, -(1 << 17) & 0xFFFF_FFFF, 2),
    ):
        compare_front(
            case_of(
                f"sldi rd=1 imm={start}\nsldi rd=2 imm={stride & 0xFFFF_FFFF}\nsldi rd=3 "
                f"imm={(start + 9) % size}\n"
                f"vavg rd=3 rs1=1 rs2=2 len={length} offset_value=0\nnop"
            ),
            latest=1,
        )


@pytest.mark.parametrize("fails", ("ld", "st"))
def test_a_late_bus_error_names_its_instruction(fails):
    # The second transfer leaves main memory, inside the window.
    first, second = (f"ld rd=1 rs1=2 size=8 offset_value={8 * k} offset_select=1" for k in range(2))
    if fails == "st":
        first, second = "st rd=2 rs1=1 size=8", "st rd=4 rs1=1 size=8"
    else:
        second = second.replace("rs1=2", "rs1=4")
    text = f"""sldi rd=2 imm=0\nsldi rd=3 imm=64\nsldi rd=4 imm=0
               sldi rd=5 imm={MEMORY - GMEM + 256}
               sldi rd=1 imm=16
               {first}\n{second}\nsldi rd=9 imm=1\nst rd=2 rs1=1 size=4\nnop"""
    case = case_of(text, window_limit=MEMORY + 4096)
    got = run_front(case, failing={MEMORY + 256: True})
    assert got.fault == (6, MEMORY + 256) and got.pc == 6 and got.offset == 48
    # The younger store waits for the risky one: main memory never shows it.
    younger = got.memory[GMEM + 64 : GMEM + 68]
    assert (younger == (0 if fails == "st" else case.memory[GMEM + 64 : GMEM + 68])).all()


def test_a_group_is_read_right_after_another():
    rng = np.random.default_rng(1)
    groups = [
        Group(
            rows, cols, (k,), 8 - k, k, 1, rng.integers(-1, 1, (rows, cols)).astype(np.int8), None
        )
        for k, (rows, cols) in enumerate(((64, 7), (3, 64)))
    ]
    lines = [sldi(1, 100), sldi(2, 300), sldi(3, 0), sldi(4, 700)]
    lines += [
        "mvmul rd=1 rs1=3 mbiw=8 relu=0 group=0",
        "mvmul rd=2 rs1=3 mbiw=7 relu=1 group=1",
    ] * 2
    compare_front(case_of("\n".join(lines), groups=groups))
