# SPDX-License-Identifier: BSD-2-Clause
"""Workloads of the specification's section 10: program, array, and cycles by the formulas."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....gateware.cores.imagine.isa import ISA, MULTI_CYCLE
from ....gateware.cores.imagine.model import cycles
from ....gateware.cores.imagine.params import SPACE, levels
from ....tools.compiler.backends.imagine.arithmetic import Layer
from ....tools.compiler.backends.imagine.codegen import ArrayProgram, loader_template
from ....tools.compiler.backends.imagine.schedule import Tiles, registers_of_layers

__all__ = ["ARRAYS", "ROWS", "Row", "instruction_rows", "params_of"]

#: name -> rows, cols, reg_width.
ARRAYS = {
    "4x2": (4, 2, 16),
    "8x2": (8, 2, 16),
    "16x3": (16, 3, 16),
    "16x4": (16, 4, 16),
    "48x4": (48, 4, 16),
    "16x16": (16, 16, 16),
    "16x4n8": (16, 4, 8),
    "16x4n4": (16, 4, 4),
    "4x6": (4, 6, 16),
}


def params_of(array: str, **overrides: Any) -> dict[str, Any]:
    """Build parameters of an array with a single clock, so that the counters count cycles of the
    array."""
    rows, cols, width = ARRAYS[array]
    return SPACE.resolve(
        "sim",
        {
            "rows": rows,
            "cols": cols,
            "reg_width": width,
            "fifo_in": 1024,
            "fifo_out": 256,
            **overrides,
        },
    )


@dataclass(frozen=True)
class Row:
    """A workload. ``loader`` and ``kernel`` generate programs; ``kernel`` is measured after the
    loader, without a reset in between.

    ``formula`` : array cycles to the last word, or of one instruction; ``bound`` :
        maximum of accepted cycles;
    ``per`` : instructions that the cycles are divided by,
        after the cycles of the program ``without`` them are subtracted.
    """

    title: str
    array: str
    kernel: Callable[[], Any]
    formula: float
    bound: float
    loader: Callable[[], Any] | None = None
    without: Callable[[], Any] | None = None
    per: int = 1
    words_a_cycle: bool = False


def _layer(array, height, *lengths, fraction=None):
    width = ARRAYS[array][2]
    rng, half = np.random.default_rng(height), 1 << width - 1
    return Layer(
        [rng.integers(-half, half, (height, n)) for n in lengths],
        rng.integers(-half, half, height),
        fraction=width // 2 if fraction is None else fraction,
        width=width,
    )


def _gemv(array, height, *lengths, formula, title, fraction=None):
    params, layer = params_of(array), _layer(array, height, *lengths, fraction=fraction)
    rng, half = np.random.default_rng(7), 1 << layer.width - 1
    given = tuple(rng.integers(-half, half, n) for n in lengths)
    tiles, places = Tiles(layer, params), registers_of_layers([layer], params)
    assert places is not None  # every array here holds its layer
    vectors, [(weights, bias)] = places

    def loader():
        program = loader_template(layer, params, weights, bias)
        for column in range(tiles.wide):
            tiles.load_vector(program, vectors + column, given, column)
        return program

    def kernel():
        program = ArrayProgram(params, layer.fraction)
        for tile in range(tiles.tall):
            first = weights + tile * tiles.wide
            terms = [(vectors + column, first + column) for column in range(tiles.wide)]
            program.row(terms, 0, 1, bias + tile, overlap=False)
        return program

    return Row(title, array, kernel, formula, 1.07 * formula, loader=loader)


def _words_program(params, words):
    program = ArrayProgram(params, 0)
    program.words = lambda: list(words)
    return program


def _alone(title, array, calls, formula):
    params = params_of(array)

    def kernel(times):
        def make():
            program = ArrayProgram(params, 0)
            for _ in range(times):
                for method, *arguments in calls:
                    program.call(method, *arguments)
            return program

        return make

    return Row(title, array, kernel(6), formula, 1.07 * formula, without=kernel(2), per=4)


def instruction_rows(array: str) -> Iterator[Row]:
    """Rows for every multi-cycle instruction and for one single-cycle instruction."""
    params = params_of(array)
    width = params["reg_width"]
    fields = {
        "mv_updatepp": {"ppreg": 0, "multiplicand": 2, "multiplier": 3, "bitNo": width // 2},
        "mv_blockFold": {"fold": 2, "rd": 0, "rs": 1},
        "mv_add": {"rd": 0, "rs1": 1, "rs2": 2},
        "mv_sub": {"rd": 0, "rs1": 1, "rs2": 2},
        "mv_mov": {"rd": 0, "rs": 1},
        "mv_movOffset": {"offset": 3 % width, "rd": 0, "rs": 2},
        "mv_clrmbit": {},
        "mv_write": {"addr": 3, "data": 5},
    }
    entries = [
        (name, fields[name], 0)
        for name in (*MULTI_CYCLE, "mv_write", "mv_clrmbit")
        if name != "mv_accumRow"
    ]
    entries += [
        ("mv_accumRow", {"level": level, "reg": 0}, level)
        for level in range(max(1, levels(params["cols"])))
    ]
    for name, values, level in entries:
        word, formula = ISA.encode(name, **values), cycles.instruction(name, width, level)
        times = 8 if formula > 1 else 200

        def repeated(count, word=word):
            return lambda: _words_program(params, [word] * count)

        yield Row(
            f"{name}{f', level {level}' if name == 'mv_accumRow' else ''}",
            array,
            repeated(3 * times),
            formula,
            formula + 2 if formula > 1 else 1.1,
            without=repeated(times),
            per=2 * times,
        )


def _loader(array):
    params = params_of(array)
    rows, cols = params["rows"], params["cols"]

    def kernel():
        program = ArrayProgram(params, 0)
        program.load(
            "mv_LOADMAT", 0, np.where(np.arange(rows * cols * 16) % 2, -1, 1).reshape(rows, -1)
        )
        return program

    words = len(kernel().words())
    return Row(
        f"loader, dense {rows} x {16 * cols} matrix, {words} words",
        array,
        kernel,
        words,
        words / 0.9,
        words_a_cycle=True,
    )


ROWS = (
    _gemv("4x2", 4, 32, formula=732, title="worked job's kernel", fraction=4),
    _gemv("8x2", 8, 32, formula=736, title="GEMV + bias 8 x 32"),
    _gemv("16x3", 16, 48, formula=768, title="GEMV + bias 16 x 48"),
    _gemv("16x4", 16, 64, formula=768, title="GEMV + bias 16 x 64"),
    _gemv("48x4", 48, 64, formula=800, title="GEMV + bias 48 x 64"),
    _gemv("16x16", 16, 256, formula=824, title="GEMV + bias 16 x 256, four levels"),
    _gemv("16x4n8", 16, 64, formula=288, title="GEMV + bias 16 x 64, N = 8, Q4.4"),
    _gemv("16x4n4", 16, 64, formula=144, title="GEMV + bias 16 x 64, N = 4, Q4.0", fraction=0),
    _alone("ALLACCUM alone, C = 6", "4x6", (("mv_ALLACCUM", 1, 0),), 157),
    _alone("MULT", "16x4", (("mv_MULT", 0, 2, 3),), 561),
    _alone("MULT, N = 8", "16x4n8", (("mv_MULT", 0, 2, 3),), 153),
    _alone("MULT, N = 4", "16x4n4", (("mv_MULT", 0, 2, 3),), 45),
    _gemv("16x3", 16, 48, 48, formula=1383, title="recurrent step W x + U h + b, 16 x 48 each"),
    _gemv("16x4", 128, 256, formula=20_912, title="tiled GEMV + bias 128 x 256"),
    _gemv("48x4", 128, 256, formula=7_938, title="tiled GEMV + bias 128 x 256"),
    _gemv("16x4", 64, 64, formula=3_076, title="perceptron 64-64-10, first layer's kernels"),
    _gemv("16x4", 10, 64, formula=769, title="perceptron 64-64-10, second layer's kernel"),
    _loader("16x3"),
)
