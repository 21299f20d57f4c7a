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
from ..targets.sim import RETRY, TIMEOUT
from .board import NetlistBoard
from .packing import read_build

__all__ = ["Check", "Outcome", "check_build", "converse"]

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
        return not self.failed and all(finding.ok for finding in self.findings)


@dataclass
class Check:
    """Result of :func:`check_build`.

    Attributes
    ----------
    netlist, virtual : Outcome
    cells : dict, kind -> how many the netlist has
    sdram_rises_ns : (least, most) from a change of an SDRAM's lines to its clock, by the netlist's clocks; ``None`` without such a chip
    wrong : list of str, all that differs; empty: what is built is what was simulated
    seconds : wall time of both conversations
    """
    netlist: Outcome
    virtual: Outcome
    cells: dict
    sdram_rises_ns: tuple = None
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
    every : bool, all units of the core rather than the one that is loaded soonest

    Returns
    -------
    Outcome
    """
    from ..link.client import LinkClient
    from ..targets.link import LinkTarget
    findings, began = [], 0
    try:
        board.pipe.sleep(getattr(board.soc.backing, "powerup_ns", 0) * 1e-9 + _LATER)
        client = LinkClient(board.pipe, seed=1, timeout=TIMEOUT, retry=RETRY)
        target = LinkTarget(client=client, name=name, kind="sim")
        info = target.info
        findings.append(Finding("link", "identify", True, f"{info.board}, {info.isa or 'no core'} {info.preset or ''}".rstrip() + f", {info.clock_hz / 1e6:g} MHz"))
        _align(board)
        began = board.cycle
        findings += _memory(target)
        if info.isa is not None:
            findings += test_core(target, least=not every)
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


def _compare(netlist, virtual):
    """What differs between two outcomes, in words."""
    for which, outcome in (("netlist", netlist), ("virtual board", virtual)):
        if outcome.failed:
            yield f"the {which}: {outcome.failed}"
        for finding in outcome.findings:
            if not finding.ok:
                yield f"the {which}, {finding.name}: {finding.found}"
    for ours, theirs in zip(netlist.findings, virtual.findings, strict=False):
        if ours.counters != theirs.counters:
            names = [name for name in theirs.counters if ours.counters.get(name) != theirs.counters[name]]
            yield f"{ours.name}: counters differ, {', '.join(f'{n} {ours.counters.get(n)} of {theirs.counters[n]}' for n in names)} (netlist, virtual board)"
        elif ours != theirs:
            yield f"{ours.name}: {ours.found} (netlist), {theirs.found} (virtual board)"
    if netlist.ok and virtual.ok and netlist.cycles != virtual.cycles:
        yield f"the conversation took {netlist.cycles:,} cycles on the netlist, {virtual.cycles:,} on the virtual board"


def check_build(folder, seed=1, every=False, cache=None, progress=lambda text: None):
    """Check a finished build.

    Parameters
    ----------
    folder : path of the build
    seed : int, of all that the chip does not define: contents of memories, floating inputs, reads that meet a write
    every : bool, all units of the core
    cache : as of :func:`~quintet.boards.virtual.compile.build_library`
    progress : callable(str)

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
    from ...boards import open_board
    from ...boards.virtual.board import VirtualBoard
    from ...gateware.cores import open_room
    folder, report = Path(folder), _report(folder)
    board = open_board(report["board"])
    room = open_room(report["isa"]) if report["isa"] else None

    def soc(family):
        made = board.make_soc(room=room, preset=report["preset"], params=report["params"] or None, clock_hz=round(report["clock_asked_mhz"] * 1e6),
                              link="uart", family=family)
        settle(made)        # the netlist's is never elaborated
        return made

    progress("reading the netlist")
    netlist = read_build(folder, board.family)
    began = time.monotonic()
    progress("simulating the netlist")
    with NetlistBoard(board, soc("own"), netlist, seed, cache) as placed:
        ours = converse(placed, f"the netlist of {folder / f'{TOP}.json'}", every)
        rises = placed.rises if placed.soc.backing.kind == "SDRAM" else None
    progress("simulating the virtual board")
    with VirtualBoard(board=board, soc=soc(None), link="wire", cache=cache, progress=progress) as virtual:
        theirs = converse(virtual, f"sim:{board.name}", every)
    check = Check(ours, theirs, netlist.count(), rises, list(_compare(ours, theirs)), time.monotonic() - began)
    if rises is not None:
        wanted = report["sdram"]["phase_degrees"] / 360 * 1000 / report["clock_real_mhz"]
        if abs(rises[0] - wanted) > _PHASE_NEAR + 0.0005 * wanted:
            check.wrong.append(f"the SDRAM's clock rises {rises[0]:.2f} ns after its lines change; {wanted:.2f} expected")
    return check
