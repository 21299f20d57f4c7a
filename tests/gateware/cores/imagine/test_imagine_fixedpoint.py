# SPDX-License-Identifier: BSD-2-Clause
"""Numbers to bits: scaling, truncation toward zero, the three modes of overflow, what is
refused."""

import numpy as np
import pytest

from quintet.gateware.cores.imagine.asm.assembler import IMAGineAsm, IMAGineError
from quintet.gateware.cores.imagine.asm.fixedpoint import (
    OVERFLOWS,
    matrix_rows,
    to_fixed,
    vector_of,
    words_of,
)
from quintet.gateware.cores.imagine.asm.target import Target


def fixed(values, overflow="wrap", *, width=16, frac=5, warned=None):
    target = Target(regWidth=width, fracWidth=frac)
    return to_fixed(
        "vector",
        vector_of("vector", values),
        target,
        overflow,
        (warned or []).append if warned is None else warned.append,
    ).tolist()


def test_truncation_toward_zero():
    assert fixed([0.1, -0.1, 1023.97, -1024, 0.03125, -0.03, 0.03, 1.5, -1.99]) == [
        3,
        -3,
        32767,
        -32768,
        1,
        0,
        0,
        48,
        -63,
    ]


@pytest.mark.parametrize("dtype", (np.float16, np.float32, np.float64, np.int8, np.int64, np.uint8))
def test_types(dtype):
    assert fixed(np.array([3, 7, 100], dtype)) == [96, 224, 3200]


def test_other_numbers():
    assert (
        fixed([True, 2]) == [32, 64]
        and fixed((1, 2.5)) == [32, 80]
        and fixed([]) == []
        and fixed(np.zeros(0)) == []
    )
    assert fixed(np.array([0.1], np.float32), frac=16) == [6553]


@pytest.mark.parametrize(
    "overflow, wanted",
    [("wrap", [-32768, 32736, -8192, 5]), ("saturate", [32767, -32768, 32767, 5])],
)
def test_overflow(overflow, wanted):
    warned = []
    assert fixed([1024, -1025, 1792, 0.17], overflow, warned=warned) == wanted
    assert warned == (
        ["vector = 1024.0 does not fit regWidth = 16, fracWidth = 5: it wraps (3 of 4 values)"]
        if overflow == "wrap"
        else []
    )


def test_overflow_refused():
    with pytest.raises(IMAGineError) as error:
        fixed([0, 128], "raise", width=8, frac=0)
    assert (
        str(error.value) == "vector = 128, expected -128.0 to 127.0 (regWidth = 8, fracWidth = 0)"
    )


def test_overflow_of_the_class():
    assert OVERFLOWS == ("wrap", "raise", "saturate")
    words = {}
    for mode in OVERFLOWS[::2]:
        asm = IMAGineAsm(overflow=mode, warn=lambda text: None)
        asm.setupParams(regWidth=4)
        asm.mv_LOADVEC_ROW(0, [9])
        words[mode] = asm.words()[5:]
    assert words == {
        "wrap": [0x18000000, 0x04000001, 0x04030001],
        "saturate": [0x18000000, 0x04000001, 0x04010001, 0x04020001],
    }


@pytest.mark.parametrize(
    "values, message",
    [
        ([1, float("nan")], "vector = nan, expected finite numbers"),
        ([float("-inf")], "vector = -inf, expected finite numbers"),
        (
            [2.0**58],
            "vector = 2.8823037615171174e+17, expected less than 2**63 after scaling by 2**5",
        ),
        ([1 << 58], f"vector = {1 << 58}, expected less than 2**63 after scaling by 2**5"),
        ([1 << 80], f"vector = {1 << 80}, expected less than 2**63 after scaling by 2**5"),
        ([1, "a"], "vector = [1, 'a'], expected numbers: a list, a tuple or an array"),
        ([1, None], "vector = [1, None], expected numbers: a list, a tuple or an array"),
        ([1j], "vector = [1j], expected numbers: a list, a tuple or an array"),
        ([[1], [2, 3]], "vector = [[1], [2, 3]], expected numbers: a list, a tuple or an array"),
        ([[1, 2]], "vector = [[1, 2]], expected one dimension of numbers"),
        ("abc", "vector = 'abc', expected numbers: a list, a tuple or an array"),
        (5, "vector = 5, expected numbers: a list, a tuple or an array"),
    ],
)
def test_refused(values, message):
    with pytest.raises(IMAGineError) as error:
        fixed(values)
    assert str(error.value) == message


@pytest.mark.parametrize("values", [5, [1, 2], np.zeros(3), np.zeros((1, 2, 3)), "ab"])
def test_refused_matrices(values):
    with pytest.raises(
        IMAGineError,
        match="^matrix = .*, expected rows of numbers: a list of lists, or an array of two dim",
    ):
        matrix_rows("matrix", values)


def test_rows_may_differ():
    assert [row.tolist() for row in matrix_rows("matrix", [[1, 2], (), np.array([3.5])])] == [
        [1, 2],
        [],
        [3.5],
    ]


def test_words_are_bit_planes():
    assert words_of(np.array([1, -1, 2]), 4).tolist() == [[0b011, 0b110, 0b010, 0b010]]
    rng = np.random.default_rng(1)
    values = rng.integers(-128, 128, 40)
    words = words_of(values, 8)
    assert words.shape == (3, 8)
    for k, value in enumerate(values):
        bits = [words[k // 16, b] >> k % 16 & 1 for b in range(8)]
        assert sum(int(bit) << b for b, bit in enumerate(bits)) == value & 0xFF
