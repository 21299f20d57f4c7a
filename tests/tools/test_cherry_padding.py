# SPDX-License-Identifier: BSD-2-Clause
"""Cherry's kernels where rows and columns are no whole tiles: what lies in the padding changes no
result."""

import inspect

import numpy as np
import pytest

from quintet.tools.kernels.cherry import KernelError, Module
from quintet.tools.kernels.cherry.module import Matrix
from quintet.tools.kernels.cherry.padding import LOWEST, ZERO
from tests.support.shares import shares
from tests.tools.cherry_modules import module, run
from tests.tools.cherry_operations import OPERATIONS, Bench

ALL = [(label, make) for operations in OPERATIONS.values() for label, make in operations]
#: What a module has besides kernels.
OTHERS = {
    "matrix",
    "constant",
    "input",
    "output",
    "stored",
    "stored_input",
    "program",
    "holding",
    "access",
    "source",
    "end",
    "special",
}


def test_every_kernel_is_tried():
    """A kernel that is added to the library needs its operations in ``OPERATIONS``."""
    public = {name for name, _ in inspect.getmembers(Module) if not name.startswith("_")}
    assert public - OTHERS == set(OPERATIONS)


def test_a_program_says_what_it_reads_and_leaves():
    for given in ({}, {"reads": ()}, {"writes": ()}):
        with pytest.raises(TypeError, match="keyword-only"):
            module().program(**given)


@shares
@pytest.mark.parametrize("rows", range(1, 10))
def test_kernels_of_every_width(rows, share):
    compared = 0
    # Each number of columns with a third of the numbers of rows, or with all of them.
    widths = range(1, 10) if share == 1 else range(1 + rows % 3, 10, 3)
    for cols in widths:
        b = Bench(10 * rows + cols)
        for label, make in ALL:
            x, _ = b.input(*((4, 6 * (rows + 2)) if label == "convolution" else (rows, cols)))
            result, reference = make(b, x)
            b.expect(f"{label}, {rows}x{cols}", result, reference, b.kept(x))
        compared += b.check()
    assert compared > len(widths) * rows * 100


def pairs(label, make, rows, cols):
    """Runs an operation with every other one behind it; each pair has matrices of its own."""
    b = Bench(rows + cols)
    for following, second in ALL:
        x, _ = b.input(rows, cols)
        made = make(b, x)
        after = made and second(b, made[0])
        if after:
            between = b.expect(label, made[0], made[1], b.kept(x))
            b.expect(f"{following} after {label}, {rows}x{cols}", after[0], after[1], between)
    return b.check() if b.expected else None


@pytest.mark.parametrize("label, make", ALL, ids=[label for label, _ in ALL])
def test_every_operation_behind_every_other(label, make):
    assert pairs(label, make, *((4, 18) if label == "convolution" else (5, 6)))


def test_padding_that_is_known_is_not_filled_again():
    """Whole tiles and padding that holds what is needed cost nothing: no line but those of matrices
    as they are made."""
    m = module()
    x, w = m.input("x", 8, 12), m.input("w", 12, 4)
    m.reduce("max", m.softmax(m.matmul(x, w)), 0)
    assert not any(step.lines for step in m._steps)
    x = m.input("y", 5, 6)
    for _ in range(2):
        m.matmul(x.transposed, m.unary("relu", x))
        m.reduce("sum", x, 1)
    assert not any(step.lines for step in m._steps)
    m.reduce("max", x, 1)
    m.reduce("max", x, 0)
    assert len(m._steps[-2].lines) == 2 and not m._steps[-1].lines


def test_what_operations_leave_in_the_padding():
    m = module()
    x, row = m.input("x", 5, 6), m.input("row", 1, 6)
    one = m.constant("1.0")
    assert x.padding == x.transposed.padding == ZERO and m.matrix(5, 6, "-inf").padding == LOWEST
    assert m.binary("add", x, x).padding == ZERO and m.unary("exp", x).padding == 0x0FE00
    assert m.unary("log", x).padding == LOWEST
    assert m.binary("sub", one, x).padding == m.copy(one.broadcast(5, 6)).padding == 0x0FE00
    # The row goes on below, and below alone.
    assert (
        m.binary("add", x, row).padding is None
        and m.binary("add", m.input("tall", 8, 6), row).padding == ZERO
    )
    assert m.matmul(x, m.input("w", 6, 4)).padding is None
    assert m.reduce("sum", x, 0).padding == ZERO and m.reduce("max", x, 0).padding is None


def test_a_view_without_padding_of_its_own_is_refused():
    m = module()
    row, column, w = m.input("row", 1, 8), m.input("column", 6, 1), m.input("w", 5, 3)
    for a, b in (
        (row.transposed.broadcast(8, 5), w),
        (w.transposed, row.broadcast(5, 8)),
        (row.transposed.broadcast(8, 3), w.transposed),
    ):
        with pytest.raises(
            KernelError, match="a repeated matrix of .* has no padding of its own; copy it first"
        ):
            m.matmul(a, b)
    # Repeated along whole tiles alone: what lies beside it once is filled.
    powers = m.unary("exp", m.input("short", 1, 6)).broadcast(4, 6)
    m.output("z", m.matmul(powers, powers.transposed))
    # Along whole tiles nothing is asked for.
    m.output("y", m.matmul(column.broadcast(6, 4), row.broadcast(4, 8)))
    left, right = np.arange(6.0)[:, None], np.arange(8.0)[None]
    found = run(m, {"row": right, "column": left, "w": np.zeros((5, 3)), "short": np.zeros((1, 6))})
    assert (found["y"] == 4 * left * right).all() and (found["z"] == 6).all()


def test_a_matrix_that_was_placed_by_hand_is_filled_where_it_lies():
    m = module()
    x = m.unary("exp", m.input("x", 5, 6), Matrix(m.elements - 96, 5, 6, 12))
    m.output("sums", m.reduce("sum", x.transposed, 0))
    assert np.allclose(run(m, {"x": np.zeros((5, 6))})["sums"], 6)
