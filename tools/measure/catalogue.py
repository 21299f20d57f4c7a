# SPDX-License-Identifier: BSD-2-Clause
"""Catalogue of all measures, found by listing the folders of this one."""
import importlib
from pathlib import Path

from .choice import no_such

__all__ = ["find", "measures", "topics"]


def topics():
    """Names of the topics."""
    return sorted(folder.parent.name for folder in Path(__file__).parent.glob("*/__init__.py"))


def measures(topic):
    """``TOPIC/TABLE`` -> :class:`~.row.Measure` of a topic."""
    tables = importlib.import_module(f".{topic}", __package__).MEASURES
    return {f"{topic}/{name}": measure for name, measure in tables.items()}


def find(names):
    """``TOPIC/TABLE`` -> measure of what ``names`` name: topics or single tables.

    Raises
    ------
    InputError
        There is no such topic or table.
    """
    found = {}
    for name in names:
        topic = name.partition("/")[0]
        if topic not in topics():
            raise no_such("measure", name, [*topics(), *(table for t in topics() for table in measures(t))])
        known = measures(topic)
        if name != topic and name not in known:
            raise no_such("measure", name, list(known))
        found.update(known if name == topic else {name: known[name]})
    return found
