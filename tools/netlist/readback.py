# SPDX-License-Identifier: BSD-2-Clause
"""Readback of an iCE40 HX8K bitstream by Project IceStorm's ``icebox_vlog``: the netlist that is
configured into the chip."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from ...gateware.processes import run_child
from ..build.logs import TOP, BuildError
from ..build.toolchain import find_tool, run_tool
from ..errors import InputError, NoDeviceError
from .ice40 import read_ice40
from .netlist import Netlist

if TYPE_CHECKING:
    from ...boards.board import Board

__all__ = ["find_icebox", "read_back"]

_BACK = f"{TOP}.back"
#: Tables and flip-flops again from the equations that icebox writes.
_SCRIPT = f"read_verilog {_BACK}.v; synth_ice40 -top {TOP} -json {_BACK}.json"


def find_icebox() -> str:
    """Path of ``icebox_vlog``.

    Raises
    ------
    NoDeviceError
        It is not installed.
    """
    found = shutil.which("icebox_vlog") or shutil.which("icebox_vlog.py")
    if found is None:
        raise NoDeviceError(
            "icebox_vlog is missing: install Project IceStorm (Debian and Ubuntu: fpga-icestorm)"
        )
    return found


def read_back(folder: str | Path, board: Board) -> Netlist:
    """Reads the :class:`~.netlist.Netlist` from the routed bitstream in a build's ``folder``.

    Raises
    ------
    InputError
        The board has another FPGA than an HX8K, or registers in its I/O cells, which icebox does
        not report; or the folder has no routed design.
    NoDeviceError, BuildError
        icebox is missing, or it or yosys fails.
    """
    folder = Path(folder)
    if board.fpga != "hx8k":
        raise InputError(
            f"{board.name} has a {board.fpga}; only routed bitstreams of an hx8k are read back"
        )
    if board.memory.kind != "block RAM":
        raise InputError(
            f"{board.name} has {board.memory.kind} at registers of its I/O cells, which a "
            f"bitstream read back does not have"
        )
    for name in (f"{TOP}.asc", f"{TOP}.pcf"):
        if not (folder / name).is_file():
            raise InputError(f"{folder}: no {name}; expected the folder of a build that was routed")
    done = run_child(
        [find_icebox(), "-s", "-n", TOP, "-p", f"{TOP}.pcf", f"{TOP}.asc"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    if done.returncode or "endmodule" not in done.stdout:
        raise BuildError(
            f"icebox_vlog failed: "
            f"{(done.stderr.strip().splitlines() or ['it printed no module'])[-1]}"
        )
    (folder / f"{_BACK}.v").write_text(done.stdout)
    run_tool(folder, [find_tool("yosys"), "-q", "-p", _SCRIPT])
    return read_ice40(folder / f"{_BACK}.json")
