# SPDX-License-Identifier: BSD-2-Clause
"""Structures and arrays in test benches: their bit patterns, without one of Amaranth's constants
for every field; sizes of layouts, computed once; signals of flipped interfaces, found at once.

A layout does not change once it is made, but Amaranth computes its size from its fields whenever
one of them is accessed: half of the processor time of benches that set structures. For a signal of
a flipped interface it looks the name up in four places.
"""

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from amaranth.hdl import Const, ShapeCastable, Signal
from amaranth.lib import data, wiring

__all__ = ["bits", "find_flipped", "from_bits", "keep_sizes"]


def _kept(function: Callable) -> Callable:
    """A method without arguments whose result is kept in its object."""
    name = f"_kept_{function.__name__}"

    def kept(self):
        found = self.__dict__.get(name)
        if found is None:
            found = self.__dict__[name] = function(self)
        return found

    return kept


def keep_sizes() -> None:
    """Has Amaranth's layouts and fields keep their sizes."""
    data.Field.width = property(_kept(data.Field.width.fget))
    for layout in (data.StructLayout, data.UnionLayout, data.ArrayLayout):
        layout.size = property(_kept(layout.size.fget))
    data.Layout.as_shape = _kept(data.Layout.as_shape)


def find_flipped() -> None:
    """Has flipped interfaces give members that are signals without a search."""
    search = wiring.FlippedInterface.__getattr__

    def member(self, name):
        interface = self.__dict__["_FlippedInterface__unflipped"]
        found = getattr(interface, "__dict__", {}).get(name)
        # A class may have a property of that name.
        if type(found) is Signal and not hasattr(type(interface), name):
            return found
        return search(self, name)

    wiring.FlippedInterface.__getattr__ = member


class _Field(NamedTuple):
    """A field of a layout; ``castable`` is its shape unless that is a plain one."""

    offset: int
    mask: int
    castable: Any


class _Known(NamedTuple):
    """A shape, kept so that no other takes its identity, with its layout and its fields; both are
    ``None`` if its constants are not those of a mere layout."""

    shape: Any
    layout: data.Layout | None
    fields: dict[str | int, _Field] | None


_known: dict[int, _Known] = {}


def _know(shape) -> _Known:
    found = _known.get(id(shape))
    if found is None:
        layout = _layout(shape)
        fields = None
        if layout is not None:
            fields = {
                key: _Field(
                    field.offset,
                    (1 << field.width) - 1,
                    field.shape if isinstance(field.shape, ShapeCastable) else None,
                )
                for key, field in layout
            }
        found = _known[id(shape)] = _Known(shape, layout, fields)
    return found


def _layout(shape):
    """The layout that a shape is; that of a structure's class if it has neither initial values nor
    conversions of its own."""
    if type(shape) in (data.StructLayout, data.ArrayLayout):
        return shape
    if type(shape) is data._AggregateMeta and not shape._AggregateMeta__default:
        own = any("const" in vars(cls) or "from_bits" in vars(cls) for cls in shape.__mro__)
        layout = shape.as_shape()
        if not own and type(layout) is data.StructLayout:
            return layout
    return None


def bits(shape, value) -> int:
    """Bit pattern of ``shape.const(value)``."""
    known = _know(shape)
    if known.fields is not None:
        if isinstance(value, dict):
            items = value.items()
        elif isinstance(value, list | tuple):
            items = enumerate(value)
        else:
            items = None
        if items is not None:
            pattern = _pattern(known.fields, items)
            if pattern is not None:
                return pattern
    # Amaranth converts or refuses it.
    return Const.cast(shape.const(value)).value


def _pattern(fields, items):
    """Bits of fields; ``None`` if one is unknown or its value is not a plain one."""
    pattern = 0
    for key, value in items:
        field = fields.get(key)
        if field is None:
            return None
        if field.castable is not None:
            value = bits(field.castable, value)
        elif type(value) is not int:
            try:
                value = operator.index(value)
            except TypeError:
                return None
        pattern = pattern & ~(field.mask << field.offset) | (value & field.mask) << field.offset
    return pattern


def from_bits(shape, value: int):
    """``shape.from_bits(value)`` of a value in its range."""
    layout = _know(shape).layout
    if layout is None:
        return shape.from_bits(value)
    constant = object.__new__(data.Const)
    constant._Const__orig_layout = constant._Const__layout = layout
    constant._Const__target = value
    return constant
