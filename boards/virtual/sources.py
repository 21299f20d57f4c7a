# SPDX-License-Identifier: BSD-2-Clause
"""Digest of all sources of a virtual board's or core bench's design, without those of other cores.
It identifies a cached design without elaboration, which would take most of the time of opening
it."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from .. import LOADED_AT
from ..board import DDR3, SDRAM, SPRAM, SRAM, BlockRAM, Board, UARTLink, USBPort

if TYPE_CHECKING:
    from ...gateware.cores import CorePackage

__all__ = ["made_from", "source_digest"]

_ROOT = Path(__file__).resolve().parents[2]
_CORES = "quintet.gateware.cores."
#: Other people's code that designs are made with.
_PACKAGES = ("amaranth", "amaranth-boards", "luna-soc", "luna-usb", "usb-protocol", "numpy")
_OWN = {Board, SDRAM, SRAM, DDR3, SPRAM, BlockRAM, UARTLink, USBPort}
# Clocks of file systems are coarse.
_SLACK = 2


def source_digest(
    folders: Iterable[Path], before: float, without: Iterable[Path] = ()
) -> str | None:
    """Digest of names and contents of all files of ``folders``, except Python's caches and what
    lies in the folders ``without``.

    ``None`` if one of them was modified after ``before`` (seconds since 1970): the imported code
    may be an older version.
    """
    total, apart = hashlib.sha256(), set(without)
    for folder in folders:
        for path in sorted(Path(folder).rglob("*")):
            if "__pycache__" in path.parts or not apart.isdisjoint(path.parents):
                continue
            if not path.is_file():
                continue
            data, state = path.read_bytes(), path.stat()
            # Copying tools cannot set the change time (ctime).
            if max(state.st_mtime, state.st_ctime) > before - _SLACK:
                return None
            total.update(
                f"{Path(folder).name}/{path.relative_to(folder).as_posix()}\0{len(data)}\0".encode()
                + data
            )
    return total.hexdigest()


def _versions():
    """Versions of the packages; ``None`` if one is installed as a link to sources, which may change
    without a new version."""
    found = [f"quintet {metadata.version('quintet')}"]
    for name in _PACKAGES:
        package = metadata.distribution(name)
        if '"editable": true' in (package.read_text("direct_url.json") or ""):
            return None
        found.append(f"{name} {package.version}")
    return found


def made_from(
    board: Board | None, package: CorePackage | None, **configuration: object
) -> str | None:
    """Text of sources, package versions and configuration; ``None`` if they are uncertain: for
    boards and cores from other packages, and for sources modified since this process began.

    Parameters
    ----------
    board : Board, or None if the design is a core alone
    package : CorePackage or None
    configuration : whatever else the design depends on, of types whose ``repr`` tells all
    """
    if board is not None and not {type(board), type(board.memory), type(board.link)} <= _OWN:
        return None
    if package is not None and not getattr(package, "import_name", "").startswith(_CORES):
        return None
    try:
        versions = _versions()
    except metadata.PackageNotFoundError:
        return None
    # A core imports no other, and nothing else imports one but by its name.
    own = None if package is None else package.import_name.rpartition(".")[2]
    others = [path for path in (_ROOT / "gateware/cores").glob("*/") if path.name != own]
    sources = source_digest((_ROOT / "gateware", _ROOT / "boards"), LOADED_AT, others)
    if versions is None or sources is None:
        return None
    return "\n".join(
        (
            sources,
            sys.version,
            *versions,
            repr(board),
            repr(package and package.import_name),
            repr(sorted(configuration.items())),
        )
    )
