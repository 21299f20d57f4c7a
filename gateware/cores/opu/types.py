# SPDX-License-Identifier: BSD-2-Clause
"""Data types of an OPU, and constants that follow from them (specification, section 2.3). Pure
Python.

Model, gateware, assembler and tests take these numbers from here and from nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...isa.parameters import Params

__all__ = ["CHANNELS", "SLOT", "TYPE_SETS", "TypeSet", "type_set"]

#: Elements of a slot: what lies in memory for one position of a feature map.
SLOT = 64
#: Most input channels of one convolution tap.
CHANNELS = 64


@dataclass(frozen=True)
class TypeSet:
    """Type set: widths in bits of ITYPE, KTYPE, BTYPE and OTYPE, all signed, and the sizes that
    follow from them.

    Attributes
    ----------
    ifm, ker, bias, ofm : int
        Widths: 8, 16 or 32.
    name : str
        As the parameter ``types`` has it: ``"8-8-16-16"``.
    """

    ifm: int
    ker: int
    bias: int
    ofm: int

    def __str__(self) -> str:
        return self.name

    @cached_property
    def name(self) -> str:
        """Name of the type set, as in ``8-8-16-16``."""
        return f"{self.ifm}-{self.ker}-{self.bias}-{self.ofm}"

    # Bytes of an element in memory

    @property
    def ifm_bytes(self) -> int:
        """Bytes per element of a feature map, in ``ld.ifm``, ``store`` and ``pad``."""
        return self.ifm // 8

    @property
    def ker_bytes(self) -> int:
        """Bytes per weight."""
        return self.ker // 8

    @property
    def bias_bytes(self) -> int:
        """Bytes per bias element."""
        return self.bias // 8

    # Derived numbers

    @property
    def store_shift(self) -> int:
        """Right shift of ``store``: delta_O - delta_I, positive (8 by default)."""
        return self.ofm - self.ifm

    @property
    def dot_log2(self) -> int:
        """Base-2 logarithm of the bound on abs(S), where S is the dot product over at most 64
        channels; the bound is reached."""
        return self.ifm + self.ker + 4

    @property
    def dot_bits(self) -> int:
        """Number of signed bits that hold every S (22)."""
        return self.ifm + self.ker + 6

    @property
    def term_bits(self) -> int:
        """Number of signed bits to which the shifted S of ``conv`` and ``conv.acc`` is clamped
        before ``ofm`` is added (18)."""
        return self.ofm + 2

    @property
    def left_most(self) -> int:
        """Largest left shift of ``conv`` and ``conv.acc`` that changes the result (18)."""
        return self.ofm + 2

    @property
    def right_most(self) -> int:
        """Greatest right shift of ``conv`` and ``conv.acc`` with a nonzero term; above it the term
        is 0 (21)."""
        return self.ifm + self.ker + 5

    @property
    def fraction_bits(self) -> int:
        """Number of fraction bits F of the sum in ``conv.bias`` (21)."""
        return max(self.ifm + self.ker + 4, self.bias - 1) + 1

    @property
    def left_cap(self) -> int:
        """Greatest left shift D of a term in ``conv.bias``; above it the sum saturates anyway
        (22)."""
        return max(self.ifm + self.ker + 4, self.bias - 1, self.ofm - 1) + 2

    @property
    def ifm_range(self) -> tuple[int, int]:
        """Range of ITYPE: (least, greatest) value."""
        return _range(self.ifm)

    @property
    def ofm_range(self) -> tuple[int, int]:
        """Range of OTYPE: (least, greatest) value."""
        return _range(self.ofm)

    @property
    def cap_types(self) -> int:
        """Value of register ``cap_types``: the four widths, one byte each."""
        return self.ifm | self.ker << 8 | self.bias << 16 | self.ofm << 24


def _range(bits):
    return -(1 << bits - 1), (1 << bits - 1) - 1


#: The supported type sets by name, the default first.
TYPE_SETS = {
    types.name: types
    for types in (TypeSet(8, 8, 16, 16), TypeSet(8, 8, 32, 32), TypeSet(16, 16, 32, 32))
}


def type_set(params: Params | str) -> TypeSet:
    """The :class:`TypeSet` of build parameters (a dict from ``SPACE.resolve``, or a name).

    Raises
    ------
    ValueError
        No such type set.
    """
    name = params if isinstance(params, str) else params["types"]
    if name not in TYPE_SETS:
        raise ValueError(f"types must be one of {', '.join(TYPE_SETS)}, not {name!r}")
    return TYPE_SETS[name]
