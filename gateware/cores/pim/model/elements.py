# SPDX-License-Identifier: BSD-2-Clause
"""Elements of any width in local memory, and the vector instructions on them, in numpy integers
(section 4.3)."""

import numpy as np

from ..image.fields import AUTO
from ..tables import TANH

__all__ = [
    "ELEMENTWISE",
    "average",
    "bytes_of",
    "gather",
    "inner_product",
    "load",
    "saturate",
    "store",
]

_TANH = np.array([*TANH, TANH[-1]], dtype=np.int64)
_BYTES3 = np.array([1, 1 << 8, 1 << 16], dtype=np.int64)


def formats(fi: int, fo: int, ibiw: int, obiw: int) -> tuple[int, int]:
    """Fraction bits of input and output, with ``auto`` resolved by the widths."""
    return max(ibiw - 4, 0) if fi == AUTO else fi, obiw - 1 if fo == AUTO else fo


def bytes_of(biw: int) -> int:
    """Size in bytes of an element of ``biw`` bits."""
    return (biw + 7) // 8


def _signed(raw, biw):
    """Converts rows of ``bytes_of(biw)`` bytes, uint8 (n, byw), to int64: the low ``biw`` bits,
    sign-extended."""
    byw = raw.shape[1]
    if byw == 3:
        value = raw.astype(np.int64) @ _BYTES3
    else:
        value = np.ascontiguousarray(raw).view(f"<u{byw}").ravel().astype(np.int64)
    return value << 64 - biw >> 64 - biw


def load(memory: np.ndarray, address: int, count: int, biw: int) -> np.ndarray:
    """Loads ``count`` elements at ``address``, int64."""
    byw = bytes_of(biw)
    return _signed(memory[address : address + count * byw].reshape(count, byw), biw)


def gather(memory: np.ndarray, address: int, stride: int, count: int, biw: int) -> np.ndarray:
    """Loads ``count`` elements from ``address`` on, ``stride`` elements apart, int64."""
    byw = bytes_of(biw)
    places = address + np.arange(count, dtype=np.int64) * (stride * byw)
    return _signed(memory[places[:, None] + np.arange(byw)], biw)


def store(memory: np.ndarray, address: int, values: np.ndarray, biw: int) -> None:
    """Stores int64 ``values``, all within the range of ``biw`` bits."""
    byw = bytes_of(biw)
    raw = np.ascontiguousarray(values, dtype="<i8").view(np.uint8).reshape(-1, 8)[:, :byw]
    memory[address : address + raw.size] = raw.ravel()


def saturate(values: np.ndarray, biw: int) -> np.ndarray:
    """Clamps values to signed elements of ``biw`` bits."""
    return np.clip(values, -(1 << biw - 1), (1 << biw - 1) - 1)


def inner_product(a: np.ndarray, b: np.ndarray, obiw: int) -> np.ndarray:
    """Saturated inner product, exact modulo 2^64."""
    with np.errstate(over="ignore"):
        return saturate(np.array([np.sum(a * b)], dtype=np.int64), obiw)


def average(a: np.ndarray, obiw: int) -> np.ndarray:
    """Saturated mean, rounded to nearest, halves away from zero."""
    total, count = int(a.sum()), len(a)
    mean = (2 * abs(total) + count) // (2 * count)
    return saturate(np.array([-mean if total < 0 else mean], dtype=np.int64), obiw)


def _shift(values, count):
    return values << count if count >= 0 else values >> -count


def _tanh(u):
    """Table lookup of 65536 * tanh(u / 65536), u >= 0."""
    index = np.minimum(u >> 10, 512)
    fine = np.where(u >> 19, 0, u & 1023)
    return _TANH[index] + ((_TANH[index + 1] - _TANH[index]) * fine + 512 >> 10)


def _vtanh(a, fi, fo):
    t = _tanh(_shift(np.abs(a), 16 - fi))
    m = t << fo - 16 if fo >= 16 else t + (1 << 15 - fo) >> 16 - fo
    return np.where(a < 0, -m, m)


def _vsigm(a, fi, fo):
    t = _tanh(_shift(np.abs(a), 15 - fi))
    return (65536 + np.where(a < 0, -t, t) << fo) + 65536 >> 17


def _vvsll(a, b, ibiw, obiw):
    count = b & (1 << ibiw) - 1
    value = np.where(count < obiw, a << np.minimum(count, 31), 0)
    return value << 64 - obiw >> 64 - obiw


def _vvsra(a, b, ibiw):
    return a >> np.minimum(b & (1 << ibiw) - 1, 63)


class Widths:
    """Element widths of an element-wise instruction."""

    def __init__(self, ibiw: int, obiw: int, fi: int, fo: int, bound: int = 0) -> None:
        self.ibiw, self.obiw, self.bound = ibiw, obiw, bound
        self.fi, self.fo = formats(fi, fo, ibiw, obiw)


#: Opcode -> (the result's width is ibiw, function of (a, b, widths) to int64, saturated
#: afterwards).
ELEMENTWISE = {
    10: (True, lambda a, b, w: a + b),
    11: (True, lambda a, b, w: a - b),
    12: (False, lambda a, b, w: a * b),
    14: (True, lambda a, b, w: np.maximum(a, b)),
    15: (False, lambda a, b, w: _vvsll(a, b, w.ibiw, w.obiw)),
    16: (False, lambda a, b, w: _vvsra(a, b, w.ibiw)),
    18: (True, lambda a, b, w: np.maximum(a, 0)),
    19: (False, lambda a, b, w: _vtanh(a, w.fi, w.fo)),
    20: (False, lambda a, b, w: _vsigm(a, w.fi, w.fo)),
    23: (False, lambda a, b, w: np.minimum(a, w.bound)),
    24: (False, lambda a, b, w: np.maximum(a, w.bound)),
}
