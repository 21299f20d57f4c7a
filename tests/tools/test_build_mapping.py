# SPDX-License-Identifier: BSD-2-Clause
"""Ways to map logic: what yosys is told, which names a family has, and the builds of the matrix."""

import pytest

from quintet.boards import open_board
from quintet.gateware.cores import open_core
from quintet.tools.build.bitstream import BuildError, begin, build_plan, prepare
from quintet.tools.build.mapping import MAPPINGS
from quintet.tools.build.matrix import Cell, build_cell, cells, design_of


def synthesis(board, isa, mapping):
    """The script's lines that run the synthesis."""
    board, package = open_board(board), open_core(isa)
    plan = build_plan(board, *prepare(board, package), mapping=mapping)
    lines = [line.strip() for line in plan.files["top.ys"].splitlines()]
    return [line for line in lines if line.startswith(f"synth_{board.family}")]


def test_a_mapping_takes_the_place_of_the_cores_own_options():
    assert synthesis("ulx3s-25f", "pim", None) == [
        "synth_ecp5 -nowidelut -run begin:map_gates -top top",
        "synth_ecp5 -nowidelut -run map_gates: -top top",
    ]
    assert synthesis("ulx3s-25f", "pim", "retime") == [
        "synth_ecp5 -noabc9 -retime -run begin:map_gates -top top",
        "synth_ecp5 -noabc9 -retime -run map_gates: -top top",
    ]
    assert synthesis("icebreaker", "imagine", None) == ["synth_ice40 -dffe_min_ce_use 8 -top top"]
    assert synthesis("icebreaker", "imagine", "abc9") == ["synth_ice40 -abc9 -top top"]


def test_a_name_of_the_other_family_is_refused_before_the_elaboration(tmp_path):
    with pytest.raises(BuildError, match="mapping abc: expected one of plain, abc9, .* an iCE40"):
        begin("icebreaker", "opu", dir=tmp_path / "b", mapping="abc")
    with pytest.raises(BuildError, match="mapping x: expected one of plain, abc, .* an ECP5"):
        begin("ulx3s-25f", "opu", dir=tmp_path / "b", mapping="x")
    assert not (tmp_path / "b").exists()


def test_an_unknown_name_is_refused_by_the_matrix(quintet):
    ran = quintet("matrix", "--board", "icebreaker", "--mapping", "x", "--list")
    assert ran.code == 2 and "--mapping x: expected one of abc, abc2, abc9, dff" in ran.err


def test_cells_are_the_mappings_that_a_family_has():
    boards = [open_board(name) for name in ("ulx3s-25f", "icebreaker")]
    found = cells(boards, [open_core("pim")], mappings=("abc9", "nowidelut", "dff"))
    assert [cell.key.split("/", 2)[2] for cell in found if cell.board == "icebreaker"] == [
        "up5k/1/abc9",
        "up5k/1/dff",
    ]
    assert {cell.mapping for cell in found if cell.board == "ulx3s-25f"} == {"nowidelut", "dff"}
    assert set(MAPPINGS["ice40"]) - set(MAPPINGS["ecp5"]) == {"abc9", "abc2"}


def test_a_cell_is_built_with_its_mapping(tmp_path, monkeypatch):
    asked = []

    def ran(command, **options):
        asked.append(command)
        raise KeyboardInterrupt

    monkeypatch.setattr("quintet.tools.build.matrix.run_child", ran)
    with pytest.raises(KeyboardInterrupt):
        build_cell(Cell("icebreaker", "opu", "up5k", 2, mapping="abc9"), tmp_path)
    (command,) = asked
    assert command[command.index("--mapping") + 1] == "abc9"
    assert command[command.index("-o") + 1].endswith("up5k-2-abc9")


def test_another_mapping_is_another_design():
    own, other = (
        design_of(Cell("icebreaker", "opu", "up5k", mapping=mapping)) for mapping in (None, "abc9")
    )
    assert own and other and own != other
    assert own == design_of(Cell("icebreaker", "opu", "up5k", mapping="plain"))
