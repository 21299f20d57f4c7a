# SPDX-License-Identifier: BSD-2-Clause
"""Search for the FPGA tools: native tools on the PATH if they are new enough, else those of this
Python (YoWASP)."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ...gateware.native import find_native
from ...gateware.processes import run_child
from ..errors import NoDeviceError
from .logs import BuildError

__all__ = ["TOOLS", "find_tool", "run_tool", "tool_environment", "tool_versions"]

#: Tools of each family, in the order in which they run.
TOOLS = {
    "ecp5": ("yosys", "nextpnr-ecp5", "ecppack"),
    "ice40": ("yosys", "nextpnr-ice40", "icepack"),
}


def _variable(tool):
    return tool.upper().replace("-", "_").replace("+", "X")


@cache
def find_tool(tool: str) -> str:
    """Finds the path of ``tool``.

    Raises
    ------
    NoDeviceError
        It is neither on the PATH nor in this Python.
    """
    native = find_native(tool)
    if native:
        return native
    name = f"yowasp-{tool}"
    beside = Path(sys.executable).parent / name
    for candidate in (beside, beside.with_suffix(".exe")):
        if candidate.is_file():
            return str(candidate)
    found = shutil.which(name)
    if found:
        return found
    raise NoDeviceError(
        f"{tool} is missing: `pip install yowasp-{'yosys' if tool == 'yosys' else _package(tool)}`"
    )


def _package(tool):
    return "nextpnr-ice40" if tool in TOOLS["ice40"] else "nextpnr-ecp5"


def tool_environment(family: str) -> dict[str, str]:
    """Environment in which Amaranth's build script finds the tools of ``family``; variables that
    are set already are kept.

    Raises
    ------
    NoDeviceError
        A tool is missing.
    """
    environment = dict(os.environ)
    for tool in TOOLS[family]:
        environment.setdefault(_variable(tool), find_tool(tool))
    environment["AMARANTH_USE_YOSYS"] = "system"
    return environment


@cache
def _version(path):
    """Release that the program at ``path`` tells of; ``None`` if it tells of none."""
    try:
        done = run_child(
            [path, "--version"], capture_output=True, text=True, errors="replace", timeout=120
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"\d+(?:\.\d+)+", done.stdout + done.stderr)
    return found[0] if found else None


def tool_versions(environment: Mapping[str, str], family: str) -> dict[str, dict[str, Any]]:
    """The tools that a build in this environment runs: name -> ``version`` (``None`` if the tool
    does not say), and ``native``: not YoWASP's. The packers, which come with nextpnr, are left
    out."""
    return {
        tool: {
            "version": _version(path),
            "native": not Path(path).name.startswith("yowasp-"),
        }
        for tool in TOOLS[family][:2]
        if (path := environment.get(_variable(tool)))
    }


def run_tool(folder: str | Path, command: Sequence[str]) -> str:
    """Runs a tool in ``folder`` and returns its output. YoWASP's tools see only their working
    directory.

    Raises
    ------
    BuildError
        It failed: its last word.
    """
    done = run_child(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if done.returncode:
        lines = [
            line for line in done.stdout.splitlines() if "ERROR" in line
        ] or done.stdout.splitlines()
        raise BuildError(
            f"{Path(command[0]).name} failed: "
            f"{lines[-1].strip() if lines else 'it printed nothing'}"
        )
    return done.stdout
