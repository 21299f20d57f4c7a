# SPDX-License-Identifier: BSD-2-Clause
"""Bank-conflict logic of a tile access: finds the lanes that share a bank. Only distances matter,
so the result is the same for all contexts of an operation."""

from amaranth import Cat, Module, Signal, Value
from amaranth.hdl import ValueLike
from amaranth.lib import data

__all__ = [
    "DISTANCES",
    "Meetings",
    "followers",
    "lane_mask",
    "lanes",
    "leaders",
    "multiples",
    "unique",
]

#: (rows, columns) from a lane to a later one, of all pairs of the sixteen lanes: 24.
DISTANCES = tuple((dy, dx) for dy in range(4) for dx in range(-3, 4) if dy or dx > 0)


def lanes() -> list[tuple[int, int]]:
    """Coordinates (row, column) of the sixteen lanes, row by row."""
    return [(y, x) for y in range(4) for x in range(4)]


def multiples(stride: Value) -> list[ValueLike]:
    """Multiples 0, 1, 2 and 3 of a stride, modulo 2^18."""
    return [0, stride, (stride << 1)[:18], (stride + (stride << 1))[:18]]


def lane_mask(len_y: Value, len_x: Value) -> Value:
    """Mask of the lanes in the first ``len_y`` rows and ``len_x`` columns."""
    return Cat((y < len_y) & (x < len_x) for y, x in lanes())


def _cancel(a, b, bits):
    """Test for a + b = 0 modulo 2^bits without a carry chain: if the sum is 0, every carry is a ^
    b, and the next one a | b."""
    return (a ^ b) == ((a | b) << 1)[:bits]


class Meetings:
    """Conflict table: for every distance in :data:`DISTANCES`, whether lanes at that distance share
    their bank, and whether they share their address.

    ``same_bank``, ``equal``: lists of expressions in the order of :data:`DISTANCES`, of the
    multiples of both strides (registers). ``log_banks``: at least 1.
    """

    def __init__(self, along: data.View, down: data.View, log_banks: int) -> None:
        self.same_bank: list[Value] = []
        self.equal: list[Value] = []
        for dy, dx in DISTANCES:
            for found, bits in ((self.same_bank, log_banks), (self.equal, 18)):
                found.append(self._meet(along, down, dy, dx, bits))

    @staticmethod
    def _meet(along, down, dy, dx, bits):
        if not dy:
            return along[dx][:bits] == 0
        if not dx:
            return down[dy][:bits] == 0
        if dx < 0:
            return down[dy][:bits] == along[-dx][:bits]
        return _cancel(down[dy][:bits], along[dx][:bits], bits)


def _bit(bits, i, j):
    """Bit of the distance between lanes ``i`` < ``j``."""
    (yi, xi), (yj, xj) = lanes()[i], lanes()[j]
    return bits[DISTANCES.index((yj - yi, xj - xi))]


def leaders(m: Module, pending: Value, same_bank: Value, name: str) -> Signal:
    """First pending lane of every bank, as a 16-bit mask."""
    first = Signal(16, name=f"{name}_first")
    for j in range(16):
        before = [pending[i] & _bit(same_bank, i, j) for i in range(j)]
        m.d.comb += first[j].eq(pending[j] & ~(Cat(before).any() if before else 0))
    return first


def followers(wanted: Value, first: Value, equal: Value) -> Value:
    """Lanes served together with the ``first`` ones, as a 16-bit mask: those of the ``wanted``
    lanes, and those that share the address of one of them."""
    return Cat(
        wanted[i] & Cat(first[i], *(first[j] & _bit(equal, i, j) for j in range(i + 1, 16))).any()
        for i in range(16)
    )


def unique(wanted: Value, equal: list[Value]) -> Value:
    """Last lane of each address among the ``wanted`` ones, as a 16-bit mask: a store writes only
    these."""
    hidden = [Cat(wanted[j] & _bit(equal, i, j) for j in range(i + 1, 16)).any() for i in range(15)]
    return Cat(*(wanted[i] & ~h for i, h in enumerate(hidden)), wanted[15])
