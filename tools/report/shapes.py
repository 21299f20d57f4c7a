# SPDX-License-Identifier: BSD-2-Clause
"""Schema check of results: the fields that a page needs, and their types. An error names the
missing or wrong field."""

from typing import Any

from ..errors import InputError

__all__ = ["ANY", "COUNT", "FLAG", "LEVEL", "Map", "NUMBER", "SIGNED", "TEXT", "check"]

#: No field is larger; what is would be no count of anything.
_MOST = 1e18


class _Kind:
    """A scalar value: ``accepts(value)`` checks it, ``what`` names it in messages."""

    def __init__(self, name, accepts):
        self.name, self.accepts = name, accepts


def _number(value):
    return type(value) in (int, float)


TEXT = _Kind("text", lambda value: isinstance(value, str))
FLAG = _Kind("true or false", lambda value: isinstance(value, bool))
COUNT = _Kind("a whole number from 0", lambda value: type(value) is int and 0 <= value < _MOST)
NUMBER = _Kind("a number from 0", lambda value: _number(value) and 0 <= value < _MOST)
SIGNED = _Kind("a finite number", lambda value: _number(value) and abs(value) < _MOST)
LEVEL = _Kind("a number, or an infinity", lambda value: _number(value) and value == value)
ANY = _Kind(
    "a plain value", lambda value: value is None or isinstance(value, (str, int, float, bool))
)


class Map:
    """An object with arbitrary keys, whose values have one shape."""

    def __init__(self, shape: Any) -> None:
        self.shape = shape


def check(value: Any, shape: Any, origin: object, where: str = "") -> None:
    """Checks a value against a shape; raises ``InputError`` if it does not match.

    Parameters
    ----------
    shape : a kind of this module, ``[shape]`` for a list, :class:`Map`, or a dict:
        name -> shape of a field, its name ending in ``?`` where it may be missing or null; fields
        beside those are let be
    origin : what the value was read from, for messages
    where : the field's place

    Raises
    ------
    InputError
        It names origin, field, value and what was expected.
    """
    if isinstance(shape, _Kind):
        if not shape.accepts(value):
            raise _wrong(origin, where, value, shape.name)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise _wrong(origin, where, value, "a list")
        for number, one in enumerate(value):
            check(one, shape[0], origin, f"{where}[{number}]")
    elif not isinstance(value, dict):
        raise _wrong(origin, where, value, "an object")
    elif isinstance(shape, Map):
        for name, one in value.items():
            check(one, shape.shape, origin, f"{where}.{name}" if where else name)
    else:
        for name, one in shape.items():
            _field(value, name, one, origin, where)


def _field(value, name, shape, origin, where):
    optional, name = name.endswith("?"), name.removesuffix("?")
    place = f"{where}.{name}" if where else name
    if value.get(name) is None:
        if not optional:
            raise InputError(f"{origin}: field {place} is missing; expected {_name(shape)}")
        return
    check(value[name], shape, origin, place)


def _name(shape):
    return (
        shape.name
        if isinstance(shape, _Kind)
        else "a list"
        if isinstance(shape, list)
        else "an object"
    )


def _wrong(origin, where, value, expected):
    shown = repr(value)
    shown = shown if len(shown) <= 40 else shown[:37] + "..."
    return InputError(
        f"{origin}: {f'field {where}' if where else 'the whole'} = {shown}: expected {expected}"
    )
