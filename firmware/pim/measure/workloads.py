# SPDX-License-Identifier: BSD-2-Clause
"""Workloads of section 10 as programs: int16 elements, int8 weights. Constant registers are loaded
once, others before each use."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....gateware.cores.pim.image.image import CoreProgram, Group, Image
from ....gateware.cores.pim.isa import ISA
from ....gateware.cores.pim.params import SPACE
from .case import Case, make_case

__all__ = ["BOUNDS", "MEMORY", "PARAMS", "SINGLES", "WORKLOADS", "case_of"]

PARAMS = SPACE.resolve("85f")
#: Bytes of main memory; GMem is its upper half.
MEMORY = 1 << 20
_IMAGE = 0x1000


class _Program:
    """Instructions of one core, under construction."""

    def __init__(self, groups=()):
        self.words, self.groups = [], list(groups)

    def __getattr__(self, mnemonic):
        def put(**values):
            self.words.append(ISA.encode(mnemonic, **values))
            return self

        return put

    def set(self, register, value):
        return self.sldi(rd=register, imm=value)

    def pair(self, register, address):
        return self.set(register, 0).set(register + 1, address)

    def widths(self, ibiw=16, obiw=16):
        return self.setbw(ibiw=ibiw, obiw=obiw)

    def multiply(self, to, of, group=0, relu=0):
        return self.mvmul(rd=to, rs1=of, mbiw=8, relu=relu, group=group)


def _group(rows, cols, first=0, shift=8, bias=False, rng=None):
    """A group of the lowest free arrays, from ``first`` on."""
    rng = rng or np.random.default_rng(rows * 1000 + cols)
    number = -(-rows // PARAMS["xb_rows"]) * -(-cols // PARAMS["xb_cols"])
    return Group(
        rows,
        cols,
        tuple(range(first, first + number)),
        8,
        shift,
        1,
        rng.integers(-128, 128, (rows, cols)).astype(np.int8),
        rng.integers(-1000, 1000, cols).astype(np.int32) if bias else None,
    )


def case_of(
    cores: Sequence[_Program],
    *,
    mode: int = 0,
    params: dict[str, Any] = PARAMS,
    size: int = MEMORY,
) -> Case:
    """Test case of a list of programs in one code form; ``size``: bytes of main memory, whose upper
    half is GMem."""
    image = Image(
        [CoreProgram(mode=mode, groups=p.groups) for p in cores],
        params["xb_rows"],
        params["xb_cols"],
        size // 2,
        0,
    )
    memory = np.frombuffer(random.Random(1).randbytes(size), np.uint8).copy()
    words = [(number, word) for number, p in enumerate(cores) for word in p.words]
    return make_case("workload", params, image, words, memory, _IMAGE)


def _base(groups=(), places=(0, 4096, 8192)):
    return _Program(groups).widths().set(1, places[0]).set(2, places[1]).set(3, places[2])


def mvmul(number: int, *places: Sequence[int]) -> list[_Program]:
    """Program of ``number`` independent matrix products, one after another."""
    p = _base([_group(64, 64)], *places)
    for k in range(number):  # independent: two results by turns
        p.multiply(2 + k % 2, 1)
    return [p]


def vector(mnemonic: str, *places: Sequence[int], **fields: int) -> list[_Program]:
    """Program of one vector instruction."""
    p = _base((), *places)
    return [getattr(p, mnemonic)(**fields)]


def singles(*places: Sequence[int], to: int = 3, again: int = 2) -> dict[str, list[_Program]]:
    """Programs of single instructions; ``to``: address register of long results, ``again``: the
    second factors of ``vvdmul``."""
    return {
        "nothing": [_base((), *places)],
        "mvmul 1": mvmul(1, *places),
        "mvmul 100": mvmul(100, *places),
        "mvmul 64x256": [_base([_group(64, 256)], *places).multiply(2, 1)],
        "vvadd 1024": vector("vvadd", *places, rd=to, rs1=1, rs2=2, len=1024),
        "vrelu 1024": vector("vrelu", *places, rd=to, rs1=1, len=1024),
        "vvdmul 2047": vector("vvdmul", *places, rd=to, rs1=1, rs2=again, len=2047),
        "vavg 64": [_base((), *places).set(4, 3).vavg(rd=2, rs1=1, rs2=4, len=64)],
    }


def transfer(mnemonic: str, odd: int) -> list[_Program]:
    """Program of one transfer of 2,000 bytes between main and local memory, aligned or at odd
    addresses."""
    p = _base().pair(6, odd)
    if odd:
        p.set(1, 1)
    return [p.ld(rd=1, rs1=6, size=2000) if mnemonic == "ld" else p.st(rd=6, rs1=1, size=2000)]


def exchange(late: str) -> list[_Program]:
    """Programs that send 1,000 bytes from core 0 to core 1; the side ``late`` is delayed by 100
    instructions."""
    sender, receiver = _Program().set(1, 0), _Program().set(1, 0)
    for _ in range(100):
        (sender if late == "send" else receiver).nop()
    sender.send(rs1=1, core=1, size=1000)
    receiver.recv(rd=1, core=0, size=1000)
    return [sender, receiver]


def kept_back() -> list[_Program]:
    """Programs of :func:`exchange` without its transfer, as the baseline."""
    p = _Program().set(1, 0)
    for _ in range(100):
        p.nop()
    return [p, _Program().set(1, 0)]


def ping_pong(rounds: int = 100) -> list[_Program]:
    """Programs of two cores that wait alternately for each other's events."""
    one, other = _Program(), _Program()
    for _ in range(rounds):
        one.sync(event=1, core=1).wait(event=2, value=1)
        other.wait(event=1, value=1).sync(event=2, core=0)
    return [one, other]


def registers(number: int = 10_000) -> list[_Program]:
    """Program of ``number`` register loads."""
    p = _Program()
    for k in range(number):
        p.set(k % 32, k)
    return [p]


def patches() -> list[_Program]:
    """Stream A: rows of an image, whose patches are each moved, multiplied and rectified."""
    p = _Program([_group(24, 16)]).widths()
    p.pair(30, 0).set(1, 0).ld(rd=1, rs1=30, size=1024)
    for k in range(62):
        p.set(2, 2048).set(3, 16 * k).lmv(rd=2, rs1=3, size=48)
        p.set(4, 4096 + 32 * k).multiply(4, 2)
        p.set(5, 4096 + 32 * k).set(6, 4096 + 32 * k).vrelu(rd=5, rs1=6, len=16)
    for k in range(2):
        p.set(31, 4096 + 992 * k).set(7, 4096 + 992 * k).set(30, 0).st(rd=30, rs1=7, size=992)
    return [p]


def pipeline() -> list[_Program]:
    """Stream B: four cores, each with one stage of 32 items."""
    cores = [_Program([_group(16, 16)] if k < 3 else []).widths() for k in range(4)]
    first, *middle, last = cores
    first.set(30, 0)
    for k in range(32):
        first.set(31, 32 * k).set(1, 0).ld(rd=1, rs1=30, size=32)
        first.set(2, 256).set(1, 0).multiply(2, 1, relu=1).send(rs1=2, core=1, size=32)
    for number, p in enumerate(middle, 1):
        for _ in range(32):
            p.set(1, 0).recv(rd=1, core=number - 1, size=32)
            p.set(2, 256).multiply(2, 1).send(rs1=2, core=number + 1, size=32)
    last.set(30, 0)
    for k in range(32):
        last.set(1, 0).recv(rd=1, core=2, size=32).set(31, 8192 + 32 * k).set(1, 0).st(
            rd=30, rs1=1, size=32
        )
    return cores


def pool() -> list[_Program]:
    """Stream C: 2x2 max pooling of 16x16x8."""
    p = _Program().widths()
    for k in range(4):
        p.set(30, 0).set(31, 1024 * k).set(1, 1024 * k).ld(rd=1, rs1=30, size=1024)
    for k in range(64):
        row, column = divmod(k, 8)
        at = (2 * row * 16 + 2 * column) * 16
        p.set(1, 8192 + 16 * k).set(2, at).set(3, at + 16).vvmax(rd=1, rs1=2, rs2=3, len=8)
        p.set(4, at + 256).vvmax(rd=1, rs1=1, rs2=4, len=8)
        p.set(5, at + 272).vvmax(rd=1, rs1=1, rs2=5, len=8)
    return [p.set(31, 8192).set(1, 8192).st(rd=30, rs1=1, size=1024)]


def perceptron() -> list[_Program]:
    """Stream D: 256-64-10 on one core, the hidden layer in four blocks of rows."""
    groups = [_group(64, 64, first=k) for k in range(4)] + [_group(64, 10, first=4)]
    p = _Program(groups).widths().pair(30, 0).set(1, 0).ld(rd=1, rs1=30, size=512)
    for k in range(4):
        p.set(2, 1024 + 128 * k).set(1, 128 * k).multiply(2, 1, group=k)
    p.set(1, 1024).set(2, 1152).vvadd(rd=1, rs1=1, rs2=2, len=64)
    p.set(3, 1280).set(4, 1408).vvadd(rd=3, rs1=3, rs2=4, len=64)
    p.vvadd(rd=1, rs1=1, rs2=3, len=64).vrelu(rd=1, rs1=1, len=64)
    return [p.set(5, 2048).multiply(5, 1, group=4).set(31, 4096).st(rd=30, rs1=5, size=20)]


def split_perceptron() -> list[_Program]:
    """Stream E: 784-128-10 on four cores, with 32 hidden units each and the other work on core
    0."""
    cores = []
    for number in range(4):
        groups = [_group(784, 32, shift=10, bias=True)] + (
            [_group(128, 10, first=13, bias=True)] if number == 0 else []
        )
        p = _Program(groups).widths().pair(30, 0).set(1, 0)
        p.ld(rd=1, rs1=30, size=1568).set(2, 2048 + 64 * number).multiply(2, 1, relu=1)
        if number:
            p.send(rs1=2, core=0, size=64)
        else:
            for other in range(1, 4):
                p.set(3, 2048 + 64 * other).recv(rd=3, core=other, size=64)
            p.set(5, 3072).multiply(5, 2, group=1).set(31, 4096).st(rd=30, rs1=5, size=20)
        cores.append(p)
    return cores


WORKLOADS = {
    **singles(),
    **{
        f"{m} {'odd' if odd else 'aligned'}": transfer(m, odd)
        for m in ("ld", "st")
        for odd in (0, 1)
    },
    "kept back": kept_back(),
    "exchange, send late": exchange("send"),
    "exchange, recv late": exchange("recv"),
    "ping-pong": ping_pong(),
    "10,000 sldi": registers(),
    "A": patches(),
    "B": pipeline(),
    "C": pool(),
    "D": perceptron(),
    "E": split_perceptron(),
}

#: Single instructions in 4 KB of LMem, where they work in place.
SINGLES = singles((0, 2048, 1024), to=1, again=1)

#: Workload -> (bound in cycles of RUN at a memory of 8 bytes a cycle, workload whose cycles are
#: taken off).
BOUNDS = {
    "mvmul 1": (150, "nothing"),
    "mvmul 64x256": (536, "nothing"),
    "vvadd 1024": (560, "nothing"),
    "vrelu 1024": (290, "nothing"),
    "vvdmul 2047": (1060, "nothing"),
    "vavg 64": (114, "nothing"),
    "mvmul 100": (100 * 132 + 18, "nothing"),
    **{
        f"{m} {kind}": (int(1.15 * 250 + more), "nothing")
        for m in ("ld", "st")
        for kind, more in (("aligned", 40), ("odd", 60))
    },
    "exchange, send late": (165, "kept back"),
    "exchange, recv late": (165, "kept back"),
    "ping-pong": (200 * 24, None),
    "10,000 sldi": (10_100, None),
    "A": (5592, None),
    "B": (3566, None),
    "C": (3004, None),
    "D": (850, None),
    "E": (2000, None),
}
