# SPDX-License-Identifier: BSD-2-Clause
"""Layouts whose first block of digits begins before the tensor."""

import numpy as np
import pytest

from quintet.tools.compiler.layout import Digit, Layout


def _blocks(phase=(0, 1, 3)):
    """Rows in blocks of 2, columns in blocks of 4, a block of 8 elements every 16 bytes."""
    digits = (Digit(0, 2, 100), Digit(1, 3, 48), Digit(1, 2, 4), Digit(2, 3, 16), Digit(2, 4, 1))
    return Layout(200, (2, 5, 7), "int8", digits, phase)


def test_elements_are_counted_from_the_phase():
    layout = _blocks()
    offsets = layout.offsets()
    for row in range(5):
        for column in range(7):
            r, c = row + 1, column + 3
            assert offsets[1, row, column] == 100 + r // 2 * 48 + r % 2 * 4 + c // 4 * 16 + c % 4
    memory = np.full(500, 99, np.uint8)
    values = np.random.default_rng(0).integers(-128, 128, (2, 5, 7))
    layout.write(memory, values)
    assert np.array_equal(layout.read(memory), values) and (memory == 99).sum() >= 500 - values.size
    assert layout.first == 200 + 4 + 3 and Layout.of_dict(layout.as_dict()) == layout


def test_without_a_phase_as_before():
    assert np.array_equal(_blocks(()).offsets(), _blocks((0, 0, 0)).offsets())
    old = {key: value for key, value in _blocks(()).as_dict().items() if key != "phase"}
    assert Layout.of_dict(old) == _blocks(())


def test_digits_that_do_not_reach_from_the_phase():
    with pytest.raises(ValueError, match="axis 1 has 5 elements from 2, its digits reach 6"):
        _blocks((0, 2, 0))
