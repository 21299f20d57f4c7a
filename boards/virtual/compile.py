# SPDX-License-Identifier: BSD-2-Clause
"""Compiler of an Amaranth component to a shared library: RTLIL, yosys ``write_cxxrtl``, a C++
compiler.

Both steps are cached by content: the C++ of a design by its RTLIL and yosys's version, the library
by that C++, the harness, the flags and the compiler. Where a design's sources are known
(:mod:`.sources`), the library is found by them, too, so that it needs no RTLIL. A design is stepped
by rising edges only, of its main clock and of a second one where it has it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...gateware.isa.parameters import elaborating
from ...gateware.processes import run_child
from ...gateware.shell.settle import settle
from .cache import BuildCache
from .compile_rate import CompileRate
from .gating import gate
from .operators import direct_operators
from .quick_yosys import prepare, start_preparing
from .quicken import copy_registers, cut_up, join_edges, one_chunk, plain_memories
from .registers import register_table, write_registers
from .toolchain import ToolMissing, digest, find_compiler, find_yosys
from .units import processors, translation_units

__all__ = ["CompileError", "Library", "ToolMissing", "build_library", "mangle", "write_cxx"]

HERE = Path(__file__).resolve().parent
# Characters of a design above which it is cut into functions, and of one of these. The compiler's
# time is more than in proportion to a function's size (a design of 640,000 characters took 12
# seconds whole and 7 seconds cut); simulation is a thirtieth slower by it.
_CUT_ABOVE, _CUT_SIZE = 60_000, 15_000
# Further inputs of a design's C++, beside its RTLIL and yosys.
_REWRITERS = (
    "compile.py",
    "gating.py",
    "operators.py",
    "quicken.py",
    "registers.py",
    "statements.py",
)
#: Port of a second clock (:mod:`.clocks`).
SECOND = "second_clk"
#: Of the runtime; the design's folder has its own.
_HEADER = Path("cxxrtl", "cxxrtl.h")
_PORT = re.compile(r"^\t/\*(input|output)\*/ (?:value|wire)<(\d+)> (p_\w+);", re.M)
_MEMORY = re.compile(r"^\tmemory<(\d+)> memory_(p_\w+) \{ (\d+)u \};", re.M)
# `proc` makes processes into cells; `flatten` gives one module, whose evaluation order needs no
# second pass; `opt_clean` drops what no output depends on; nets are split by driver so that no
# false loop runs through a bundle.
_SCRIPT = (
    "read_rtlil design.il; hierarchy -top top; proc; flatten; opt_expr; opt_clean; "
    "{split}write_cxxrtl -header {flags} design.cc"
)
# -O1 takes three fifths of the compiler's time of -O2, and the simulation is as fast within a tenth
# (docs/performance/index.md).
_FLAGS = ["-std=c++17", "-O1", "-fPIC", "-DCXXRTL_NDEBUG", "-DNDEBUG", "-w"]


class CompileError(RuntimeError):
    """Error: yosys or the C++ compiler rejected a design; the message contains their last lines."""


@dataclass(frozen=True)
class Library:
    """A compiled design: its shared library and its tables of ports and memories.

    Attributes
    ----------
    path : Path of the shared library
    ports : dict, name -> (direction, width)
    memories : dict, C++ name (:func:`mangle`) -> (width, depth)
    one_pass : bool, one evaluation settles a cycle
    fresh : bool, it was compiled by this call rather than found in the cache
    registers : Path of the file that :func:`~.registers.read_registers` reads;
        only where it was compiled with them
    """

    path: Path
    ports: dict[str, tuple[str, int]]
    memories: dict[str, tuple[int, int]]
    one_pass: bool
    fresh: bool
    registers: Path | None = None


def _run(command, folder, what, more_environment=None):
    environment = {**os.environ, **(more_environment or {})}
    done = run_child(command, cwd=folder, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
        raise CompileError(f"{what} failed:\n{tail}")


def mangle(name: str) -> str:
    """C++ name of a port or hierarchical path, in the spelling of ``write_cxxrtl``."""
    return "p_" + "".join(
        c if c.isalnum() else "__" if c == "_" else f"_{ord(c):02x}_" for c in name
    )


def _quicken(folder, runtime, registers, cut):
    """Optimises the generated C++ and its copy of the runtime's header (:mod:`.quicken`)."""
    header = (runtime / _HEADER).read_text()
    (folder / _HEADER).parent.mkdir()
    (folder / _HEADER).write_text(direct_operators(one_chunk(header))[0])
    source, declarations = folder / "design.cc", folder / "design.h"
    text, members = plain_memories(source.read_text()), declarations.read_text()
    large = cut and len(text) > _CUT_ABOVE
    gated = gate(text, members) if registers and large else None
    if gated is not None:
        text, members = gated
    else:
        text = join_edges(text)
        if registers:
            members = copy_registers(members)
        if large:
            text, members = cut_up(text, members, _CUT_SIZE)
    source.write_text(text)
    declarations.write_text(members)


def _write_ports(folder):
    """Writes ``ports.hpp``, the tables of ports and memories through which the harness accesses the
    design."""
    header = (folder / "design.h").read_text()
    header = header[header.index("struct p_top ") :]
    source = (folder / "design.cc").read_text()
    body = source[source.index("bool p_top::eval(") :]
    ports = {}
    for direction, width, mangled in _PORT.findall(header):
        name = re.sub(r"__", "_", mangled[2:])
        if mangle(name) != mangled:
            raise CompileError(
                f"port {mangled} has a name that is not of letters, digits and underscores"
            )
        ports[name] = (direction, int(width))
    registered = "".join(re.findall(r"/\*output\*/ wire<\d+>( \w+;)", header))
    one_pass = re.search(r"bool converged = (true|false);", body).group(1) == "true"
    lines = [
        "#pragma once",
        '#include "simulation.hpp"',
        "static const quintet::Port quintet_ports[] = {",
    ]
    for name, (direction, width) in ports.items():
        lines.append(
            f'\t{{"{name}", {width}, {int(direction == "input")}, '
            f"[](quintet::Design &d) {{ return quintet::chunks(d.{mangle(name)}); }}}},"
        )
    memories = {name: (int(width), int(depth)) for width, name, depth in _MEMORY.findall(header)}
    lines += [
        "\t{nullptr, 0, 0, nullptr}",
        "};",
        "static const quintet::Cells quintet_memories[] = {",
    ]
    lines += [
        f'\t{{"{name}", [](quintet::Design &d) {{ return d.memory_{name}.data[0].data; }}}},'
        for name in memories
    ]
    lines += ["\t{nullptr, nullptr}", "};"]
    defines = [
        f"#define QUINTET_ONE_PASS {int(one_pass)}",
        f"#define QUINTET_HAS_CLOCK {int('clk' in ports)}",
        f"#define QUINTET_HAS_RESET {int('rst' in ports)}",
        f"#define QUINTET_CLOCK_USED {int(' prev_p_clk;' in header)}",
        f"#define QUINTET_SECOND_CLOCK {int(f' prev_{mangle(SECOND)};' in header)}",
    ]
    # A harness may look at these between two evaluations: they are registers, not copies of one.
    defines += [f"#define REGISTERED_{name}" for name in ports if f" {mangle(name)};" in registered]
    (folder / "features.hpp").write_text("\n".join(["#pragma once", *defines]) + "\n")
    (folder / "ports.hpp").write_text("\n".join(lines) + "\n")
    (folder / "register_table.hpp").write_text(register_table(header))
    (folder / "ports.json").write_text(
        json.dumps({"ports": ports, "memories": memories, "one_pass": one_pass})
    )
    return one_pass


def _script(trace):
    return _SCRIPT.format(
        flags="-g4" if trace else "-g0", split="" if trace else "splitnets -driver; "
    )


def write_cxx(
    rtlil_text: str,
    folder: Path,
    trace: bool = False,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Translates a design to C++ with yosys, run with more variables of the ``environment``:
    ``design.cc`` and ``design.h`` in ``folder``."""
    (folder / "design.il").write_text(rtlil_text)
    _run([*find_yosys().command, "-q", "-p", _script(trace)], folder, "yosys", environment)
    (folder / "design.il").unlink()
    if not (folder / "design.cc").is_file():
        raise CompileError("yosys wrote no C++")


def _generate(rtlil_text, trace, cache, say):
    yosys = find_yosys()
    key = "cxx-" + digest(
        rtlil_text,
        yosys.identity,
        _script(trace),
        *((HERE / name).read_bytes() for name in _REWRITERS),
    )

    def build(folder):
        environment = prepare(yosys, cache, say)
        say("compiling gateware to C++")
        write_cxx(rtlil_text, folder, trace, environment)
        one_pass = _write_ports(folder)
        _quicken(folder, yosys.runtime, registers=one_pass and not trace, cut=not trace)

    folder, _ = cache.entry(key, build)
    return folder, yosys.runtime


def _name_registers(rtlil_text, generated, cache):
    """File with the names of a design's registers."""
    yosys = find_yosys()

    def build(folder):
        write_registers(
            rtlil_text,
            (generated / "design.h").read_text(),
            folder,
            lambda script: _run([*yosys.command, "-q", "-p", script], folder, "yosys"),
        )

    folder, _ = cache.entry(
        "names-" + digest(generated.name, yosys.identity, (HERE / "registers.py").read_bytes()),
        build,
    )
    return folder / "registers.json"


def _sources(harness, include):
    """All source files of the library other than the design: the harness, headers beside it, and
    headers in ``include``."""
    found = {harness.name: harness.read_bytes()}
    for folder in (HERE, *include):
        for path in sorted(Path(folder).glob("*.hpp")):
            found[str(path.name)] = path.read_bytes()
    return found


def _compile(command, harness, folder):
    """Compiles a harness and the design to ``library.so`` in ``folder``, large designs by several
    processes side by side."""
    design = folder / "design.cc"
    texts = translation_units(design.read_text(), processors())
    design.write_text(texts[0])
    names = [harness]
    for number, text in enumerate(texts[1:]):
        names.append(f"design_{number}.cc")
        (folder / names[-1]).write_text(text)
    objects = [f"{name}.o" for name in names]

    def compiled(name):
        _run([*command, "-c", name, "-o", f"{name}.o"], folder, command[0])

    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(compiled, names))
    _run([*command, "-shared", *objects, "-o", "library.so"], folder, command[0])


def _read_library(folder, fresh, registers=None):
    about = json.loads((folder / "ports.json").read_text())
    ports, memories = (
        {name: tuple(value) for name, value in about[kind].items()}
        for kind in ("ports", "memories")
    )
    return Library(folder / "library.so", ports, memories, about["one_pass"], fresh, registers)


def build_library(
    top: Any,
    *,
    harness: str | Path = "generic.cpp",
    ports: Sequence[Any] | None = None,
    defines: Mapping[str, object] | None = None,
    include: Iterable[str | Path] = (),
    trace: bool = False,
    cache: BuildCache | str | Path | None = None,
    progress: Callable[[str], object] | None = None,
    made_from: Callable[[], str | None] | None = None,
    title: str = "the design",
    registers: bool = False,
) -> Library:
    """Compiles ``top`` together with a harness, or finds the result in the cache.

    Parameters
    ----------
    top : Amaranth component or fragment, or RTLIL as text. Its clock is the ``sync`` domain,
        its reset ``rst``.
    harness : name of a C++ source of this package, or a path
    ports : list of signals; needed only for fragments without a signature
    defines : dict, macro -> value
    include : folders of further headers the harness uses
    trace : bool, keep the names of all signals for a VCD (several times slower to run)
    cache : :class:`BuildCache` or folder
    progress : callable(str), called before each step that is not in the cache, and every few
        seconds with the C++ compiler's elapsed and estimated time
    made_from : callable giving a text that names all that ``top`` is made from,
        or ``None`` where that is not known (:func:`~.sources.made_from`). A design of the same text
        is not elaborated again
    title : str, its name in messages
    registers : bool, the harness can look at all registers, and their names are kept;
        not together with ``made_from``

    Raises
    ------
    ToolMissing, CompileError
    ParameterError
        It is refused in its elaboration.
    """
    cache = cache if isinstance(cache, BuildCache) else BuildCache(cache, progress)
    say = progress or (lambda text: None)
    compiler = find_compiler()
    harness = Path(harness) if Path(harness).is_absolute() else HERE / harness
    macros = {
        "QUINTET_TRACE": int(trace),
        **({"QUINTET_REGISTERS": 1} if registers else {}),
        **(defines or {}),
    }
    flags = [*_FLAGS, *(f"-D{name}={value}" for name, value in sorted(macros.items()))]
    sources = _sources(harness, include)
    origin = made_from() if made_from is not None else None
    if origin is not None:
        named = "board-" + digest(
            origin,
            find_yosys().identity,
            _script(trace),
            compiler.identity,
            *flags,
            *(x for pair in sources.items() for x in pair),
        )
        folder = cache.named(named)
        if folder is not None:
            settle(top)
            return _read_library(folder, False)
    if isinstance(top, str):
        text = top
    else:
        from amaranth.back import rtlil

        # Without source locations the text, and so the cache's key, is the same wherever the
        # package lies.
        start_preparing(find_yosys(), cache, say)
        with elaborating(title):
            text = rtlil.convert(top, name="top", ports=ports, emit_src=False)
    generated, runtime = _generate(text, trace, cache, say)
    key = "lib-" + digest(
        generated.name, compiler.identity, *flags, *(x for pair in sources.items() for x in pair)
    )

    def build(folder):
        for name, data in sources.items():
            (folder / name).write_bytes(data)
        for name in ("design.h", "design.cc", "features.hpp", "ports.hpp", "register_table.hpp"):
            (folder / name).write_bytes((generated / name).read_bytes())
        size = (generated / "design.cc").stat().st_size
        with CompileRate(cache.folder, compiler.identity).reported(
            say, "compiling C++ to a library", size
        ):
            headers = ["-I.", f"-I{generated}", f"-I{runtime}"]
            _compile([*compiler.command, *flags, *headers], harness.name, folder)
        for path in folder.iterdir():
            if path.name != "library.so":
                path.unlink()
        (folder / "ports.json").write_bytes((generated / "ports.json").read_bytes())

    folder, fresh = cache.entry(key, build)
    # Sources that changed while it was elaborated name nothing.
    if origin is not None and made_from is not None and made_from() == origin:
        cache.name(named, folder)
    return _read_library(
        folder, fresh, _name_registers(text, generated, cache) if registers else None
    )
