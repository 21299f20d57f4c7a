# SPDX-License-Identifier: BSD-2-Clause
"""A small language model, character by character: ``text.onnx``, whose keys and values are states,
and ``text.npz``, characters to calibrate a quantiser with.

:mod:`.training` makes both from any text, :mod:`.network` has the arithmetic, :mod:`.model` writes
the ONNX model. ``SOURCE.md`` says which text the shipped one is of. ``quintet generate`` prints
what it writes.
"""

from pathlib import Path

import numpy as np

__all__ = ["FOLDER", "one_hot"]

FOLDER = Path(__file__).resolve().parent


def one_hot(numbers: np.ndarray, characters: int) -> np.ndarray:
    """Inputs of the model for the ``numbers`` [count] of characters: float32 [count,
    characters]."""
    found = np.zeros((len(numbers), characters), np.float32)
    found[np.arange(len(numbers)), numbers] = 1
    return found
