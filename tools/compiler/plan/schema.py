# SPDX-License-Identifier: BSD-2-Clause
"""Schema of a plan's files: name, type and bounds of every field, checked before a value is
used."""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ....gateware.isa.files import LARGEST
from ...text import visible
from ..backends import backend_names
from .plan import PlanError

__all__ = ["LOWERED", "STEPS", "SUMMARY", "check_fields"]


class Kind(NamedTuple):
    """A type of value: a check, and its description for messages."""

    holds: Callable[[Any], bool]
    expected: str


class Field(NamedTuple):
    """A field of a table: its name, its kind, and whether it is required."""

    name: str
    kind: Kind
    required: bool = True


def _is_count(value):
    return type(value) is int and 0 <= value <= LARGEST


def _is_size(value):
    return _is_count(value) and value > 0


def _is_text(value):
    return isinstance(value, str) and value != "" and visible(value) == value


def _is_decibels(value):
    return type(value) in (int, float) and value == value


def _is_list(value, part):
    return isinstance(value, list) and all(map(part, value))


def _is_dict(value, part):
    return isinstance(value, dict) and all(map(part, value.values()))


def _is_file_name(name):
    return name not in ("", ".", "..") and not re.search(r"[/\\\0]", name) and len(name) <= 200


def _is_entry(value, *kinds):
    """Whether ``value`` is a list with one element of each of ``kinds``."""
    return (
        isinstance(value, list)
        and len(value) == len(kinds)
        and all(kind(part) for kind, part in zip(kinds, value, strict=True))
    )


def _is_parameter(value):
    return isinstance(value, (int, str, bool))


def _is_digest(value):
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value) is not None


def _is_port(value):
    return isinstance(value, dict) and type(value.get("name")) is str and "shape" in value


def _is_placed(value):
    return _is_entry(
        value, lambda name: type(name) is str, lambda name: type(name) is str, _is_mapping
    )


def _is_mapping(value):
    return isinstance(value, dict)


def _is_register_value(value):
    return type(value) is int and 0 <= value < 1 << 64


_COUNT = Kind(_is_count, f"an integer from 0 to {LARGEST:,}")
_SIZE = Kind(_is_size, f"an integer from 1 to {LARGEST:,}")
_TEXT = Kind(_is_text, "text without control characters")
_REGISTERS = Kind(lambda value: _is_dict(value, _is_register_value), "a table of 64-bit integers")
_PARAMETERS = Kind(lambda value: _is_dict(value, _is_parameter), "a table of build parameters")
_PORTS = Kind(lambda value: _is_list(value, _is_port), "tables with name and shape")
_PLACED = Kind(
    lambda value: _is_list(value, _is_placed), "a list of [name, name of a tensor, layout]"
)

#: ``plan.toml``.
SUMMARY = (
    Field("network", Kind(lambda value: isinstance(value, str), "the name of the network")),
    Field(
        "isa", Kind(lambda value: value in backend_names(), f"one of {', '.join(backend_names())}")
    ),
    Field("preset", _TEXT, required=False),
    Field("board", _TEXT, required=False),
    Field("target", _TEXT, required=False),
    Field("params_hash", Kind(_is_register_value, "an integer")),
    Field("memory_size", _SIZE),
    Field("memory", _COUNT),
    Field("cycles", Kind(_is_register_value, "an integer from 0")),
    Field("snr", Kind(_is_decibels, "a ratio in dB"), required=False),
    Field("params", _PARAMETERS),
    Field("input", _PORTS, required=False),
    Field("output", _PORTS, required=False),
    Field(
        "sha256",
        Kind(
            lambda value: (
                _is_dict(value, _is_digest)
                and all(map(_is_file_name, value))
                and {"steps.json", "network.npz"} <= value.keys()
            ),
            "a table of file names of this folder, steps.json and network.npz among them, and "
            "their digests of 64 hexadecimal digits",
        ),
    ),
)

#: ``steps.json``.
STEPS = (
    Field("steps", Kind(lambda value: _is_list(value, _is_mapping), "a list of objects")),
    Field("inputs", Kind(lambda value: isinstance(value, list), "a list")),
    Field("outputs", Kind(lambda value: isinstance(value, list), "a list")),
    Field("choices", Kind(lambda value: _is_list(value, _is_mapping), "a list of objects")),
    Field("notes", Kind(lambda value: _is_list(value, lambda n: type(n) is str), "texts")),
    Field("states", Kind(lambda value: _is_list(value, _is_mapping), "a list of objects"), False),
    Field(
        "vocabulary", Kind(lambda value: _is_list(value, lambda n: type(n) is str), "texts"), False
    ),
)

#: A program in ``steps.json``.
LOWERED = (
    Field("program_at", _COUNT),
    Field("registers", _REGISTERS),
    Field("again", _REGISTERS),
    Field(
        "constants",
        Kind(
            lambda value: _is_list(
                value, lambda part: _is_entry(part, _is_count, lambda what: type(what) is str)
            ),
            "a list of [address, text]",
        ),
    ),
    Field(
        "zeros",
        Kind(
            lambda value: _is_list(value, lambda part: _is_entry(part, _is_count, _is_count)),
            "a list of [address, bytes]",
        ),
    ),
    Field("images", _SIZE),
    Field("memory", _COUNT),
    Field("params", _PARAMETERS),
    Field("setup", Kind(lambda value: _is_list(value, _is_count), "a list of addresses")),
    Field("layers", Kind(lambda value: _is_list(value, _is_mapping), "a list of objects")),
    Field("inputs", _PLACED),
    Field("outputs", _PLACED),
    Field("tensors", _PLACED),
    Field("states", _PLACED, required=False),
)


def check_fields(
    origin: object, values: object, fields: tuple[Field, ...], within: str = ""
) -> None:
    """Checks ``values``, a table of the file ``origin``: each of ``fields`` must be present and of
    its kind. ``within`` is the table's name in messages, with a trailing dot.

    Raises
    ------
    PlanError
        One line: file, field, value, and what was expected.
    """
    if not isinstance(values, Mapping):
        raise PlanError(f"{origin}: {within.rstrip('.') or 'the file'}: expected an object")
    for name, kind, required in fields:
        if name not in values:
            if required:
                raise PlanError(f"{origin}: {within}{name} is missing: expected {kind.expected}")
        elif not kind.holds(values[name]):
            shown = visible(repr(values[name]))
            if len(shown) > 60:
                shown = shown[:57] + "..."
            raise PlanError(f"{origin}: {within}{name} = {shown}: expected {kind.expected}")
