# SPDX-License-Identifier: BSD-2-Clause
"""Save files beside a trace: which signals, in the words of GTKWave and of Surfer; all of them are
in the trace."""

import re
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from quintet.boards.virtual.board import open_virtual
from quintet.boards.virtual.views import chosen, declared, write_views
from tests.support.tiny_core import PACKAGE

VCD = """$timescale 1 ns $end
$scope module top $end
$var wire 1 ! clk $end
$var wire 8 " count $end
$var wire 8 # count$12 $end
$scope module part $end
$var reg 4 $ inner $end
$upscope $end
$upscope $end
$enddefinitions $end
#0
$var wire 1 ! never $end
"""


def test_signals_of_a_head(tmp_path):
    (tmp_path / "a.vcd").write_text(VCD)
    assert declared(tmp_path / "a.vcd") == {
        "top.clk": 1,
        "top.count": 8,
        "top.count$12": 8,
        "top.part.inner": 4,
    }


def test_design_that_is_no_board(tmp_path):
    (tmp_path / "a.vcd").write_text(VCD)
    write_views(tmp_path / "a.vcd", tmp_path / "a.fst")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.fst.gtkw", "a.fst.sucl", "a.vcd"]
    assert (
        tmp_path / "a.fst.sucl"
    ).read_text() == "divider_add top\nvariable_add top.clk\nvariable_add top.count\nzoom_fit\n"
    text = (tmp_path / "a.fst.gtkw").read_text()
    assert '[dumpfile] "a.fst"\n' in text and "\ntop.clk\ntop.count[7:0]\n" in text


def test_groups_have_what_there_is():
    names = [
        "top.clk",
        "top.soc.core.control.busy",
        "top.soc.core.control.other",
        "top.soc.core.memory__req__valid",
        "top.soc.core.memory__req__valid$1",
        "top.soc.core.memory__req__payload.beats",
        "top.soc.core.memory__0__r__ready",
    ]
    assert chosen(names) == {
        "run": names[:2],
        "memory of the core": names[3:4],
        "ports of the engine": names[6:],
    }


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """The folder of a virtual board's trace."""
    folder = tmp_path_factory.mktemp("trace")
    with open_virtual(
        "icebreaker",
        PACKAGE,
        preset=next(iter(PACKAGE.params.SPACE.presets)),
        trace=folder / "run.vcd",
    ) as board:
        board.advance(100)
    return folder


def test_what_a_board_s_save_files_name_is_in_its_trace(traced):
    signals = declared(traced / "run.vcd")
    shown = re.findall(r"^variable_add (.+)$", (traced / "run.vcd.sucl").read_text(), re.M)
    assert (
        set(shown) <= set(signals)
        and len(shown) > 20
        and "top.soc.core.control.engine__stall" in shown
    )
    text = (traced / "run.vcd.gtkw").read_text()
    named = re.findall(r"^(top\.[^\s\[]+)(?:\[(\d+):0\])?$", text, re.M)
    assert [name for name, _ in named] == shown and all(
        signals[name] == int(top or 0) + 1 for name, top in named
    )
    groups = re.findall(r"^divider_add (.+)$", (traced / "run.vcd.sucl").read_text(), re.M)
    assert groups == [
        "run",
        "memory of the core",
        "ports of the engine",
        "link",
        "bus of the core",
    ] and all(f"\n-{group}\n" in text for group in groups)


def test_trace_that_went_is_one_error(traced, tmp_path):
    from quintet.boards.virtual.simulation import TraceError

    board = open_virtual(
        "icebreaker",
        PACKAGE,
        preset=next(iter(PACKAGE.params.SPACE.presets)),
        trace=tmp_path / "run.vcd",
    )
    board.advance(1)
    (tmp_path / "run.vcd").unlink()
    with pytest.raises(TraceError, match="cannot write the trace .*run.vcd: No such file"):
        board.close()


def traced_board(trace):
    return open_virtual(
        "icebreaker", PACKAGE, preset=next(iter(PACKAGE.params.SPACE.presets)), trace=trace
    )


@contextmanager
def full_disk(size):
    """No file grows beyond ``size`` bytes."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of a file's size")
def test_trace_on_a_full_disk_ends_the_run_and_leaves_no_file(traced, tmp_path):
    from quintet.boards.virtual.simulation import TraceError

    path = tmp_path / "run.vcd"
    board = traced_board(path)
    told = f"^cannot write the trace {re.escape(str(path))}: File too large$"
    with full_disk(100_000):
        with pytest.raises(TraceError, match=told):
            board.advance(100_000)
        assert board.cycle < 100_000 and list(tmp_path.iterdir()) == []
        with pytest.raises(TraceError, match=told):
            board.advance(1)
        board.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_trace_whose_last_bytes_find_no_space_is_one_error(traced, tmp_path):
    from quintet.boards.virtual.simulation import TraceError

    path = tmp_path / "run.vcd"
    path.symlink_to("/dev/full")
    board = traced_board(path)
    with pytest.raises(TraceError, match="cannot write the trace .*run.vcd: No space left"):
        try:
            board.advance(10)
        finally:
            board.close()
    assert path.is_symlink() and not path.with_name("run.vcd.gtkw").exists()
