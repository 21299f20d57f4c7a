# SPDX-License-Identifier: BSD-2-Clause
"""Packed netlist of a finished build, as nextpnr places it."""

import re
import shlex
from pathlib import Path

from ..build.logs import TOP
from ..build.toolchain import find_tool, run_tool
from ..errors import InputError
from .ecp5 import read_ecp5
from .ice40 import read_ice40
from .netlist import Netlist

__all__ = ["read_build"]

#: Options of nextpnr that decide how cells are packed.
_KEPT = re.compile(r"--(\d+k|um5g-\w+|um-\w+|package|speed|lpf)$")


def _packed(folder):
    """Path of nextpnr's netlist after packing, which is written again if the synthesised one is
    newer."""
    source, packed = folder / f"{TOP}.json", folder / f"{TOP}.packed.json"
    if packed.is_file() and packed.stat().st_mtime >= source.stat().st_mtime:
        return packed
    script = folder / f"build_{TOP}.sh"
    try:
        line = next(line for line in script.read_text().splitlines() if "NEXTPNR_ECP5" in line)
    except (OSError, StopIteration):
        raise InputError(f"{script}: expected the script of a build for an ECP5") from None
    options, words = [], shlex.split(line)
    for at, word in enumerate(words):
        if _KEPT.match(word):
            options += (
                [word]
                if at + 1 == len(words) or words[at + 1].startswith("--")
                else words[at : at + 2]
            )
    run_tool(
        folder,
        [
            find_tool("nextpnr-ecp5"),
            "--json",
            source.name,
            *options,
            "--pack-only",
            "--write",
            packed.name,
        ],
    )
    return packed


def read_build(folder: str | Path, family: str) -> Netlist:
    """Reads the :class:`~.netlist.Netlist` of a build's folder.

    Raises
    ------
    InputError
        The folder lacks a file of a build.
    NetlistError
        It holds what the simulation does not know.
    BuildError, NoDeviceError
        nextpnr fails, or is missing.
    """
    folder = Path(folder)
    if not (folder / f"{TOP}.json").is_file():
        raise InputError(
            f"{folder}: no {TOP}.json; expected the folder of a build (quintet build -o)"
        )
    return (
        read_ecp5(_packed(folder), folder / f"{TOP}.json")
        if family == "ecp5"
        else read_ice40(folder / f"{TOP}.json")
    )
