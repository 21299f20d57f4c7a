# SPDX-License-Identifier: BSD-2-Clause
"""Catalogue of all measurements, found in the topics of this folder and in each core's
``firmware/<isa>/measure``."""

import importlib
from collections.abc import Iterable
from pathlib import Path

from .choice import no_such
from .row import Measure

__all__ = ["find", "measures", "topics"]

_HERE = Path(__file__).resolve().parent


def _modules():
    """Modules by topic. Tools do not depend on firmware, so its modules are imported by name on
    request."""
    own = {
        path.parent.name: f"quintet.tools.measure.{path.parent.name}"
        for path in _HERE.glob("*/__init__.py")
    }
    cores = {
        path.parents[1].name: f"quintet.firmware.{path.parents[1].name}.measure"
        for path in _HERE.parents[1].glob("firmware/*/measure/__init__.py")
    }
    return dict(sorted({**own, **cores}.items()))


def topics() -> list[str]:
    """Names of all topics."""
    return list(_modules())


def measures(topic: str) -> dict[str, Measure]:
    """The measurements of a topic: ``TOPIC/TABLE`` -> :class:`~.row.Measure`."""
    tables = importlib.import_module(_modules()[topic]).MEASURES
    return {f"{topic}/{name}": measure for name, measure in tables.items()}


def find(names: Iterable[str]) -> dict[str, Measure]:
    """Finds measurements by names of topics or single tables: ``TOPIC/TABLE`` -> measure.

    Raises
    ------
    InputError
        There is no such topic or table.
    """
    found = {}
    for name in names:
        topic = name.partition("/")[0]
        if topic not in topics():
            raise no_such(
                "measure", name, [*topics(), *(table for t in topics() for table in measures(t))]
            )
        known = measures(topic)
        if name != topic and name not in known:
            raise no_such("measure", name, list(known))
        found.update(known if name == topic else {name: known[name]})
    return found
