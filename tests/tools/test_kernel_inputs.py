# SPDX-License-Identifier: BSD-2-Clause
"""Arrays given to code generators: taken whole, or refused by the first value that the machine
cannot hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from quintet.tools.compiler.common.inputs import (
    KernelError,
    check_name,
    check_whole,
    integers,
)

TYPES = st.sampled_from(["int8", "uint8", "int16", "int64", "uint64", "float32", "float64"])


@given(st.data(), st.sampled_from((4, 8, 16)), st.booleans())
def test_taken_whole_or_refused(data, bits, floats):
    array = data.draw(
        hnp.arrays(data.draw(TYPES), data.draw(hnp.array_shapes(max_dims=3, max_side=3)))
    )
    half = 1 << bits - 1
    flat = [(index, value) for index, value in np.ndenumerate(array)]
    bad = next(
        (
            index
            for index, v in flat
            if not np.isfinite(v) or int(v) != v or not -half <= int(v) < half
        ),
        None,
    )
    kind = floats or array.dtype.kind in "iu"
    if kind and bad is None:
        found = integers("x", array, array.shape, bits, floats=floats)
        assert found.dtype == np.int64 and (found == array).all()
        return
    with pytest.raises(KernelError) as error:
        integers("x", array, array.shape, bits, floats=floats)
    if kind:
        assert (
            str(error.value)
            == f"x{list(bad)} is {array[bad]}, expected an integer from {-half} to {half - 1}"
        )
    else:
        assert (
            str(error.value)
            == f"x: {array.dtype} {list(array.shape)}, expected integers {list(array.shape)}"
        )


@pytest.mark.parametrize(
    "values, message",
    [
        (5, "x: int64 [], expected integers [2, rows]"),
        (None, "x: object [], expected integers [2, rows]"),
        ("ab", "x: <U2 [], expected integers [2, rows]"),
        ([], "x: float64 [0], expected integers [2, rows]"),
        ([[], []], "x: float64 [2, 0], expected integers [2, rows]"),
        ([[1]], "x: int64 [1, 1], expected integers [2, rows]"),
        ([[1, 2], [3]], "x: rows of several lengths, expected integers [2, rows]"),
        ([[1], [True]], None),
        ([[False], [True]], "x: bool [2, 1], expected integers [2, rows]"),
        ([[1j], [0]], "x: complex128 [2, 1], expected integers [2, rows]"),
        (
            [[1], [1 << 70]],
            "x[1, 0] is 1180591620717411303424, expected an integer from -128 to 127",
        ),
        ([[1], [None]], "x[1, 0] is None, expected an integer from -128 to 127"),
        ([["1"], ["2"]], "x: <U1 [2, 1], expected integers [2, rows]"),
        ([[1], [-0.25]], "x[1, 0] is -0.25, expected an integer from -128 to 127"),
        ([[1.0], [float("inf")]], "x[1, 0] is inf, expected an integer from -128 to 127"),
    ],
)
def test_what_is_no_array_of_integers(values, message):
    if message is None:
        assert integers("x", values, (2, "rows"), 8).tolist() == [[1], [1]]
        return
    with pytest.raises(KernelError) as error:
        integers("x", values, (2, "rows"), 8)
    assert str(error.value) == message


def test_python_integers_in_objects():
    assert integers("x", np.array([1, -128], object), (2,), 8).tolist() == [1, -128]


@pytest.mark.parametrize("value", (0, 10, 5.0, "5", None, True))
def test_whole_numbers_refused(value):
    with pytest.raises(KernelError) as error:
        check_whole("n", value, 1, 9)
    assert str(error.value) == f"n is {value!r}, expected an integer from 1 to 9"


def test_whole_numbers():
    assert check_whole("n", np.int16(5), 1, 9) == check_whole("n", 5, 1) == 5
    with pytest.raises(KernelError, match="^n is 0, expected an integer of at least 1$"):
        check_whole("n", 0, 1)


def test_names():
    check_name("layer", "conv2d-3.x+y")
    for name in ("", "a b", "a/b", "a\n", ".x", "-x", None):
        with pytest.raises(
            KernelError,
            match=(
                "^layer .*: the name must be of letters, digits and _ . [+] - alone, and begin with"
            ),
        ):
            check_name("layer", name)
