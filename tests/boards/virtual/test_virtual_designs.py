# SPDX-License-Identifier: BSD-2-Clause
"""The C++ of the boards themselves: cut into functions or gated parts, every name stands behind its
declaration, and nothing is lost."""

import os
import re
import time
from pathlib import Path

import pytest
from amaranth.back import rtlil

from quintet import gateware
from quintet.boards import board_names, open_board
from quintet.boards.virtual.board import open_virtual
from quintet.boards.virtual.cache import BuildCache
from quintet.boards.virtual.compile import _CUT_SIZE, write_cxx
from quintet.boards.virtual.gating import gate
from quintet.boards.virtual.quicken import (
    LOCAL,
    cut_up,
    eval_body,
    is_head,
    join_edges,
    split_edge,
)
from quintet.boards.virtual.statements import statements, without_comments
from quintet.boards.virtual.toolchain import digest, find_yosys
from quintet.boards.virtual.top import VirtualTop
from quintet.gateware.cores import core_names, open_core
from quintet.gateware.isa.parameters import ParameterError
from quintet.tools.build.matrix import cells, source_digest
from quintet.tools.link.client import LinkClient
from tests.support.cut_designs import same_statements, undeclared


def check(board, isa, preset, folder):
    """Has yosys write a board's C++, and looks at it cut up."""
    soc = open_board(board).make_soc(package=open_core(isa), preset=preset, family=None)
    write_cxx(rtlil.convert(VirtualTop(soc=soc), name="top", emit_src=False), folder)
    source, header = (folder / "design.cc").read_text(), (folder / "design.h").read_text()
    runtime = (find_yosys().runtime / "cxxrtl" / "cxxrtl.h").read_text()
    joined = join_edges(source)
    cut, members = cut_up(joined, header, _CUT_SIZE)
    assert cut.count("void p_top::eval_") > 1
    for text, declarations in ((joined, header), (cut, members)):
        assert undeclared(text, declarations, runtime) == []
        assert same_statements(source, text)
    gated = gate(source, header)
    assert gated is not None
    text, declarations = gated
    more = " ".join(["quintet stale ran", *re.findall(r"\bwas_\w+;", declarations)])
    assert undeclared(text, declarations, runtime + more) == []
    begin, end = eval_body(source)
    for statement in statements(without_comments(source[begin:end])):
        if not (LOCAL.fullmatch(statement) or is_head(statement)):
            assert text.count(split_edge(statement)[1]) == 1, statement


@pytest.mark.parametrize(
    "board, isa, preset",
    [("icebreaker", "opu", "up5k"), ("icebreaker", "pim", "up5k"), ("ulx3s-25f", "imagine", "25f")],
)
def test_names_are_declared_before_their_use(board, isa, preset, tmp_path):
    """Designs in which comments stand between an index of a memory and its use."""
    check(board, isa, preset, tmp_path)


@pytest.mark.long
def test_names_of_every_board_and_preset(tmp_path):
    """All that `quintet boards` lists, as far as the time reaches; what has passed is not looked at
    again while no source changes."""
    until = time.monotonic() + 60 * float(os.environ.get("QUINTET_MINUTES", "20"))
    sources = source_digest(Path(gateware.__file__).parents[1]), find_yosys().identity
    every = cells(
        map(open_board, board_names()),
        [package for package in map(open_core, core_names()) if package.has_core],
    )
    cache, refused, done = BuildCache(), [], 0
    for number, cell in enumerate(every):
        if time.monotonic() > until:
            break

        def build(folder, cell=cell):
            (work := tmp_path / cell.key.replace("/", "-")).mkdir()
            try:
                check(cell.board, cell.isa, cell.preset, work)
            except ParameterError as error:
                (folder / "refused").write_text(str(error))

        folder, _ = cache.entry("cut-" + digest(cell.key, *sources), build)
        done = number + 1
        if (folder / "refused").exists():
            refused.append((folder / "refused").read_text())
    print(f"{done} of {len(every)} boards and presets, {len(refused)} refused: {refused}")
    assert (
        all("cannot be built for" in text for text in refused) and len(refused) < len(every) // 20
    )


@pytest.mark.long
@pytest.mark.parametrize(
    "board, isa, preset",
    [
        *(("icebreaker", isa, None) for isa in core_names() if open_core(isa).has_core),
        ("ulx3s-25f", "imagine", None),
        ("ulx3s-85f", "imagine", "85f-tall"),
    ],
)
def test_every_core_compiles(board, isa, preset):
    with open_virtual(board, isa, preset=preset) as virtual:
        virtual.pipe.sleep(0.00025)
        client = LinkClient(virtual.pipe, seed=1)
        assert client.identify()[:4] == b"QNTT"
        client.write(0x101, bytes(range(100)))
        assert client.read(0x100, 102) == b"\0" + bytes(range(100)) + b"\0"
