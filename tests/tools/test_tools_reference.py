# SPDX-License-Identifier: BSD-2-Clause
"""The reference pages are those of the tables as they are now."""

from pathlib import Path

import pytest

from quintet.gateware.bus.registers import SOC_REGISTERS
from quintet.gateware.cores import core_names, open_core
from quintet.gateware.isa.registers import COMMON_COUNTERS, COMMON_REGISTERS
from quintet.gateware.standalone.runlist import RUN_LIST_REGISTERS
from quintet.tools.pages.reference import MARKER, control_block_page, main, reference_page


def test_pages_are_current(capsys):
    assert main(["--check"]) == 0, (
        f"run python -m quintet.tools.pages.reference: {capsys.readouterr().err}"
    )


@pytest.mark.parametrize("name", core_names())
def test_every_room_has_a_page_and_a_specification(name):
    docs = Path(__file__).resolve().parents[2] / "docs"
    assert (docs / "reference" / f"{name}.md").is_file() and (docs / "isa" / f"{name}.md").is_file()


def test_control_block_page_names_everything():
    page = control_block_page()
    for name in (
        *(r.name for r in COMMON_REGISTERS),
        *(f"cnt_{c.name}" for c in COMMON_COUNTERS),
        *SOC_REGISTERS,
        *RUN_LIST_REGISTERS,
    ):
        assert f"`{name}`" in page, name


def test_page_names_everything():
    package = open_core("opentpu")
    page = reference_page(package)
    assert page.startswith(MARKER)
    isa, space = package.isa.ISA, package.params.SPACE
    for name in (
        *isa.opcodes,
        *isa.fault_codes,
        *isa.register_map,
        *package.software.SOFTWARE.forms,
        *space.parameters,
        *space.presets,
    ):
        assert f"`{name}" in page or f"### {name}" in page, name


def test_a_stale_page_is_found_and_written(tmp_path, capsys):
    assert main(["--check", "--folder", str(tmp_path), "opentpu"]) == 1
    assert "opentpu.md: is not current" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert main(["--folder", str(tmp_path), "opentpu"]) == 0
    assert main(["--check", "--folder", str(tmp_path), "opentpu"]) == 0
    (tmp_path / "reference" / "opentpu.md").write_text("old")
    assert main(["--check", "--folder", str(tmp_path), "opentpu"]) == 1
