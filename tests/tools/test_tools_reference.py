# SPDX-License-Identifier: BSD-2-Clause
"""The reference pages are those of the tables as they are now."""
import pytest
from quintet.gateware.cores import open_room, room_names
from quintet.tools.reference import MARKER, main, reference_page


@pytest.mark.parametrize("name", room_names())
def test_page_is_current(name, capsys):
    assert main(["--check", name]) == 0, f"run python -m quintet.tools.reference {name}: {capsys.readouterr().err}"


def test_page_names_everything():
    room = open_room("opentpu")
    page = reference_page(room)
    assert page.startswith(MARKER)
    isa, space = room.isa.ISA, room.params.SPACE
    for name in (*isa.opcodes, *isa.fault_codes, *isa.register_map, *isa.forms, *space.parameters, *space.presets):
        assert f"`{name}" in page or f"### {name}" in page, name


def test_a_stale_page_is_found_and_written(tmp_path, capsys):
    assert main(["--check", "--folder", str(tmp_path), "opentpu"]) == 1
    assert "opentpu.md: is not current" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert main(["--folder", str(tmp_path), "opentpu"]) == 0
    assert main(["--check", "--folder", str(tmp_path), "opentpu"]) == 0
    (tmp_path / "opentpu.md").write_text("old")
    assert main(["--check", "--folder", str(tmp_path), "opentpu"]) == 1
