# SPDX-License-Identifier: BSD-2-Clause
"""Cherry's kernels on matrices in main memory, which are worked on block by block: equal to the bit
to the same operation in the scratchpad."""

import numpy as np
import pytest

from quintet.tools.jobs.reading import read_job
from quintet.tools.kernels.cherry import KernelError, write_job
from quintet.tools.kernels.cherry.stored import from_array, to_array
from tests.tools import cherry_modules
from tests.tools.cherry_modules import run

RNG = np.random.default_rng(11)


def module(log_mem=11):
    return cherry_modules.module(log_mem, contexts=4)


def product(rows, inner, cols, fmt, turn, arrays, log_mem):
    """The product's result from main memory (``log_mem`` of a small scratchpad), or in a scratchpad
    that holds all (``log_mem`` 17)."""
    m = module(log_mem)
    make = m.stored_input if log_mem < 17 else m.input
    shapes = {"a": (rows, inner), "b": (inner, cols)}
    factors = {}
    for name, shape in shapes.items():
        found = make(name, *(shape[::-1] if name in turn else shape), fmt)
        factors[name] = found.transposed if name in turn else found
    m.output("c", m.matmul(factors["a"], factors["b"]), *(("fp32",) if log_mem == 17 else ()))
    return run(m, {name: arrays[name].T if name in turn else arrays[name] for name in shapes})[
        "c"
    ], m


@pytest.mark.parametrize(
    "rows, inner, cols", [(40, 48, 36), (37, 50, 22), (5, 70, 3), (16, 16, 64), (1, 1, 1)]
)
@pytest.mark.parametrize("turn", ["", "a", "b", "ab"])
def test_products_do_not_depend_on_the_cut(rows, inner, cols, turn):
    arrays = {"a": RNG.normal(size=(rows, inner)), "b": RNG.normal(size=(inner, cols))}
    got, m = product(rows, inner, cols, "fp32", turn, arrays, 10)
    expected, _ = product(rows, inner, cols, "fp32", turn, arrays, 17)
    assert (got == expected).all()
    if rows > 30:
        assert len(m._steps) > 4 and any(step.prefetch and step.defer for step in m._steps)


@pytest.mark.parametrize("fmt", ["bf16", "packed"])
@pytest.mark.parametrize("rows, inner, cols", [(32, 48, 64), (35, 41, 33)])
def test_products_in_other_formats(fmt, rows, inner, cols):
    # Operands that every format holds exactly: eight bits of significand.
    arrays = {
        "a": RNG.integers(-100, 100, size=(rows, inner)).astype(float),
        "b": RNG.integers(-100, 100, size=(inner, cols)).astype(float),
    }
    got, _ = product(rows, inner, cols, fmt, "", arrays, 12)
    expected, _ = product(rows, inner, cols, "fp32", "", arrays, 17)
    assert (got == to_array(from_array(expected, fmt), cols, fmt)).all()


def test_sums_are_added_to_what_is_there():
    a, b, c = (RNG.integers(-3, 4, size=s).astype(float) for s in ((24, 40), (40, 28), (24, 28)))
    m = module(10)
    left, right = m.stored_input("a", 24, 40), m.stored_input("b", 40, 28)
    m.output("c", m.matmul(left, right, m.stored_input("c", 24, 28), accumulate=True))
    assert (run(m, {"a": a, "b": b, "c": c})["c"] == a @ b + c).all()


@pytest.mark.parametrize("fmt", ["fp32", "bf16", "packed"])
@pytest.mark.parametrize("shape", [(45, 50), (1, 50), (45, 1), (1, 1)])
def test_operations_element_by_element(fmt, shape):
    x, y = (
        RNG.integers(-60, 60, size=(45, 50)).astype(float),
        RNG.integers(-60, 60, size=shape).astype(float),
    )
    m = module(10 if fmt != "packed" else 12)
    m.output(
        "z", m.binary("add", m.stored_input("x", 45, 50, fmt), m.stored_input("y", *shape, fmt))
    )
    assert (run(m, {"x": x, "y": y})["z"] == x + y).all()
    assert len(m._steps) > 1


def test_matrices_of_both_kinds():
    """In place, with a row and a constant from the scratchpad; matrices made afterwards are filled
    when their turn comes."""
    x, row, late = (
        RNG.integers(-60, 60, size=s).astype(float) for s in ((45, 50), (1, 50), (6, 10))
    )
    m = module(10)
    there, line = m.stored_input("x", 45, 50), m.input("row", 1, 50)
    m.binary("mul", m.binary("add", there, line, there), m.constant("0.5"), there)
    turned = m.copy(there.transposed)
    m.output("x", there), m.output("turned", turned)
    m.output("sum", m.reduce("sum", m.input("late", 6, 10), 0))
    found = run(m, {"x": x, "row": row, "late": late})
    assert (found["x"] == (x + row) / 2).all() and (found["turned"] == found["x"].T).all()
    assert (found["sum"] == late.sum(0, keepdims=True)).all()


def test_what_is_refused():
    m = module(10)
    a, b, square = m.stored_input("a", 20, 30), m.stored_input("b", 30, 20), m.stored(8, 8)
    with pytest.raises(KernelError, match="inner sizes"):
        m.matmul(a, a)
    with pytest.raises(KernelError, match="or none"):
        m.matmul(a, m.matrix(30, 4))
    with pytest.raises(KernelError, match="place of a factor"):
        m.matmul(square, m.stored(8, 8), square)
    with pytest.raises(KernelError, match="lies there too"):
        m.copy(b, m.matrix(4, 4))
    with pytest.raises(KernelError, match="does not fit"):
        m.copy(b, m.stored(20, 30))
    with pytest.raises(KernelError, match="transposed"):
        m.copy(b, m.stored(20, 30).transposed)
    with pytest.raises(KernelError, match="in place"):
        m.copy(square.transposed, square)
    with pytest.raises(KernelError, match="repeated"):
        m.binary("add", a, m.stored(3, 30))
    with pytest.raises(KernelError, match="'raw'"):
        m.stored(4, 4, "raw")
    with pytest.raises(KernelError, match="no elements"):
        m.stored(0, 4)
    with pytest.raises(KernelError, match="too few"):
        m.matrix(28, 28), m.matrix(4, 4)
        m.matmul(a, b)


def test_a_job(tmp_path):
    m = module(12)
    a, b = m.stored_input("a", 20, 33, "bf16"), m.stored_input("b", 33, 20, "packed")
    m.output("c", m.matmul(a, b, m.stored(20, 20, "bf16")))
    arrays = {"a": RNG.integers(-9, 9, size=(20, 33)), "b": RNG.integers(-9, 9, size=(33, 20))}
    job = read_job(write_job(m, arrays, tmp_path, "big"))
    assert np.load(tmp_path / "big_a.npy").dtype == np.uint32 and np.load(
        tmp_path / "big_b.npy"
    ).shape == (33, 12)
    assert job is not None
