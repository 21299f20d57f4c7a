# SPDX-License-Identifier: BSD-2-Clause
"""Check of a build: its netlist and the virtual board run the same conversation with a host and are
compared cycle by cycle."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...boards.top import reset_cycles
from ...boards.virtual.cache import BuildCache
from ...gateware.shell.settle import settle
from ..build.logs import TOP
from ..errors import InputError
from .board import NetlistBoard, power_up
from .conversation import Outcome, compare, converse
from .netlist import Netlist
from .packing import read_build
from .pins import name_pads
from .readback import read_back
from .registers.reference import follow, make_reference, words
from .simulation import NetlistSimulation
from .start import pack_start

if TYPE_CHECKING:
    from ...boards.virtual.board import BoardSimulation, VirtualBoard
    from ...gateware.soc import SoC

__all__ = ["Check", "Subject", "check_build"]

#: Largest difference of an SDRAM clock's phase from the build's report, in nanoseconds.
_PHASE_NEAR = 0.02


@dataclass
class Check:
    """Outcome of a build's check: both conversations, and all differences between them.

    Attributes
    ----------
    netlist, virtual : Outcome
    cells : dict, kind -> how many the netlist has
    sdram_rises_ns : from a change of an SDRAM's lines to its clock,
        by the netlist's clocks; ``None`` without such a chip
    registers : dict, how many bits of the gateware's registers were ``compared``,
        and how many are ``without a name`` in the netlist
    wrong : list of str, all that differs; empty: what is built is what was simulated
    seconds : wall time of both conversations
    """

    netlist: Outcome
    virtual: Outcome
    cells: dict[str, int]
    sdram_rises_ns: float | None = None
    registers: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the netlist behaves like the virtual board."""
        return not self.wrong

    def as_dict(self) -> dict[str, Any]:
        """The object that ``quintet check --json`` prints."""
        return {
            "ok": self.ok,
            "wrong": self.wrong,
            "cells": self.cells,
            "registers": self.registers,
            "sdram_rises_ns": self.sdram_rises_ns,
            "cycles": self.netlist.cycles,
            "seconds": round(self.seconds, 1),
            "findings": [asdict(finding) for finding in self.netlist.findings],
        }


def _report(folder):
    path = Path(folder) / "report.json"
    try:
        report = json.loads(path.read_text())
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror or error}; expected the folder of a build (quintet build -o)"
        ) from None
    except ValueError:
        raise InputError(f"{path}: not JSON; expected the report of a build") from None
    missing = [
        name
        for name in ("board", "isa", "link", "preset", "params", "clock_asked_mhz", "bitstream")
        if not isinstance(report, dict) or name not in report
    ]
    if missing:
        raise InputError(
            f"{path}: no {missing[0]}; expected the report of a build that ended with a bitstream"
        )
    if report["link"] != "uart":
        raise InputError(
            f"{path}: link {report['link']}; only builds with link uart can be checked, since "
            f"the host is simulated at a serial line's pins"
        )
    if (report.get("memory") or {}).get("kind") == "DDR3":
        raise InputError(
            f"{path}: main memory is DDR3, and the netlist of such a build cannot be checked: "
            f"LiteDRAM's PHY consists of cells for which there is no model (DQSBUFM, ODDRX2DQA, "
            f"IDDRX2DQA, DDRDLLA and others), so that neither the calibration nor any program in "
            f"main memory can be simulated"
        )
    return report


class Subject:
    """A finished build under check: the data of its folder and its netlist.

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

    def __init__(
        self, folder: str | Path, cache: BuildCache | str | Path | None = None, routed: bool = False
    ) -> None:
        from ...boards import open_board
        from ...gateware.cores import open_core

        self.folder, self.report, self._cache = Path(folder), _report(folder), cache
        rate = (self.report.get("memory") or {}).get("rate", 1)
        self.board = open_board(self.report["board"]).with_sdram_rate(rate)
        self._package = open_core(self.report["isa"]) if self.report["isa"] else None
        self.netlist = (
            read_back(self.folder, self.board)
            if routed
            else read_build(self.folder, self.board.family)
        )
        name_pads(self.netlist, self.board, self.soc("own"))

    def soc(self, family: str | None) -> SoC:
        """The build's SoC, constructed again; ``family`` as for
        :meth:`~quintet.boards.board.Board.make_soc`. It is never elaborated."""
        report = self.report
        made = self.board.make_soc(
            package=self._package,
            preset=report["preset"],
            params=report["params"] or None,
            clock_hz=round(report["clock_asked_mhz"] * 1e6),
            link="uart",
            family=family,
            on_chip=report.get("memory", {}).get("on_chip", {}).get("size", 0),
            run_list=report.get("run_list", False),
            boot=report.get("boot", False),
        )
        settle(made)
        return made

    def virtual(
        self,
        progress: Callable[[str], object] | None = None,
        before: Callable[[BoardSimulation], object] | None = None,
    ) -> VirtualBoard:
        """The build's virtual board, with wires to the host; ``before`` as for
        :class:`~quintet.boards.virtual.board.VirtualBoard`."""
        from ...boards.virtual.board import FlashContents, VirtualBoard

        soc = self.soc(None)
        _, _, early, _ = power_up(self.board, self.soc("own"), self.netlist)
        return VirtualBoard(
            board=self.board,
            soc=soc,
            link="wire",
            flash=FlashContents(pack_start(soc)) if soc.boot is not None else None,
            cache=self._cache,
            progress=progress,
            reset_cycles=reset_cycles(early[0]),
            before=before,
        )

    def own_clock_late_ns(self) -> float:
        """Delay in nanoseconds of the core's own clock relative to the main clock, by the netlist's
        PLL. On a virtual board both rise together."""
        soc = self.soc("own")
        if soc.domain is None:
            return 0.0
        (_, main_hz, _, _), *others = self.netlist.clocks(
            f"{self.board.oscillator}_0", self.board.oscillator_hz
        )[0]
        late = [
            float(phase % 1 / hz) * 1e9
            for _, hz, phase, of_pll in others
            if of_pll and hz == main_hz * soc.domain.ratio
        ]
        # An SDRAM's clock may have the same frequency. It is made by an earlier output of the PLL.
        return late[-1] if late else 0.0

    def placed(
        self,
        netlist: Netlist | None = None,
        seed: int | None = 1,
        limit: int | None = None,
        before: Callable[[NetlistSimulation], object] | None = None,
    ) -> NetlistBoard:
        """A board around the build's netlist, or around another one; parameters as for
        :class:`~.board.NetlistBoard`."""
        soc = self.soc("own")
        return NetlistBoard(
            self.board,
            soc,
            netlist or self.netlist,
            seed,
            self._cache,
            limit,
            before,
            pack_start(soc) if soc.boot is not None else b"",
        )

    @property
    def name(self) -> str:
        """Name of the netlist for messages."""
        return f"the netlist {self.folder / f'{TOP}.json'}"


def check_build(
    folder: str | Path,
    seed: int = 1,
    every: bool = False,
    cache: BuildCache | str | Path | None = None,
    progress: Callable[[str], object] = lambda text: None,
    routed: bool = False,
) -> Check:
    """Checks a finished build against the virtual board.

    Parameters
    ----------
    folder : path of the build
    seed : int, of all that the chip does not define: contents of memories, floating inputs,
        reads that meet a write
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
        The netlist holds a cell, or a mode of one, that the simulation does not know, or is not one
        of that SoC.
    ToolMissing, CompileError, NoDeviceError, BuildError
        A tool is missing or fails.
    """
    progress("reading the netlist")
    subject = Subject(folder, cache, routed)
    began = time.monotonic()
    progress("simulating the virtual board")
    reference = make_reference(subject, every, progress)
    progress("simulating the netlist")
    # Once with all that the chip does not define drawn by chance, once, beside it, with that as on
    # the virtual board, for its registers.
    with ThreadPoolExecutor(1) as beside:
        followed = beside.submit(follow, subject, reference, every)
        with subject.placed(seed=seed, limit=reference.limit) as placed:
            ours = converse(placed, subject.name, every)
            rises = placed.rises if placed.soc.backing.kind == "SDRAM" else None
        calm, difference = followed.result()
    wrong = list(compare(ours, reference.outcome))
    if difference is not None:
        wrong += words(subject, reference, [difference], every)
    elif not wrong:
        wrong += compare(calm, reference.outcome)
    check = Check(
        ours,
        reference.outcome,
        subject.netlist.count(),
        rises,
        reference.count,
        wrong,
        time.monotonic() - began,
    )
    if not routed and not check.registers["compared"]:
        check.wrong.append(
            "the netlist has none of the names of the gateware's registers; expected most of them"
        )
    if late := subject.own_clock_late_ns():
        check.wrong.append(
            f"the core's own clock rises {late:.2f} ns after the main clock; 0 expected, as on "
            f"the virtual board"
        )
    if rises is not None:
        chip_mhz = subject.board.sdram_rate * subject.report["clock_real_mhz"]
        wanted = subject.report["sdram"]["phase_degrees"] / 360 * 1000 / chip_mhz
        if abs(rises - wanted) > _PHASE_NEAR + 0.0005 * wanted:
            check.wrong.append(
                f"the SDRAM's clock rises {rises:.2f} ns after its lines change; {wanted:.2f} "
                f"expected"
            )
    return check
