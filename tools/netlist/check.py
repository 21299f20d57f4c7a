# SPDX-License-Identifier: BSD-2-Clause
"""A build against what was simulated: its netlist and the virtual board hold the same conversation, to the cycle."""
import json
import random
import time
import zlib
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ...boards.virtual.simulation import SimulationError
from ...boards.virtual.sources import settle
from ..build.logs import TOP
from ..errors import InputError
from ..link.errors import LinkError
from ..selftest.core import test_core
from ..selftest.finding import Finding
from .board import NetlistBoard
from .packing import read_build
from .readback import read_back

__all__ = ["Check", "Outcome", "Subject", "check_build", "compare", "converse", "patience"]

#: Deadlines of the host in bytes of the line: nothing answers later, and what is broken shall be seen soon.
_TIMEOUT, _RETRY = 3000, 1200
#: A netlist may take so many times the cycles of the virtual board, and so many more, before it counts as stuck.
_PATIENCE, _MORE = 3, 1_000_000
#: Seconds after power-up and the memory chip's initialisation at which a host comes.
_LATER = 100e-6
#: Bytes that are written and read; an address that is a multiple of nothing.
_BYTES, _AT = 217, 0x103
#: By how much the phase of an SDRAM's clock may differ from the one that the build reports, in nanoseconds.
_PHASE_NEAR = 0.02


@dataclass(frozen=True)
class Outcome:
    """What a conversation gave: ``findings``, ``cycles`` of the main clock that it took, ``failed``: what ended it before its end."""
    findings: tuple
    cycles: int
    failed: str = ""

    @property
    def ok(self):
        return not self.failed and all(finding.ok is not False for finding in self.findings)


@dataclass
class Check:
    """Result of :func:`check_build`.

    Attributes
    ----------
    netlist, virtual : Outcome
    cells : dict, kind -> how many the netlist has
    sdram_rises_ns : from a change of an SDRAM's lines to its clock, by the netlist's clocks; ``None`` without such a chip
    wrong : list of str, all that differs; empty: what is built is what was simulated
    seconds : wall time of both conversations
    """
    netlist: Outcome
    virtual: Outcome
    cells: dict
    sdram_rises_ns: float = None
    wrong: list = field(default_factory=list)
    seconds: float = 0.0

    @property
    def ok(self):
        return not self.wrong

    def as_dict(self):
        return {"ok": self.ok, "wrong": self.wrong, "cells": self.cells, "sdram_rises_ns": self.sdram_rises_ns, "cycles": self.netlist.cycles,
                "seconds": round(self.seconds, 1), "findings": [asdict(finding) for finding in self.netlist.findings]}


def _report(folder):
    path = Path(folder) / "report.json"
    try:
        report = json.loads(path.read_text())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; expected the folder of a build (quintet build -o)") from None
    except ValueError:
        raise InputError(f"{path}: not JSON; expected the report of a build") from None
    missing = [name for name in ("board", "isa", "link", "preset", "params", "clock_asked_mhz", "bitstream") if not isinstance(report, dict) or name not in report]
    if missing:
        raise InputError(f"{path}: no {missing[0]}; expected the report of a build that ended with a bitstream")
    if report["link"] != "uart":
        raise InputError(f"{path}: link {report['link']}; only builds with link uart can be checked, since the host is simulated at a serial line's pins")
    return report


def _align(board):
    """Let time pass until the memory chip has just been refreshed, so that both boards are at the same place of its interval."""
    count = _refreshes(board)
    while board.soc.backing.kind == "SDRAM" and _refreshes(board) == count:
        board.advance(1)


def _refreshes(board):
    return board.refreshes if hasattr(board, "refreshes") else board.chip_counts["refreshes"]


def converse(board, name, every=False):
    """What a host and a board say to each other: identify, write, read, sum up, and the core's units.

    Parameters
    ----------
    board : VirtualBoard or NetlistBoard
    name : str, of the target
    every : bool, all units of the core rather than one

    Returns
    -------
    Outcome
    """
    from ..link.client import LinkClient
    from ..targets.link import LinkTarget
    from ..targets.sim import SimTarget
    findings, began = [], 0
    try:
        board.pipe.sleep(getattr(board.soc.backing, "powerup_ns", 0) * 1e-9 + _LATER)
        byte = 1 / board.pipe.bytes_per_second
        client = LinkClient(board.pipe, seed=1, timeout=_TIMEOUT * byte, retry=_RETRY * byte)
        target = LinkTarget(client=client, name=name, kind="sim")
        info = target.info
        findings.append(Finding("link", "identify", True, f"{info.board}, {info.isa or 'no core'} {info.preset or ''}".rstrip() + f", {info.clock_hz / 1e6:g} MHz"))
        _align(board)
        # The host's pauses, too, shall be the same to the cycle: they are rounded by the time of day.
        began = board.pipe.epoch = board.cycle
        findings += _memory(target)
        if info.isa is not None:
            # What a unit needs is put into a memory chip where it lies: over the line it would take longer than all the rest.
            findings += test_core(SimTarget(client=client, name=name, board=board, direct=board.chip is not None), one=not every)
        again = client.repeats + client.damaged
        findings.append(Finding("link", "frames", not again, f"{client.repeats} requests sent again, {client.damaged} answers spoilt"))
        return Outcome(tuple(findings), board.cycle - began)
    except (LinkError, SimulationError) as error:
        return Outcome(tuple(findings), board.cycle - began, str(error))


def _memory(target):
    """Bytes at odd places, at both ends of main memory, and their sum."""
    rng, size = random.Random(1), target.info.memory_size
    for at in (_AT, size - _BYTES):
        data = rng.randbytes(_BYTES)
        target.write(at, data)
        equal, summed = target.read(at, _BYTES) == data, target.checksum(at, _BYTES) == zlib.crc32(data)
        found = f"{_BYTES} bytes at {at:#x}: " + ("equal" if equal else "DIFFERENT") + (", sum right" if summed else ", sum WRONG")
        yield Finding("memory", "write, read, checksum", equal and summed, found)


def patience(cycles):
    """Cycles after which a netlist counts as stuck where a good one needs so many."""
    return _PATIENCE * cycles + _MORE


def compare(netlist, virtual):
    """What differs between two outcomes, in words."""
    for which, outcome in (("netlist", netlist), ("virtual board", virtual)):
        if outcome.failed:
            yield f"the {which}: {outcome.failed}"
        for finding in outcome.findings:
            if finding.ok is False:
                yield f"the {which}, {finding.name}: {finding.found}"
    for ours, theirs in zip(netlist.findings, virtual.findings, strict=False):
        if ours.counters != theirs.counters:
            names = [name for name in theirs.counters if ours.counters.get(name) != theirs.counters[name]]
            yield f"{ours.name}: counters differ, {', '.join(f'{n} {ours.counters.get(n)} of {theirs.counters[n]}' for n in names)} (netlist, virtual board)"
        elif ours != theirs:
            yield f"{ours.name}: {ours.found} (netlist), {theirs.found} (virtual board)"
    if netlist.ok and virtual.ok and netlist.cycles != virtual.cycles:
        yield f"the conversation took {netlist.cycles:,} cycles on the netlist, {virtual.cycles:,} on the virtual board"


class Subject:
    """A finished build, what its folder says of it, and its netlist.

    Parameters
    ----------
    folder : path
    routed : bool, the netlist is the routed bitstream, read back (:func:`~.readback.read_back`)
    cache : as of :func:`~quintet.boards.virtual.compile.build_library`

    Attributes
    ----------
    report : dict, its ``report.json``
    board : Board
    netlist : Netlist

    Raises
    ------
    InputError, NetlistError, BuildError, NoDeviceError
        As of :func:`check_build`.
    """
    def __init__(self, folder, cache=None, routed=False):
        from ...boards import open_board
        from ...gateware.cores import open_room
        self.folder, self.report, self._cache = Path(folder), _report(folder), cache
        self.board = open_board(self.report["board"])
        self._room = open_room(self.report["isa"]) if self.report["isa"] else None
        self.netlist = read_back(self.folder, self.board) if routed else read_build(self.folder, self.board.family)

    def soc(self, family):
        """The SoC again; ``family`` as of :meth:`~quintet.boards.board.Board.make_soc`. It is never elaborated."""
        report = self.report
        made = self.board.make_soc(room=self._room, preset=report["preset"], params=report["params"] or None,
                                   clock_hz=round(report["clock_asked_mhz"] * 1e6), link="uart", family=family)
        settle(made)
        return made

    def virtual(self, progress=None):
        """Its virtual board, with wires to the host."""
        from ...boards.virtual.board import VirtualBoard
        return VirtualBoard(board=self.board, soc=self.soc(None), link="wire", cache=self._cache, progress=progress)

    def placed(self, netlist=None, seed=1, limit=None):
        """The board around its netlist, or around another one."""
        return NetlistBoard(self.board, self.soc("own"), netlist or self.netlist, seed, self._cache, limit)

    @property
    def name(self):
        return f"the netlist {self.folder / f'{TOP}.json'}"


def check_build(folder, seed=1, every=False, cache=None, progress=lambda text: None, routed=False):
    """Check a finished build.

    Parameters
    ----------
    folder : path of the build
    seed : int, of all that the chip does not define: contents of memories, floating inputs, reads that meet a write
    every : bool, all units of the core
    cache : as of :func:`~quintet.boards.virtual.compile.build_library`
    progress : callable(str)
    routed : bool, the routed bitstream is read back, rather than what was placed

    Returns
    -------
    Check

    Raises
    ------
    InputError
        It is no folder of a build with a serial link.
    NetlistError
        The netlist holds a cell, or a mode of one, that the simulation does not know, or is not one of that SoC.
    ToolMissing, CompileError, NoDeviceError, BuildError
        A tool is missing or fails.
    """
    progress("reading the netlist")
    subject = Subject(folder, cache, routed)
    began = time.monotonic()
    progress("simulating the virtual board")
    with subject.virtual(progress) as virtual:
        theirs = converse(virtual, f"sim:{subject.board.name}", every)
        limit = patience(virtual.cycle)
    progress("simulating the netlist")
    with subject.placed(seed=seed, limit=limit) as placed:
        ours = converse(placed, subject.name, every)
        rises = placed.rises if placed.soc.backing.kind == "SDRAM" else None
    check = Check(ours, theirs, subject.netlist.count(), rises, list(compare(ours, theirs)), time.monotonic() - began)
    if rises is not None:
        wanted = subject.report["sdram"]["phase_degrees"] / 360 * 1000 / subject.report["clock_real_mhz"]
        if abs(rises - wanted) > _PHASE_NEAR + 0.0005 * wanted:
            check.wrong.append(f"the SDRAM's clock rises {rises:.2f} ns after its lines change; {wanted:.2f} expected")
    return check
