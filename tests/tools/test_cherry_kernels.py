# SPDX-License-Identifier: BSD-2-Clause
"""Cherry's kernels on the golden model, against numpy in float64 with the error that 10 bits of
significand allow."""

import numpy as np
import pytest

from quintet.tools.kernels.cherry import KernelError, write_job
from tests.tools.cherry_modules import module, rounded, run

RNG = np.random.default_rng(7)
A = RNG.normal(size=(13, 22))
B = RNG.normal(size=(13, 22))


@pytest.mark.parametrize(
    "op, exact", [("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide)]
)
@pytest.mark.parametrize("shape", [(13, 22), (1, 22), (13, 1), (1, 1)])
def test_binary_with_broadcasting(op, exact, shape):
    m = module()
    x, y = m.input("x", 13, 22), m.input("y", *shape)
    m.output("z", m.binary(op, x, y))
    y = B[: shape[0], : shape[1]]
    # One rounding, of the rounded operands: equal to the bit.
    assert (run(m, {"x": A, "y": y})["z"] == rounded(exact(rounded(A), rounded(y)))).all()


@pytest.mark.parametrize(
    "op, exact",
    [
        ("relu", lambda x: np.maximum(x, 0)),
        ("gtz", lambda x: (x > 0) * 1.0),
        ("exp", np.exp),
        ("log", np.log2),
    ],
)
def test_unary_in_place(op, exact):
    m = module()
    x = m.input("x", 13, 22)
    m.output("y", m.unary(op, x, x))
    x = np.abs(A) + 0.1 if op == "log" else A
    np.testing.assert_allclose(run(m, {"x": x})["y"], exact(rounded(x)), rtol=2**-10)


def test_maximum_and_transposed_copy():
    m = module()
    x, y = m.input("x", 13, 22), m.input("y", 13, 22)
    m.output("max", m.maximum(x, y))
    m.output("turned", m.copy(x.transposed))
    found = run(m, {"x": A, "y": B}, shuffle=1)
    np.testing.assert_allclose(found["max"], np.maximum(A, B), atol=2**-7)
    assert (found["turned"] == rounded(A).T).all()


@pytest.mark.parametrize(
    "rows, cols", [(4, 400), (400, 4), (3, 63), (68, 68), (30, 130), (128, 12), (20, 52), (5, 3)]
)
@pytest.mark.parametrize("contexts", [1, 4, 16])
@pytest.mark.parametrize("flip", [False, True])
def test_tiles_in_every_order(rows, cols, contexts, flip):
    """Results are stored a turn late where contexts are well used, and in their own turn where a
    way has a size that no divisor suits."""
    rng = np.random.default_rng(rows)
    x, y = rng.normal(size=(rows, cols)), rng.normal(size=(1, cols))
    m = module(contexts=contexts)
    left = m.input("x", *(x.T if flip else x).shape)
    m.output("z", m.maximum(left.transposed if flip else left, m.input("y", 1, cols)))
    m.output("again", m.unary("gtz", left, left))
    found = run(m, {"x": x.T if flip else x, "y": y}, shuffle=3)
    np.testing.assert_allclose(found["z"], np.maximum(x, y), atol=2**-7)
    assert (found["again"] == ((x.T if flip else x) > 0)).all()


def test_a_chain_of_more_operands_than_half_the_address_units():
    m = module()
    x, y = m.input("x", 8, 64), m.input("y", 8, 64)
    m.output(
        "z",
        m.chain(
            8,
            64,
            [
                ("INPUT", x),
                *[
                    part
                    for _ in range(20)
                    for part in (("WEIGHTS", y), "add", "copy INPUT, OUTPUT")
                ],
            ],
        ),
    )
    ones = np.ones((8, 64))
    assert (run(m, {"x": 3 * ones, "y": ones})["z"] == 23).all()


@pytest.mark.parametrize(
    "rows, inner, cols", [(4, 4, 4), (16, 16, 16), (13, 22, 9), (1, 70, 1), (20, 5, 33)]
)
@pytest.mark.parametrize("turn", ["", "a", "b", "ab"])
@pytest.mark.parametrize("contexts", [4, 16])
def test_products(rows, inner, cols, turn, contexts):
    rng = np.random.default_rng(rows + inner + cols)
    a, b = rng.normal(size=(rows, inner)), rng.normal(size=(inner, cols))
    m = module(contexts=contexts)
    left = m.input("a", *(a.T if "a" in turn else a).shape)
    right = m.input("b", *(b.T if "b" in turn else b).shape)
    m.output(
        "c",
        m.matmul(
            left.transposed if "a" in turn else left, right.transposed if "b" in turn else right
        ),
    )
    got = run(m, {"a": a.T if "a" in turn else a, "b": b.T if "b" in turn else b}, shuffle=2)["c"]
    np.testing.assert_allclose(got, a @ b, atol=2e-2 * np.abs(a @ b).mean() + 0.03)


def test_a_product_of_whole_numbers_is_exact():
    m = module()
    a, b = (RNG.integers(-3, 4, size=s).astype(float) for s in ((12, 20), (20, 8)))
    out = m.matmul(m.input("a", 12, 20), m.input("b", 20, 8))
    m.output(
        "c", m.matmul(m.input("d", 12, 4), m.input("e", 4, 8), out, accumulate=True), fmt="bf16"
    )
    d, e = (RNG.integers(-3, 4, size=s).astype(float) for s in ((12, 4), (4, 8)))
    assert (run(m, {"a": a, "b": b, "d": d, "e": e})["c"] == a @ b + d @ e).all()


@pytest.mark.parametrize("op, exact", [("sum", np.sum), ("max", np.max)])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(13, 22), (64, 64), (4, 4)])
def test_reductions(op, exact, axis, shape):
    x = np.random.default_rng(3).normal(size=shape)
    m = module()
    m.output("y", m.reduce(op, m.input("x", *shape, fill="-inf" if op == "max" else None), axis))
    np.testing.assert_allclose(
        run(m, {"x": x})["y"], exact(x, axis=axis, keepdims=True), atol=0.1 if op == "sum" else 2e-3
    )


def test_convolution():
    rng = np.random.default_rng(5)
    x, w = rng.normal(size=(8, 6, 8)), rng.normal(size=(3, 3, 8, 12)) / 8
    m = module(contexts=8)
    planes = m.input("x", 8, 8 * 10)
    taps = m.input("w", 72, 12)
    m.output("y", m.conv3x3(planes, taps, 8, 6, 8, 12))
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    want = sum(
        np.einsum("chw,cf->fhw", padded[:, i : i + 6, j : j + 8], w[i, j])
        for i in range(3)
        for j in range(3)
    )
    got = run(m, {"x": padded.reshape(8, -1), "w": w.reshape(72, 12)}, shuffle=1)["y"]
    np.testing.assert_allclose(got, want.reshape(12, -1), atol=0.02)


@pytest.mark.parametrize("shape", [(64, 64), (5, 10), (3, 30)])
def test_softmax(shape):
    x = np.random.default_rng(9).normal(size=shape) * 3
    m = module()
    m.output("y", m.softmax(m.input("x", *shape, fill="-inf")))
    want = np.exp(x - x.max(1, keepdims=True))
    want /= want.sum(1, keepdims=True)
    assert np.abs(run(m, {"x": x})["y"] - want).max() <= 5e-3


def test_layer_norm():
    rng = np.random.default_rng(10)
    x, gamma, beta = (
        rng.normal(size=(6, 20)) * 2 + 1,
        rng.normal(size=(1, 20)),
        rng.normal(size=(1, 20)),
    )
    m = module()
    m.output(
        "y", m.layer_norm(m.input("x", 6, 20), m.input("gamma", 1, 20), m.input("beta", 1, 20))
    )
    want = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * gamma + beta
    assert np.abs(run(m, {"x": x, "gamma": gamma, "beta": beta})["y"] - want).max() < 0.06


def test_a_job(tmp_path, quintet):
    m = module(contexts=4, log_mem=12)
    m.output("c", m.matmul(m.input("a", 6, 9), m.input("b", 9, 8, fmt="bf16")))
    job = write_job(m, {"a": A[:6, :9], "b": B[:9, :8]}, tmp_path, "product")
    ran = quintet("run", job, "--on", "model", "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    np.testing.assert_allclose(
        np.load(tmp_path / "out" / "product_c.npy"), A[:6, :9] @ B[:9, :8], atol=0.1
    )


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda m: m.matrix(0, 4), "a matrix of 0x4 has no elements"),
        (
            lambda m: m.matrix(300, 300),
            "takes 90600 elements of the scratchpad, 65536 of 65536 are free|takes",
        ),
        (lambda m: m.matmul(m.matrix(4, 5), m.matrix(4, 5)), "4x5 by 4x5: the inner sizes differ"),
        (
            lambda m: m.matmul(m.matrix(4, 5), m.matrix(5, 4), m.matrix(4, 8)),
            "a product of 4x4 does not fit a matrix of 4x8",
        ),
        (
            lambda m: m.matmul(m.matrix(4, 5), m.matrix(5, 4), m.matrix(4, 4).transposed),
            "a matrix that is not transposed",
        ),
        (
            lambda m: m.binary("add", m.matrix(4, 5), m.matrix(3, 5)),
            "a matrix of 3x5 cannot be repeated to 4x5",
        ),
        (
            lambda m: m.binary("xor", m.matrix(4, 5), m.matrix(4, 5)),
            "no binary operation 'xor'; there are add, sub",
        ),
        (lambda m: m.unary("sin", m.matrix(4, 5)), "no unary operation 'sin'"),
        (
            lambda m: m.unary("exp", m.matrix(4, 5), m.matrix(4, 8)),
            "a result of 4x5 does not fit a matrix of 4x8",
        ),
        (lambda m: m.reduce("min", m.matrix(4, 5), 0), "no reduction 'min'"),
        (lambda m: m.reduce("sum", m.matrix(4, 5), 2), "axis must be 0 or 1"),
        (lambda m: m.input("x", 3, 5, fmt="bf16"), "rows of 5 elements in bf16 are no whole words"),
        (lambda m: m.input("x", 3, 5, fmt="fp16"), "arrays are fp32 or bf16, not 'fp16'"),
        (
            lambda m: m.conv3x3(m.matrix(3, 60), m.matrix(27, 4), 3, 4, 8, 4),
            "must be multiples of 4",
        ),
        (
            lambda m: m.conv3x3(m.matrix(4, 60), m.matrix(36, 4), 4, 40, 8, 4),
            "a height of 40 needs as many contexts",
        ),
        (
            lambda m: m.conv3x3(m.matrix(4, 60), m.matrix(36, 4), 4, 5, 8, 4),
            "do not fit a convolution of 4 to 4 channels, 5x8",
        ),
    ],
)
def test_what_cannot_be_built(build, message):
    with pytest.raises(KernelError, match=message):
        build(module())
