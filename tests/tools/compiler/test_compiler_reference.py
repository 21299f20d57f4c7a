# SPDX-License-Identifier: BSD-2-Clause
"""Whole-number operators against loops written from the definitions and against exact fractions."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.tools.compiler import reference as r
from quintet.tools.compiler.graph import Activation, AveragePool, Conv, MaxPool
from quintet.tools.compiler.quantised import Integer


def rounded(value, how):
    """A Fraction as a whole number."""
    down, rest = floor(value), value - floor(value)
    half = Fraction(1, 2)
    return (
        down
        + {
            "floor": False,
            "zero": value < 0 and rest > 0,
            "half_up": rest >= half,
            "half_even": rest > half or (rest == half and down % 2 == 1),
            "half_away": rest > half or (rest == half and value > 0),
        }[how]
    )


@pytest.mark.parametrize("how", r.ROUNDINGS)
def test_shifts_round_as_they_say(how):
    values = np.concatenate([np.arange(-40, 41), [-(2**60), -(2**60) + 1, 2**60 - 1, 2**60]])
    for shift in (0, 1, 2, 3, 10, 61, 70):
        assert r.scale_down(values, shift, how).tolist() == [
            rounded(Fraction(int(v), 2 ** min(shift, 62)), how) for v in values
        ]
    assert r.scale_down(np.arange(-5, 6), -3, how).tolist() == [8 * v for v in range(-5, 6)]


def test_shifts_of_channels_are_their_own():
    assert r.scale_down(np.array([[5, 5, 5], [-5, -5, -5]]), np.array([1, 0, -1])).tolist() == [
        [3, 5, 10],
        [-2, -5, -10],
    ]


def test_an_unknown_rounding_is_refused():
    for call in (
        lambda: r.scale_down(np.array([1]), 1, "up"),
        lambda: r.average_pool(np.zeros((1, 2, 2, 1), int), (2, 2), stride=(1, 1), rounding="up"),
    ):
        with pytest.raises(
            ValueError,
            match="rounding is 'up', expected one of half_up, half_even, half_away, floor, zero",
        ):
            call()


@st.composite
def convolutions(draw):
    groups, inner, each = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    size, stride, dilation = ((draw(st.integers(1, 3)), draw(st.integers(1, 3))) for _ in range(3))
    padding = tuple(draw(st.integers(0, 2)) for _ in range(4))
    random = np.random.default_rng(draw(st.integers(0, 999)))
    bits = draw(st.sampled_from([4, 8, 16, 28]))
    weights = random.integers(-1 << bits - 1, 1 << bits - 1, (groups * each, *size, inner))
    rows, columns = (
        (k - 1) * d + draw(st.integers(1, 4)) for k, d in zip(size, dilation, strict=True)
    )
    node = Conv(
        name="c",
        inputs=["x"],
        output="y",
        weights=weights,
        stride=stride,
        padding=padding,
        dilation=dilation,
        groups=groups,
    )
    return node, random.integers(-1 << bits - 1, 1 << bits - 1, (2, rows, columns, groups * inner))


def loop(node, values):
    """A convolution of one input in Python's integers, which never overflow."""
    (out, high, wide, inner), each = node.weights.shape, len(node.weights) // node.groups
    weights, (top, left, bottom, right) = node.weights.tolist(), node.padding
    rows, columns = (
        (len(side) + pads - reach) // step + 1
        for side, pads, reach, step in zip(
            (values, values[0]), (top + bottom, left + right), node.window, node.stride, strict=True
        )
    )

    def at(y, x, channel):
        return values[y][x][channel] if 0 <= y < len(values) and 0 <= x < len(values[0]) else 0

    return [
        [
            [
                sum(
                    weights[o][i][j][c]
                    * at(
                        y * node.stride[0] + i * node.dilation[0] - top,
                        x * node.stride[1] + j * node.dilation[1] - left,
                        o // each * inner + c,
                    )
                    for i in range(high)
                    for j in range(wide)
                    for c in range(inner)
                )
                for o in range(out)
            ]
            for x in range(columns)
        ]
        for y in range(rows)
    ]


@settings(max_examples=60, deadline=None)
@given(convolutions())
def test_convolutions_are_those_of_exact_integers(drawn):
    node, values = drawn
    sums = r.conv(
        values,
        node.weights,
        stride=node.stride,
        padding=node.padding,
        dilation=node.dilation,
        groups=node.groups,
    )
    assert sums.dtype == np.int64 and sums.tolist() == [loop(node, one.tolist()) for one in values]


@pytest.mark.parametrize("most", [2**7, 2**12, 2**23, 2**26, 2**30])
def test_sums_are_exact_whatever_their_size(most):
    random = np.random.default_rng(most)
    values, weights = random.integers(-most, most, (5, 3, 7)), random.integers(-most, most, (4, 21))
    exact = values.reshape(5, 21).astype(object) @ weights.T.astype(object)
    assert (r.dense(values, weights) == exact).all()
    assert (
        r.dense(values, weights[:, :7], steps=True)
        == values.astype(object) @ weights[:, :7].T.astype(object)
    ).all()


def test_a_window_larger_than_the_map_is_refused():
    with pytest.raises(ValueError, match="a window of 3 x 1 does not fit 2 x 2 positions"):
        r.conv(np.zeros((1, 2, 2, 1), np.int64), np.zeros((1, 3, 1, 1), np.int64))


@pytest.mark.parametrize("how", r.ROUNDINGS)
@pytest.mark.parametrize("include", [True, False])
def test_means_are_rounded_exactly(how, include):
    values = np.random.default_rng(3).integers(-128, 128, (2, 5, 6, 3))
    node = dict(window=(3, 2), stride=(2, 1), padding=(1, 1, 1, 0))
    result = r.average_pool(values, **node, include_padding=include, rounding=how, bits=8)
    sums = AveragePool(name="a", inputs=["x"], output="y", **node).run(values.astype(float)) * 6
    counts = np.rint(
        AveragePool(name="a", inputs=["x"], output="y", **node).run(np.ones((1, 5, 6, 1))) * 6
    )
    for one, total, count in zip(
        result.ravel(),
        np.rint(sums).ravel(),
        np.broadcast_to(counts, sums.shape).ravel(),
        strict=True,
    ):
        assert one == rounded(Fraction(int(total), 6 if include else int(count)), how)


def test_means_by_a_multiplier():
    values = np.full((1, 7, 7, 1), 100)
    assert r.global_average(values, multiplier=84, shift=12).item() == (4900 * 84 + 2048) >> 12
    assert r.global_average(np.full((1, 2, 2, 1), 100), multiplier=2, shift=0, bits=8).item() == 127


def test_largest_of_a_window_ignores_the_padding():
    values = np.random.default_rng(4).integers(-128, 0, (2, 5, 6, 3))
    node = MaxPool(
        name="m",
        inputs=["x"],
        output="y",
        window=(3, 2),
        stride=(2, 2),
        padding=(1, 1, 1, 1),
        dilation=(1, 2),
    )
    assert (
        r.max_pool(
            values, node.window, stride=node.stride, padding=node.padding, dilation=node.dilation
        )
        == node.run(values.astype(float))
    ).all()


def act(function, **attributes):
    return Activation(name="", inputs=[], output="", function=function, **attributes)


def test_activations():
    values = np.array([-300, -5, -4, 0, 7])
    assert r.activate(values, None) is values
    assert r.activate(values, act("relu")).tolist() == [0, 0, 0, 0, 7]
    assert r.activate(values, act("leaky", alpha=0.125)).tolist() == [-37, -1, 0, 0, 7]
    assert r.activate(values, act("clip"), low=-4, high=5).tolist() == [-4, -4, -4, 0, 5]
    assert r.activate(values, act("clip")).tolist() == values.tolist()
    with pytest.raises(
        ValueError, match="slope 0.1 of a leaky relu is no power of two of at most 1"
    ):
        r.activate(values, act("leaky", alpha=0.1))
    with pytest.raises(ValueError, match="no activation of whole numbers: tanh"):
        r.activate(values, act("tanh"))


def test_a_layer_ends_in_the_order_bias_shift_activation_saturation():
    integer = Integer(
        weights=None, bias=np.array([3, -1]), shift=np.array([2, 1]), bias_shift=np.array([2, 0])
    )
    assert r.finish(np.array([[-14, 5], [1000, -1000]]), integer, 8).tolist() == [
        [0, 2],
        [127, -128],
    ]
    assert r.finish(
        np.array([[-18, 5]]), integer, 8, activation=act("relu"), rounding="floor"
    ).tolist() == [[0, 2]]


def test_sums_of_two_tensors():
    a, b = np.array([100, -100, 3]), np.array([100, -100, 2])
    assert r.add(a, b, 8).tolist() == [127, -128, 5]
    assert r.add(a, b, 8, activation=act("relu")).tolist() == [127, 0, 5]
    assert r.add(a, b, 8, multipliers=(3, 1), shift=2).tolist() == [100, -100, 3]
