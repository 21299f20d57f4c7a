# SPDX-License-Identifier: BSD-2-Clause
"""Subject of a comparison: a core, its builds, its program generator, and its comparison of
gateware with golden model.

Each ISA declares one, ``SUBJECT`` of ``bench/subject.py``; campaigns and the shrinker work on it.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Subject", "find_subject", "subject_names"]

CORES = Path(__file__).resolve().parents[1] / "gateware" / "cores"


@dataclass(frozen=True)
class Subject:
    """A core whose gateware is compared with its golden model.

    Attributes
    ----------
    name : of the ISA
    builds : names; ``open_build(name)`` gives the bench of one
    check : ``check(bench, case, behaviour, seed)`` gives (differences,
        outcome of the gateware); it takes ``limit`` cycles, too
    plan : what a campaign does by turns, functions ``step(check, bench, seed, rng,
        behaviour)`` that give differences (``campaigns.py`` makes them)
    draw : ``draw(seed, params, legal=, fault=, budget=)`` gives a random case, for the shrinker
    with_words : ``with_words(case, words)`` gives the case with fewer words;
        ``listing(case)`` its text. ``None`` where programs are not shrunk
    faults : legal arguments of ``draw``
    limit : cycles after which a program hangs
    budget : what ``draw`` takes unless the shrinker is told otherwise
    directed : ``directed(params, group)`` gives directed cases
    """

    name: str
    builds: tuple
    open_build: Callable
    check: Callable
    plan: tuple
    draw: Callable | None = None
    with_words: Callable | None = None
    listing: Callable | None = None
    faults: tuple = ()
    limit: int = 20_000_000
    budget: int | None = None
    directed: Callable | None = None


def subject_names():
    """ISAs that declare a subject."""
    return sorted(path.parents[1].name for path in CORES.glob("*/bench/subject.py"))


def find_subject(name):
    """The :class:`Subject` of an ISA."""
    return importlib.import_module(f"tests.gateware.cores.{name}.bench.subject").SUBJECT
