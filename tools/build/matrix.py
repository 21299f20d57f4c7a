# SPDX-License-Identifier: BSD-2-Clause
"""Build matrix: builds every board and core that fit together, resumable, into one table."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ...gateware.processes import Ended, run_child
from ..errors import Exit, InputError, QuintetError
from ..outputs import write_output
from .mapping import MAPPINGS

if TYPE_CHECKING:
    from ...gateware.cores import CorePackage

__all__ = [
    "COLUMNS",
    "Cell",
    "build_cell",
    "cells",
    "design_of",
    "is_stale",
    "load",
    "run_matrix",
    "settled",
    "source_commit",
    "source_digest",
    "stale_rows",
    "to_csv",
    "to_markdown",
]

#: Columns of the tables, in order; all but the last are fields of the build report.
COLUMNS = (
    "board",
    "isa",
    "preset",
    "seed",
    "mapping",
    "clock_asked_mhz",
    "clock_reached_mhz",
    "luts",
    "ffs",
    "dsps",
    "brams",
    "seconds",
    "state",
)


@dataclass(frozen=True)
class Cell:
    """One build of the matrix; a ``link`` of ``None`` is the board's default link, a ``mapping`` of
    ``None`` the core's own."""

    board: str
    isa: str
    preset: str
    seed: int = 1
    link: str | None = None
    mapping: str | None = None

    @property
    def key(self) -> str:
        """Key of the build in the table."""
        return f"{self.board}/{self.isa}/{self.preset}/{self.seed}" + "".join(
            f"/{name}" for name in (self.link, self.mapping) if name
        )


class MatrixBoard(Protocol):
    """Description of a board for :func:`cells`."""

    @property
    def name(self) -> str: ...

    @property
    def family(self) -> str: ...

    @property
    def links(self) -> tuple[str, ...]: ...

    def presets(self, package: CorePackage) -> list[str]: ...


def cells(
    boards: Iterable[MatrixBoard],
    packages: Iterable[CorePackage],
    seeds: Iterable[int] = (1,),
    link: str | None = None,
    mappings: Iterable[str | None] = (None,),
) -> list[Cell]:
    """All cells: each board with each preset that its FPGA can hold.

    Parameters
    ----------
    boards : iterable of objects with ``name`` and ``presets``, with ``links`` if there is a
        ``link``, and with ``family`` if ``mappings`` are given
    packages : iterable of CorePackage
    link : str, optional
        Only boards that have it, built with it.
    mappings : iterable of str
        Each build once with each of those that the board's family has
        (:data:`~.mapping.MAPPINGS`); ``None`` is the core's own.
    """
    return [
        Cell(board.name, package.name, preset, seed, link, mapping)
        for package in packages
        for board in boards
        if link is None or link in board.links
        for preset in board.presets(package)
        for seed in seeds
        for mapping in mappings
        if mapping is None or mapping in MAPPINGS[board.family]
    ]


def source_digest(root: str | Path) -> str:
    """Digest of all sources that a bitstream depends on; if it changes, cells are built again."""
    digest = hashlib.sha256()
    for folder in ("gateware", "boards"):
        for path in sorted((Path(root) / folder).rglob("*.py")):
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def source_commit(root: str | Path) -> str | None:
    """Short name of the git commit that the sources of bitstreams are from, with ``+`` if they have
    changed since; ``None`` if ``root`` is not the top of a git checkout."""

    def git(*words):
        done = run_child(["git", "-C", str(root), *words], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else None

    try:
        # An installed package may lie in a folder of another project's checkout.
        if git("rev-parse", "--show-prefix") != "":
            return None
        commit = git("rev-parse", "--short=7", "HEAD")
        changed = git("status", "--porcelain", "--", "gateware", "boards")
    except OSError:
        return None
    return f"{commit}+" if commit and changed else commit


def design_of(cell: Cell) -> str | None:
    """Digest of the design that the present sources produce for a cell
    (:func:`~.netlists.design_digest`); ``None`` if they produce none. Takes some seconds, since the
    SoC is elaborated."""
    from ...boards import BoardError, open_board
    from ...gateware.cores import open_core
    from ...gateware.isa.parameters import ParameterError
    from .bitstream import build_plan, prepare
    from .netlists import design_digest

    try:
        board, package = open_board(cell.board), open_core(cell.isa)
        soc, top = prepare(board, package, cell.preset, link=cell.link)
        plan = build_plan(board, soc, top, cell.seed, mapping=cell.mapping)
        return design_digest(plan, cell.seed)
    except (QuintetError, BoardError, ParameterError):
        return None


def is_stale(
    cell: Cell,
    result: Mapping[str, Any],
    digest: str,
    design: Callable[[Cell], str | None] = design_of,
) -> bool:
    """Whether a result is older than its sources: both the sources and the design that they produce
    have changed. A result without a design digest counts as changed.

    Parameters
    ----------
    cell : Cell
    result : dict
        Of the matrix (``digest``), or of the measured builds (``sources``).
    digest : str
        Of today's sources (:func:`source_digest`).
    design : callable(cell)
        Today's design; asked only if the sources have changed.
    """
    if digest in (result.get("digest"), result.get("sources")):
        return False
    return result.get("design") is None or result["design"] != design(cell)


def build_cell(cell: Cell, folder: Path, limit: float | None = None) -> dict[str, Any]:
    """Builds one cell in a separate process and returns its result; ``limit``: time limit of the
    tools in minutes."""
    out = (
        folder
        / cell.board
        / cell.isa
        / "-".join(name for name in (cell.preset, str(cell.seed), cell.link, cell.mapping) if name)
    )
    command = [
        sys.executable,
        "-m",
        "quintet.tools.cli",
        "build",
        cell.board,
        cell.isa,
        "--preset",
        cell.preset,
        "--seed",
        str(cell.seed),
        "-o",
        str(out),
        "--json",
        *(["--link", cell.link] if cell.link else []),
        *(["--mapping", cell.mapping] if cell.mapping else []),
        *(["--limit", str(limit)] if limit else []),
    ]
    done = run_child(command, capture_output=True, text=True, errors="replace")
    try:
        report = json.loads(done.stdout)
    except ValueError:
        report = {}
    if done.returncode > Exit.INTERNAL:  # a signal ended it
        raise Ended(done.returncode - 128)
    if done.returncode == 0:
        return {**report, "state": "built"}
    if done.returncode == 1 and "clock_reached_mhz" in report:
        return {**report, "state": "clock missed"}
    said = report.get("error", "")
    if said.startswith("does not fit"):
        needed = json.loads((out / "report.json").read_text())
        return {**needed, "state": said}
    said = said or (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
    return {**asdict(cell), "state": f"failed: {said}"}


def settled(result: Mapping[str, Any] | None) -> bool:
    """Whether a repeated build of a cell from the same sources would give the same result."""
    state = (result or {}).get("state", "")
    return state in ("built", "clock missed") or state.startswith("does not fit")


def load(path: Path) -> dict[str, dict[str, Any]]:
    """Reads a ``matrix.json``: cell key -> result; empty if there is none."""
    if not path.exists():
        return {}
    try:
        stored = json.loads(path.read_text())
        return stored["cells"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(
            f"{path}: is not a table of quintet matrix; move it away, or choose another folder"
        ) from None


def run_matrix(
    todo: Sequence[Cell],
    folder: str | Path,
    digest: str,
    *,
    workers: int = 1,
    again: bool = False,
    build: Callable[[Cell, Path], dict[str, Any]] = build_cell,
    design: Callable[[Cell], str | None] = design_of,
    commit: str | None = None,
    report: Callable[[Cell, dict[str, Any], int], object] = lambda cell, result, left: None,
) -> dict[str, dict[str, Any]]:
    """Builds the cells of ``todo`` that ``folder`` does not hold yet, and writes ``matrix.json``,
    ``.csv`` and ``.md`` there.

    A cell is kept if it was built, missed its clock or does not fit, and is not stale
    (:func:`is_stale`); a failed one is tried again. After each cell the tables are complete, so
    that an interrupted run goes on where it was.

    Parameters
    ----------
    todo : list of Cell
    folder : Path
    digest : str
        Of the sources (:func:`source_digest`).
    workers : int
        Builds at the same time.
    again : bool
        Build all of them, kept or not.
    build : callable(cell, folder)
        Builds a cell and returns its result; of several workers each calls it in a thread of its
        own.
    design : callable(cell)
        As of :func:`is_stale`.
    commit : str, optional
        Of the sources (:func:`source_commit`), kept in each new result.
    report : callable(cell, result, left)
        Called after each cell.

    Returns
    -------
    dict
        Cell key -> result, for all cells of ``todo``.
    """
    if workers < 1:
        raise InputError(f"--workers {workers}: expected at least 1")
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {folder}: {error.strerror or error}") from None
    path = folder / "matrix.json"
    results = load(path)
    designs = _once_a_preset(design)
    wanted = []
    for cell in todo:
        known = results.get(cell.key)
        if again or known is None or not settled(known) or is_stale(cell, known, digest, designs):
            wanted.append(cell)
        else:
            # The sources have changed elsewhere: it need not be elaborated again.
            results[cell.key] = {**known, "digest": digest}
    lock = threading.Lock()
    left = len(wanted)

    def one(cell):
        nonlocal left
        result = {**build(cell, folder), "digest": digest}
        if commit is not None:
            result["commit"] = commit
        with lock:
            left -= 1
            results[cell.key] = result
            save()
            report(cell, result, left)

    def save():
        rows = [results[key] for key in sorted(results)]
        write_output(
            path,
            json.dumps({"cells": {key: results[key] for key in sorted(results)}}, indent=1).encode()
            + b"\n",
        )
        write_output(folder / "matrix.csv", to_csv(rows).encode())
        write_output(folder / "matrix.md", to_markdown(rows).encode())

    with ThreadPoolExecutor(workers) as pool:
        jobs = [pool.submit(one, cell) for cell in wanted]
        try:
            for job in jobs:
                job.result()
        except BaseException:
            for job in jobs:
                job.cancel()
            raise
    save()
    return {cell.key: results[cell.key] for cell in todo}


def _once_a_preset(design):
    """Memoises ``design``, which does not depend on the seed, for all seeds of a preset."""
    known: dict[Cell, str | None] = {}

    def cached(cell):
        key = replace(cell, seed=1)
        if key not in known:
            known[key] = design(key)
        return known[key]

    return cached


def stale_rows(
    todo: Sequence[Cell],
    results: Mapping[str, Mapping[str, Any]],
    digest: str,
    design: Callable[[Cell], str | None] = design_of,
) -> list[tuple[Cell, str]]:
    """State of each cell of ``todo`` in a table of ``results``: ``"current"``, ``"stale"``
    (:func:`is_stale`), or ``"not built"``."""
    designs = _once_a_preset(design)

    def state(cell):
        result = results.get(cell.key)
        if result is None:
            return "not built"
        return "stale" if is_stale(cell, result, digest, designs) else "current"

    return [(cell, state(cell)) for cell in todo]


def to_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """Formats the table of results as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([row.get(name, "") for name in COLUMNS] for row in rows)
    return out.getvalue()


def to_markdown(rows: Iterable[Mapping[str, Any]]) -> str:
    """Formats the table of results as Markdown."""

    def text(value):
        return f"{value:.1f}" if isinstance(value, float) else str(value)

    lines = [
        "| " + " | ".join(name.replace("_", " ") for name in COLUMNS) + " |",
        "|" + "---|" * len(COLUMNS),
    ]
    lines += [
        "| " + " | ".join(text(row.get(name, "")).replace("|", "/") for name in COLUMNS) + " |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"
