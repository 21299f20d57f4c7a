# SPDX-License-Identifier: BSD-2-Clause
"""Netlists that tests look at, kept from one run of the tests to the next.

Elaborating a core or a board's whole SoC takes half a second to a second of processor time. Its
text follows from the sources of gateware and boards, from the versions of the packages that they
use, from the file that makes it and from its arguments; as long as all of these are the same, the
text of an earlier run is read (:func:`quintet.boards.virtual.sources.made_from`).
``QUINTET_KEEP_NETLISTS=0`` in the environment turns that off.
"""

import os
import shutil
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

from quintet.boards.virtual.cache import BuildCache, default_folder
from quintet.boards.virtual.sources import made_from
from quintet.boards.virtual.toolchain import digest

__all__ = ["kept"]

#: Netlists kept at most: those of some five states of the sources, 20 MB.
MOST = 400


class _Changed(Exception):
    """Exception: sources changed in this process's time; its argument is the netlist."""


@cache
def _sources(read):
    """All that every netlist follows from, as it was when this process first asked: the code that
    it runs is of that state."""
    return read(None, None)


def kept(
    name: str,
    make: Callable[[], str],
    maker: str,
    folder: str | os.PathLike | None = None,
    read: Callable[..., str | None] = made_from,
) -> str:
    """Text that ``make()`` gives, of this run or of an earlier one.

    Parameters
    ----------
    name : all arguments of the netlist
    make : makes it
    maker : path of the file that ``make`` stands in (``__file__``)
    folder : of the kept texts, else one in the user's cache folder
    read : gives a text of all sources and versions, or ``None`` if they are not known for certain
    """
    sources = _sources(read)
    if sources is None or os.environ.get("QUINTET_KEEP_NETLISTS") == "0":
        return make()
    key = digest(name, Path(maker).read_bytes(), sources)
    store = BuildCache(folder if folder is not None else default_folder() / "netlists")

    def build(entry):
        text = make()
        # Sources that changed meanwhile made another netlist, perhaps.
        if read(None, None) != sources:
            raise _Changed(text)
        (entry / "text").write_bytes(zlib.compress(text.encode(), 1))

    try:
        entry, fresh = store.entry(key, build)
    except _Changed as changed:
        return changed.args[0]
    if fresh:
        _drop_oldest(store.folder)
    return zlib.decompress((entry / "text").read_bytes()).decode()


def _drop_oldest(folder):
    entries = []
    for path in folder.iterdir():
        # Another process may drop it meanwhile.
        with suppress(OSError):
            if path.is_dir():
                entries.append((path.stat().st_mtime, path))
    for _, path in sorted(entries)[:-MOST]:
        shutil.rmtree(path, ignore_errors=True)
        path.with_name(f"{path.name}.lock").unlink(missing_ok=True)
