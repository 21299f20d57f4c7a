# SPDX-License-Identifier: BSD-2-Clause
"""Workloads of the specification's section 10 as assembly: lists of programs over matrices that are
already in MEM."""

from collections.abc import Callable
from dataclasses import dataclass

from ....gateware.cores.cherry.params import SPACE
from ....tools.kernels.cherry import Module
from ....tools.kernels.cherry.module import Matrix

__all__ = ["PRESETS", "WORKLOADS", "Workload", "source"]

#: The builds that have bounds, in the order of the columns.
PRESETS = ("85f", "85f-max", "45f", "25f")


@dataclass(frozen=True)
class Workload:
    """A workload. ``bounds`` and ``estimates`` (``None``: none was made) in cycles by preset;
    ``make(module)`` adds its programs to a :class:`Module`; ``macs``: multiply-accumulate
    operations, 0 if they are not the measure."""

    name: str
    make: Callable[[Module], object]
    bounds: tuple[int | None, ...]
    estimates: tuple[int | None, ...]
    macs: int = 0


def _vector(before, loads, work, target, uniform=()):
    """Sixteen tiles a turn; their results are stored in the next turn, behind its first ``before``
    loads, so that no load waits for the result."""

    def make(m):
        p = m.program(persistent=16, reads=(), writes=())
        turn, first, inner, last = p.loop(15), p.loop(16), p.loop(16), p.loop(16)
        places = {"x": 0, "y": 4100, "z": 8200}

        def line(text, loop, offset=0, **more):
            at, register = text.split(", ")
            return (
                f"{at[:-2]} {p.unit(places[at[-1]] + offset, 1, 4, **more, **{loop: 16})}, "
                f"{register}"
            )

        p(*(f"load {p.unit(12300, 0, 0)}, {register}" for register in uniform))
        with p.independent(first):
            p(*(line(load, first) for load in loads), *work)
        with p.ordered(turn), p.independent(inner):
            following = [line(load, inner, 256, **{turn: 256}) for load in loads]
            p(
                *following[:before],
                line(target, inner, 0, **{turn: 256}),
                *following[before:],
                *work,
            )
        with p.independent(last):
            p(line(target, last, 15 * 256))

    return make


def _product(size, flip=None):
    def make(m):
        pitch = 4 * (size // 4 | 1)
        area = size * pitch
        if 3 * area <= m.elements:
            a, b, c = (Matrix(k * area, size, size, pitch) for k in range(3))
        else:
            # A square that overlaps its factor: what comes out is of no use, the accesses are the
            # same.
            a = b = Matrix(0, size, size, pitch)
            c = Matrix(m.elements - area, size, size, pitch)
        m.matmul(a.transposed if flip == "a" else a, b.transposed if flip == "b" else b, c)

    return make


def _convolution(m):
    m.conv3x3(Matrix(0, 8, 324, 324), Matrix(2592, 72, 16, 20), 8, 16, 16, 16)


def _reduction(op, axis):
    def make(m):
        m.reduce(op, Matrix(0, 64, 64, 68), axis)

    return make


def _softmax(m):
    """Rows of 64x64: tiles are loaded transposed, so that a context reduces four rows down its
    columns. Results are stored a turn later, behind the loads of the next."""
    x, powers, tops, sums = Matrix(0, 64, 64, 68), Matrix(4352, 64, 64, 68), 8704, 8772
    first = m.program(persistent=16, reads=(), writes=())
    begin, walk, row, middle, again, beside, end = (
        first.loop(n) for n in (16, 15, 16, 16, 15, 16, 16)
    )

    def tile(program, matrix, across, down, offset=0):
        return program.unit(
            matrix.address + offset, matrix.stride_y, 1, **{across: 4, down: 4 * matrix.stride_y}
        )

    with first.independent(begin):
        first(f"load {first.unit(x.address, 68, 1, **{begin: 272})}, OUTPUT", "max 0")
    with first.ordered(walk), first.independent(row):
        first(f"load {tile(first, x, walk, row, 4)}, OUTPUT", "max 1")
    powered = "sub", "copy INPUT, OUTPUT", "exp"
    with first.independent(middle):
        first(
            f"store {first.unit(tops, 1, 0, **{middle: 4})}, ACC, 1, 4",
            f"load {first.unit(tops, 1, 0, **{middle: 4})}, WEIGHTS",
            "zero ACC",
            f"load {first.unit(x.address, 68, 1, **{middle: 272})}, INPUT",
            *powered,
        )
    with first.ordered(again), first.independent(beside):
        first(
            f"load {tile(first, x, again, beside, 4)}, INPUT",
            f"store {tile(first, powers, again, beside)}, OUTPUT",
            "sum 1",
            *powered,
        )
    with first.independent(end):
        first(
            f"store {first.unit(powers.address + 60, 68, 1, **{end: 272})}, OUTPUT",
            "sum 1",
            f"store {first.unit(sums, 1, 0, **{end: 4})}, ACC, 1, 4",
        )
    second = m.program(persistent=16, reads=(), writes=())
    begin, walk, row, end = (second.loop(n) for n in (16, 15, 16, 16))
    with second.independent(begin):
        second(
            f"load {second.unit(sums, 1, 0, **{begin: 4})}, WEIGHTS",
            f"load {second.unit(powers.address, 68, 1, **{begin: 272})}, INPUT",
            "div",
        )
    with second.ordered(walk), second.independent(row):
        second(
            f"load {tile(second, powers, walk, row, 4)}, INPUT",
            f"store {tile(second, powers, walk, row)}, OUTPUT",
            "div",
        )
    with second.independent(end):
        second(f"store {second.unit(powers.address + 60, 68, 1, **{end: 272})}, OUTPUT")


_SUMS, _MAXIMA = (((272, 272, 1040, last), (281, 281, 1049, None)) for last in (4096, 2080))
WORKLOADS = (
    Workload(
        "vector add 4096",
        _vector(2, ("load x, INPUT", "load y, WEIGHTS"), ("add",), "store z, OUTPUT"),
        (768, 768, 3072, 6144),
        (1078, 822, 3078, None),
    ),
    Workload(
        "saxpy 4096",
        _vector(
            2,
            ("load x, INPUT", "load y, OUTPUT"),
            ("copy ACC, OUTPUT", "mulacc"),
            "store y, ACC",
            uniform=("WEIGHTS",),
        ),
        (769, 769, 3073, 6152),
        (1079, 823, 3079, None),
    ),
    Workload("matmul 16", _product(16), (128, 96, 384, 1024), (306, 278, 432, None), 4096),
    Workload(
        "matmul 64", _product(64), (8192, 4608, 18432, 65536), (8526, 4668, 18444, None), 262144
    ),
    Workload(
        "matmul 64, A transposed",
        _product(64, "a"),
        (8192, 4608, 18432, 65536),
        (8526, 4668, 18444, None),
        262144,
    ),
    Workload(
        "matmul 64, B transposed",
        _product(64, "b"),
        (8192, 4608, 18432, 65536),
        (8526, 4668, 18444, None),
        262144,
    ),
    Workload(
        "matmul 96",
        _product(96),
        (27648, 15552, 62208, 221184),
        (28622, 17006, 62220, None),
        884736,
    ),
    Workload(
        "matmul 96, A transposed",
        _product(96, "a"),
        (27648, 15552, 62208, 221184),
        (28622, 17006, 62220, None),
        884736,
    ),
    Workload(
        "matmul 96, B transposed",
        _product(96, "b"),
        (27648, 15552, 62208, 221184),
        (28622, 17006, 62220, None),
        884736,
    ),
    Workload(
        "conv 3x3", _convolution, (9216, 5440, 20608, 73728), (10622, 6014, 22046, None), 294912
    ),
    Workload("column sum 64x64", _reduction("sum", 0), *_SUMS),
    Workload("row sum 64x64", _reduction("sum", 1), *_SUMS),
    Workload("column max 64x64", _reduction("max", 0), *_MAXIMA),
    Workload("row max 64x64", _reduction("max", 1), *_MAXIMA),
    Workload("softmax 64x64", _softmax, (4096, 4096, 8192, 14368), (5655, 5639, 10743, None)),
)


def source(workload: Workload, preset: str) -> tuple[str, list[str]]:
    """Assembly of a workload for a preset (its programs, without steps or DMA) and the programs'
    names."""
    module = Module(SPACE.resolve(preset))
    # What the programs use lies where they say; room for what they make behind it.
    module._free = 9200
    workload.make(module)
    return "\n".join(line for program in module._programs for line in program.text()) + "\n", [
        p.name for p in module._programs
    ]
