# SPDX-License-Identifier: BSD-2-Clause
"""A board in the cache is found by what it is made from, without elaboration, and only by that."""

import dataclasses
import gc
import os
import shutil
import time
import warnings
from types import SimpleNamespace

import pytest
from amaranth import Module
from amaranth.back import rtlil
from amaranth.hdl import UnusedElaboratable
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from quintet.boards import open_board
from quintet.boards.virtual import sources
from quintet.boards.virtual.bench import CoreBench
from quintet.boards.virtual.board import open_virtual
from quintet.boards.virtual.cache import BuildCache
from quintet.boards.virtual.compile import build_library
from quintet.gateware.cores import open_core

BOARD, PACKAGE = open_board("ulx3s-25f"), open_core("pim")
LATER = time.time() + 1e6


class Part(wiring.Component):
    spare: In(1)

    def elaborate(self, platform):
        return Module()


class Counter(wiring.Component):
    def __init__(self, step):
        self.step, self.parts = step, [Part()]
        super().__init__({"count": Out(8)})

    def elaborate(self, platform):
        m = Module()
        m.submodules += self.parts
        m.d.sync += self.count.eq(self.count + self.step)
        return m


def forbidden(*arguments, **more):
    raise AssertionError("elaborated")


@pytest.fixture
def tree(tmp_path):
    for name in (
        "gateware/cores/pim/core.py",
        "gateware/table.hpp",
        "boards/ulx3s.py",
        "gateware/__pycache__/core.pyc",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


def digest(tree):
    return sources.source_digest((tree / "gateware", tree / "boards"), LATER)


def test_any_edit_changes_the_digest(tree):
    seen = {digest(tree)}
    for change in (
        lambda: (tree / "gateware/cores/pim/core.py").write_text("other"),
        lambda: (tree / "boards/ulx3s.py").write_text(""),
        lambda: (tree / "gateware/table.hpp").write_text("x"),
        lambda: (tree / "gateware/new.py").write_text(""),
        lambda: (tree / "gateware/new.py").rename(tree / "boards/new.py"),
        lambda: (tree / "boards/new.py").unlink(),
    ):
        change()
        seen.add(digest(tree))
    # The last state is that before the new file.
    assert len(seen) == 6
    (tree / "gateware/__pycache__/core.pyc").write_text("other")
    assert digest(tree) in seen


def test_what_was_touched_since_the_process_began_is_not_trusted(tree):
    now = time.time()
    assert sources.source_digest((tree / "gateware",), now) is None
    assert sources.source_digest((tree / "gateware",), now + 3) is not None
    # Copying tools can set the one time, not the other.
    os.utime(tree / "gateware/table.hpp", (1, 1))
    assert sources.source_digest((tree / "gateware",), now) is None


@pytest.fixture
def trusted(tree, monkeypatch):
    monkeypatch.setattr(sources, "_ROOT", tree)
    monkeypatch.setattr(sources, "LOADED_AT", LATER)


def test_configuration_and_versions_are_part_of_it(tree, trusted, monkeypatch):
    base = {"preset": "25f", "params": {"cores": 1}, "clock_hz": 25, "link": "bytes"}
    first = sources.made_from(BOARD, PACKAGE, **base)
    seen = {
        first,
        sources.made_from(BOARD, None, **base),
        sources.made_from(BOARD, open_core("opu"), **base),
        sources.made_from(
            dataclasses.replace(
                BOARD, memory=dataclasses.replace(BOARD.memory, part="IS42S16160G")
            ),
            PACKAGE,
            **base,
        ),
    }
    for key, value in {
        "preset": "85f",
        "params": {"cores": 2},
        "clock_hz": 26,
        "link": "wire",
    }.items():
        seen.add(sources.made_from(BOARD, PACKAGE, **base | {key: value}))
    assert (
        None not in seen and len(seen) == 8 and sources.made_from(BOARD, PACKAGE, **base) == first
    )
    for name in sources._PACKAGES:
        whole = sources.metadata.distribution(name)
        monkeypatch.setattr(
            sources.metadata,
            "distribution",
            lambda asked, name=name, whole=whole, real=sources.metadata.distribution: (
                SimpleNamespace(version="77", read_text=whole.read_text)
                if asked == name
                else real(asked)
            ),
        )
        seen.add(sources.made_from(BOARD, PACKAGE, **base))
    assert len(seen) == 8 + len(sources._PACKAGES)


def test_sources_of_other_cores_are_no_part_of_it(tree, trusted):
    other = tree / "gateware/cores/opu/core.py"
    other.parent.mkdir()

    def change(path):
        """Whether the texts of PIM, of the OPU and of a board alone change with a file."""
        designs = PACKAGE, open_core("opu"), None
        before = [sources.made_from(BOARD, package) for package in designs]
        path.write_text("changed")
        return [
            sources.made_from(BOARD, package) != text
            for package, text in zip(designs, before, strict=True)
        ]

    assert change(other) == [False, True, False]
    assert change(tree / "gateware/cores/pim/core.py") == [True, False, False]
    assert change(tree / "gateware/cores/__init__.py") == [True, True, True]


def test_what_is_not_known_for_certain_has_no_name(tree, trusted, monkeypatch):
    class OwnBoard(type(BOARD)):
        pass

    assert sources.made_from(BOARD, PACKAGE) is not None
    assert (
        sources.made_from(
            OwnBoard(**{f.name: getattr(BOARD, f.name) for f in dataclasses.fields(BOARD)}), PACKAGE
        )
        is None
    )
    assert sources.made_from(BOARD, SimpleNamespace(name="pim")) is None
    assert sources.made_from(BOARD, SimpleNamespace(name="pim", package="elsewhere.pim")) is None
    with monkeypatch.context() as patch:
        patch.setattr(
            sources.metadata,
            "distribution",
            lambda name: SimpleNamespace(
                version="1", read_text=lambda file: '{"dir_info": {"editable": true}}'
            ),
        )
        assert sources.made_from(BOARD, PACKAGE) is None
    with monkeypatch.context() as patch:
        patch.setattr(sources, "_PACKAGES", ("no-such-package",))
        assert sources.made_from(BOARD, PACKAGE) is None
    monkeypatch.setattr(sources, "LOADED_AT", time.time() - 1000)
    assert sources.made_from(BOARD, PACKAGE) is None


def test_a_known_design_is_not_elaborated(tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    first = build_library(Counter(3), cache=cache, made_from=lambda: "three")
    other = build_library(Counter(5), cache=cache, made_from=lambda: "five")
    changing = iter(("before", "after"))
    build_library(Counter(5), cache=cache, made_from=lambda: next(changing))
    real = rtlil.convert
    monkeypatch.setattr(rtlil, "convert", forbidden)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UnusedElaboratable)
        again = build_library(Counter(3), cache=cache, made_from=lambda: "three")
        gc.collect()
    assert not [str(one.message) for one in said if one.category is UnusedElaboratable]
    assert (again.path, again.ports, again.fresh) == (
        first.path,
        first.ports,
        False,
    ) and other.path != first.path
    for key in ("before", "after", None):
        with pytest.raises(AssertionError, match="elaborated"):
            build_library(Counter(5), cache=cache, made_from=lambda key=key: key)
    with pytest.raises(AssertionError, match="elaborated"):
        build_library(Counter(3), cache=cache, made_from=lambda: "three", defines={"OTHER": 1})
    monkeypatch.setattr(rtlil, "convert", real)


def test_a_name_whose_entry_is_gone_is_forgotten(tmp_path):
    cache = BuildCache(tmp_path)
    folder, _ = cache.entry("lib-1", lambda f: None)
    assert cache.named("board-1") is None
    cache.name("board-1", folder)
    assert cache.named("board-1") == folder
    shutil.rmtree(folder)
    assert cache.named("board-1") is None and not (tmp_path / "board-1").exists()
    other, _ = cache.entry("lib-2", lambda f: None)
    cache.name("board-1", other)
    assert cache.named("board-1") == other


def test_a_board_is_opened_by_its_sources(monkeypatch):
    with open_virtual("ulx3s-25f", None):
        pass
    if sources.made_from(BOARD, None) is None:
        pytest.skip("sources were touched since this process began")
    monkeypatch.setattr(rtlil, "convert", forbidden)
    with open_virtual("ulx3s-25f", None) as board:
        assert not board.library.fresh
        board.advance(10)
    with pytest.raises(AssertionError, match="elaborated"):
        open_virtual("ulx3s-25f", None, clock_hz=board.clock_hz - 1_000_000)


def test_a_core_bench_is_opened_by_its_sources(monkeypatch):
    def open_small(isa="opu", preset="sim", beat_bytes=2, memory_size=1 << 17, ports="shell"):
        return CoreBench(
            isa, preset=preset, beat_bytes=beat_bytes, memory_size=memory_size, ports=ports
        )

    with open_small():
        pass
    if sources.made_from(None, PACKAGE) is None:
        pytest.skip("sources were touched since this process began")
    monkeypatch.setattr(rtlil, "convert", forbidden)
    with open_small() as bench:
        assert not bench.library.fresh and not bench.busy
    # None of these sizes is that of another test's bench.
    for other in ({"memory_size": 1 << 15}, {"beat_bytes": 1}, {"ports": "bare"}, {"isa": "pim"}):
        with pytest.raises(AssertionError, match="elaborated"):
            open_small(**{"memory_size": 3 << 15} | other)
