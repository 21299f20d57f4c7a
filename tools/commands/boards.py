# SPDX-License-Identifier: BSD-2-Clause
"""List the boards: FPGA, memory, main clock, link, and the presets of each core for it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..errors import Exit

if TYPE_CHECKING:
    from ...boards.board import Board
    from ...gateware.cores import CorePackage
    from ..console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("board", nargs="?", help="one board, with all its properties")


def run(args: argparse.Namespace, console: Console) -> int:
    from ...boards import board_names, open_board
    from ...gateware.cores import core_names, open_core

    packages = [package for package in map(open_core, core_names()) if package.has_core]
    names = [open_board(args.board).name] if args.board else board_names()
    boards = [describe(open_board(name), packages) for name in names]
    console.result({"boards": boards})
    if args.board:
        _show_one(boards[0], console)
        return Exit.OK
    console.table(
        ("board", "FPGA", "memory", ">MHz", "cores"),
        [
            (
                b["name"],
                b["fpga"],
                _memory(b),
                f"{b['clock_mhz']:g}",
                ", ".join(c["core"] for c in b["cores"] if c["default"] not in c["too_large"]),
            )
            for b in boards
        ],
    )
    console.out("Cores: those whose default preset fits. quintet boards BOARD lists the presets.")
    return Exit.OK


def describe(board: Board, packages: Iterable[CorePackage]) -> dict[str, Any]:
    """Description of a board as an object: FPGA, memory, clock, link, programmers, cores and
    presets; presets with on-chip memory are marked, and those that do not fit are listed with their
    demand."""
    cores = []
    for package in packages:
        presets = board.presets(package)
        if presets:
            on_chip = {
                name: board.on_chip_memory(package, name)
                for name in presets
                if package.params.SPACE.presets[name].on_chip
            }
            cores.append(
                {
                    "core": package.name,
                    "default": presets[0],
                    "presets": presets,
                    "too_large": {
                        name: board.too_large[package.name, name]
                        for name in presets
                        if (package.name, name) in board.too_large
                    },
                    "on_chip": {
                        name: {"size": size, "beat_bytes": beat}
                        for name, (size, beat) in on_chip.items()
                    },
                }
            )
    return {
        "name": board.name,
        "title": board.title,
        "fpga": board.fpga,
        "part": board.part,
        "family": board.family,
        "memory": {
            "kind": board.memory.kind,
            "size": board.memory.size,
            "width": getattr(board.memory, "width", None),
            "part": getattr(board.memory, "part", None),
        },
        "clock_mhz": board.clock_mhz,
        "oscillator_mhz": board.oscillator_hz / 1e6,
        "link": dict(board.link.info),
        "links": list(board.links),
        "bridges": [
            {"usb": f"{b.vendor:04x}:{b.product:04x}", "name": b.name} for b in board.bridges
        ],
        "programmers": list(board.programmers),
        "notes": list(board.notes),
        "cores": cores,
    }


def _memory(board):
    size = board["memory"]["size"]
    text = f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"
    width = f", {board['memory']['width']} bit" if board["memory"]["width"] else ""
    return f"{text} {board['memory']['kind']}{width}"


def _on_chip(memory):
    return (
        ""
        if memory is None
        else f"{memory['size'] >> 10} KiB of main memory on chip, {8 * memory['beat_bytes']} bit"
    )


def _show_one(board, console):
    link = board["link"]
    link = (
        f"usb, {link['vendor']:04x}:{link['product']:04x}"
        if link["kind"] == "usb"
        else f"{link['kind']}, {link['baud']}"
    )
    console.table(
        ("board", board["name"]),
        [
            ("title", board["title"]),
            ("FPGA", f"{board['part']} ({board['family']})"),
            ("memory", _memory(board)),
            ("main clock", f"{board['clock_mhz']:g} MHz, from {board['oscillator_mhz']:g} MHz"),
            ("link", link),
            ("links", ", ".join(board["links"])),
            ("programmers", ", ".join(board["programmers"])),
            *(("note", note) for note in board["notes"]),
        ],
    )
    console.table(
        ("core", "preset", ""),
        [
            (
                c["core"],
                p,
                f"too large: needs {c['too_large'][p]}"
                if p in c["too_large"]
                else "default"
                if p == c["default"]
                else _on_chip(c["on_chip"].get(p)),
            )
            for c in board["cores"]
            for p in c["presets"]
        ],
    )
