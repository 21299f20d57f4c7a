# SPDX-License-Identifier: BSD-2-Clause
"""Serialisation of quantised networks as a JSON object with arrays beside it. Deserialisation
creates only objects of this compiler's classes."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from .. import graph as forms
from ..graph import Graph
from ..quantised import Integer, Quantised, Scale

__all__ = ["of_stored", "stored"]

#: Classes that a file may name.
_CLASSES = {
    kind.__name__: kind
    for kind in (
        *(kind for kind in vars(forms).values() if isinstance(kind, type) and is_dataclass(kind)),
        Graph,
        Integer,
        Quantised,
        Scale,
    )
}


def stored(value: object) -> tuple[Any, dict[str, np.ndarray]]:
    """Serialises a value: ``(object, arrays)``, the JSON object and the arrays that it names, key
    -> array."""
    arrays: dict[str, np.ndarray] = {}
    return _plain(value, arrays), arrays


def _plain(value, arrays):
    if isinstance(value, np.ndarray):
        key = f"a{len(arrays)}"
        arrays[key] = value
        return {"array": key}
    if is_dataclass(value):
        return {
            "class": type(value).__name__,
            "fields": {f.name: _plain(getattr(value, f.name), arrays) for f in fields(value)},
        }
    if isinstance(value, dict):
        return {"entries": [[key, _plain(part, arrays)] for key, part in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [_plain(part, arrays) for part in value]}
    if isinstance(value, list):
        return [_plain(part, arrays) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def of_stored(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """Deserialises a value, the inverse of :func:`stored`. Raises ``ValueError`` for an object that
    :func:`stored` never gives."""
    if isinstance(value, list):
        return [of_stored(part, arrays) for part in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"array": key} if key in arrays:
            return np.asarray(arrays[key])
        case {"tuple": list(parts)}:
            return tuple(of_stored(part, arrays) for part in parts)
        case {"entries": list(pairs)}:
            return {key: of_stored(part, arrays) for key, part in pairs}
        case {"class": name, "fields": dict(values)} if name in _CLASSES:
            known = {f.name for f in fields(_CLASSES[name])}
            if values.keys() <= known:
                try:
                    return _CLASSES[name](
                        **{key: of_stored(part, arrays) for key, part in values.items()}
                    )
                except TypeError as error:
                    raise ValueError(str(error)) from None
    raise ValueError(f"unknown entry with the keys {', '.join(sorted(map(str, value)))}")
