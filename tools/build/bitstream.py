# SPDX-License-Identifier: BSD-2-Clause
"""Bitstream builds (``quintet build``): synthesis, place and route, and a report."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...gateware.isa.parameters import elaborating
from ...gateware.processes import Locked, child, file_lock
from ..targets.ceilings import ceilings
from . import logs
from .area import area
from .logs import TOP, BuildError, TooLargeError
from .mapping import FILES, MAPPINGS, mapped, steps
from .netlists import design_digest
from .stages import Watcher
from .toolchain import find_tool, run_tool, tool_environment, tool_versions

if TYPE_CHECKING:
    from amaranth.build.run import BuildPlan

    from ...boards.board import Board
    from ...boards.top import BoardTop
    from ...gateware.cores import CorePackage
    from ...gateware.soc import SoC

__all__ = [
    "BuildError",
    "Job",
    "TooLargeError",
    "begin",
    "bitstream_name",
    "build",
    "build_plan",
    "check_size",
    "extract",
    "finish",
    "prepare",
    "run_script",
    "synthesise",
    "write_report",
]

# A higher timing weight of the placer gains some percent.
_NEXTPNR = {"ecp5": "--placer-heap-timingweight 50", "ice40": ""}
#: The usual algorithms of nextpnr, where neither a preset nor the command names others.
_PLACER, _ROUTER = "heap", "router1"
# Memories of that name are never read and written at one address in one cycle: yosys need not add
# logic for that case.
_AFTER_READ = r"setparam -set COLLISION_X_MASK 1'1 t:$memrd_v2 r:MEMID=*_disjoint %i"


def _platform(board):
    class Platform(board.platform_class()):
        # Programmers are `quintet flash`'s affair, and the tools are found by us.
        required_tools = ()

    return Platform()


def prepare(
    board: Board,
    package: CorePackage | None = None,
    preset: str | None = None,
    params: Mapping[str, Any] | None = None,
    freq: float | None = None,
    link: str | None = None,
    on_chip: int | None = None,
    run_list: bool = False,
    boot: bool = False,
) -> tuple[SoC, BoardTop]:
    """Builds the SoC of a bitstream and its top level with the board's pins; arguments as for
    :func:`build`."""
    from ...boards.top import BoardTop
    from ...gateware.primitives.pll import PLLError

    hz = None if freq is None else round(freq * 1e6)
    try:
        soc = board.make_soc(
            package=package,
            preset=preset,
            params=params,
            clock_hz=hz,
            link=link,
            on_chip=on_chip,
            run_list=run_list,
            boot=boot,
        )
        return soc, BoardTop(board=board, soc=soc)
    except PLLError as error:
        raise BuildError(str(error)) from None


def build_plan(
    board: Board,
    soc: SoC,
    top: BoardTop,
    seed: int = 1,
    router: str | None = None,
    placer: str | None = None,
    mapping: str | None = None,
) -> BuildPlan:
    """Amaranth's plan of a build: all files and the script that runs the tools. ``soc`` and
    ``top``: results of :func:`prepare`."""
    placer, router = _algorithms(soc, placer, router)
    synthesis = _synthesis(_engine(soc), board.family, mapping)
    with elaborating(
        f"{soc.package.name if soc.package else 'a SoC'} {soc.preset or 'without a core'} for "
        f"{board.name}"
    ):
        plan = _platform(board).prepare(
            top,
            TOP,
            do_build=False,
            **_mapped_scripts(
                _engine(soc), board, soc.params, synthesis, _placed_memory(soc, placer)
            ),
            synth_opts=mapped(board.family, synthesis),
            nextpnr_opts=(
                f"{_placer_option(placer)}--router {router} {_NEXTPNR[board.family]} "
                f"--seed {seed} --report "
                f"{TOP}.report.json --timing-allow-fail"
            ),
            ecppack_opts="--compress",
        )
    for name, text in FILES[board.family].items():
        plan.add_file(name, text)
    return plan


def build(
    board: str,
    isa: str | None = None,
    preset: str | None = None,
    params: Mapping[str, Any] | None = None,
    freq: float | None = None,
    seed: int = 1,
    dir: str | Path | None = None,
    progress: Callable[[str], object] = lambda text: None,
    link: str | None = None,
    limit: float | None = None,
    router: str | None = None,
    on_chip: int | None = None,
    placer: str | None = None,
    detail: Callable[[str, str], object] = lambda stage, text: None,
    run_list: bool = False,
    boot: bool = False,
    sdram_rate: int | None = None,
    mapping: str | None = None,
) -> dict[str, Any]:
    """Builds a bitstream: synthesis, place and route, packing, and a report.

    Parameters
    ----------
    board, isa : str
        Names; ``isa`` ``None``: a SoC without a core.
    preset : str, optional
        Else the first one that fits the board's FPGA.
    params : dict, optional
        Overrides of the preset's parameters.
    freq : float, optional
        Main clock in MHz; else the preset's or the board's.
    seed : int
        Of the placer.
    dir : path, optional
        Folder for all files; else ``out/build/<board>-<isa>-<preset>-<seed>``.
    progress : callable(str)
        Receives each step, a line at a time.
    link : str, optional
        ``"uart"``, ``"uartbone"``, ``"usb"`` or ``"spi"``; else the board's default one.
    limit : float, optional
        Seconds that the tools may take: routing of a crowded design may never end.
    on_chip : int, optional
        Bytes of main memory in block RAM; else the preset's.
    router : str, optional
        nextpnr's: ``"router1"``, or ``"router2"``, which goes on where wires are crowded, by
        detours that cost a third of the clock; else the preset's.
    placer : str, optional
        nextpnr's: ``"heap"``, or ``"static"``, which spreads a crowded design over the FPGA and
        chooses the places of on-chip memory itself; else the preset's.
    detail : callable(str, str)
        Receives stage and progress within it, about once a second.
    run_list : bool
        The SoC walks lists of runs.
    boot : bool
        The SoC starts from a plan image in flash memory.
    sdram_rate : int, optional
        Cycles of the board's SDRAM for each of the main clock, 1 or 2; else the board's.
    mapping : str, optional
        How yosys maps logic, a name of the family in :data:`~.mapping.MAPPINGS`; else the core's.

    Returns
    -------
    dict
        ``board``, ``isa``, ``link``, ``preset``, ``params``, ``seed``, ``run_list`` and ``boot``
        (if it has them), ``date`` of the build (UTC), ``router`` and ``placer`` if they are not
        router1 and heap, ``mapping`` if one was given, ``tools`` (as of
        :func:`~.toolchain.tool_versions`), ``design`` (:func:`~.netlists.design_digest`),
        ``clock_asked_mhz``, ``clock_real_mhz`` (as the PLL makes it), ``clock_reached_mhz`` (main
        clock),
        ``clocks`` (name -> ``asked_mhz``, ``reached_mhz``: ``main``, the core's own domain by its
        name, ``usb_io`` and ``usb``, or ``spi``, with that link, others by those of the netlist),
        ``luts``, ``ffs``, ``dsps``, ``brams`` and what else the family has, ``available`` (the same
        of the FPGA), ``clock_met`` (all but those of the netlist), ``crossings`` (as of
        :func:`~.crossings.crossings`), ``sdram`` (with such a chip: phase, capture, margins in
        nanoseconds), ``critical_path`` (``from``, ``to``, ``logic_ns``, ``routing_ns``, ``steps``),
        ``area`` (:func:`~.area.area`), ``memory``, ``ceilings``
        (:func:`~..targets.ceilings.ceilings`, at the asked clock), ``seconds``, ``bitstream``. The
        same as ``report.json`` in the folder.

    Raises
    ------
    TooLargeError
        The FPGA is too small. ``report.json`` then holds the demand and the FPGA's resources, and
        no ``bitstream``.
    BuildError
        A tool failed or was stopped at the limit, or the PLL cannot make the clock, or every preset
        is known to be too large.
    NoDeviceError
        A tool is missing.
    ParameterError, BoardError, CoreError
    """

    job = begin(
        board,
        isa,
        preset,
        params,
        freq,
        seed,
        dir,
        progress,
        link,
        router,
        on_chip,
        placer,
        run_list,
        boot,
        sdram_rate,
        mapping,
    )
    with job.locked():
        return _build_in(job, progress, detail, limit)


@dataclass(frozen=True)
class Job:
    """A build that is ready to start: its folder, plan and metadata.

    Attributes
    ----------
    board, soc
        What is built for which board.
    plan : BuildPlan
        Of Amaranth.
    folder : Path
        Folder for all files.
    environment : dict
        Of the tools.
    who : dict
        Fields of the report that are known before the tools run.
    started : float
        Monotonic time, seconds.
    """

    board: Board
    soc: SoC
    plan: BuildPlan
    folder: Path
    environment: Mapping[str, str]
    who: Mapping[str, Any]
    started: float

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Context manager: locks the folder against other builds; creates it if necessary."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with file_lock(self.folder / "build.lock", wait=False):
                yield
        except Locked as error:
            raise BuildError(
                f"{self.folder} is being written by another build ({error.holder}); wait, or give "
                f"another folder by -o"
            ) from None
        except (FileExistsError, NotADirectoryError, PermissionError) as error:
            raise BuildError(f"cannot write {self.folder}: {error.strerror or error}") from None


def begin(
    board: str,
    isa: str | None = None,
    preset: str | None = None,
    params: Mapping[str, Any] | None = None,
    freq: float | None = None,
    seed: int = 1,
    dir: str | Path | None = None,
    progress: Callable[[str], object] = lambda text: None,
    link: str | None = None,
    router: str | None = None,
    on_chip: int | None = None,
    placer: str | None = None,
    run_list: bool = False,
    boot: bool = False,
    sdram_rate: int | None = None,
    mapping: str | None = None,
) -> Job:
    """Elaborates a build without running a tool; arguments and errors as of :func:`build`."""
    from ...boards import open_board
    from ...gateware.cores import open_core

    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise BuildError(f"seed = {seed!r}: expected a number of 0 or more")
    started = time.monotonic()
    board = open_board(board).with_sdram_rate(sdram_rate)
    _check_mapping(board.family, mapping)
    package = open_core(isa) if isa else None
    if package is not None and preset is None and not params:
        _check_fits(board, package)
    environment = tool_environment(board.family)
    soc, top = prepare(board, package, preset, params, freq, link, on_chip, run_list, boot)
    folder = Path(dir or f"out/build/{board.name}-{isa or 'none'}-{soc.preset or 'none'}-{seed}")
    progress(
        f"{board.name}: elaborating {isa or 'a SoC without a core'}"
        + (f", {soc.preset}" if soc.preset else "")
    )
    placer, router = _algorithms(soc, placer, router)
    plan = build_plan(board, soc, top, seed, router, placer, mapping)
    who = {
        "board": board.name,
        "isa": isa,
        "link": soc.link["kind"],
        "preset": soc.preset,
        "params": soc.params,
        "seed": seed,
        **({"run_list": True} if soc.run_list else {}),
        **({"boot": True} if soc.boot is not None else {}),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        **({} if router == _ROUTER else {"router": router}),
        **({} if placer == _PLACER else {"placer": placer}),
        **({} if mapping is None else {"mapping": mapping}),
        "tools": tool_versions(environment, board.family),
        "design": design_digest(plan, seed),
    }
    return Job(
        board=board,
        soc=soc,
        plan=plan,
        folder=folder,
        environment=environment,
        who=who,
        started=started,
    )


def extract(plan: BuildPlan, folder: Path) -> None:
    """Writes the files of ``plan`` to ``folder``, and removes results of an earlier build."""
    try:
        plan.extract(folder)
        for ending in ("bit", "bin", "rpt", "tim", "report.json"):
            (folder / f"{TOP}.{ending}").unlink(missing_ok=True)
        (folder / "report.json").unlink(missing_ok=True)
    except OSError as error:
        raise BuildError(f"cannot write {folder}: {error.strerror or error}") from None


def _build_in(job, progress, detail, limit):
    """Runs all tools of a :class:`Job` in its folder; returns the report."""
    extract(job.plan, job.folder)
    watcher = Watcher(job.folder, progress, detail)
    watcher.look()
    try:
        run_script(job.plan.script, job.folder, job.environment, limit, watcher.look)
    except BuildError:
        check_size(job, job.folder)
        raise
    return finish(job, job.folder, job.who, job.started)


def check_size(job: Job, folder: Path) -> None:
    """Raises :class:`TooLargeError`, with the demand in the report, if nextpnr's log in ``folder``
    says that the design does not fit."""
    needed = logs.needed(job.board.family, folder)
    if needed is not None:
        seconds = round(time.monotonic() - job.started, 1)
        write_report(job.folder, {**job.who, **needed, "seconds": seconds})
        raise TooLargeError(needed) from None


def finish(job: Job, folder: Path, who: Mapping[str, Any], started: float) -> dict[str, Any]:
    """Writes and returns the report of a build whose tools have ended; ``folder`` holds the netlist
    too; ``who`` and ``started`` as those of :class:`Job`."""
    soc = job.soc
    domains: dict[str, Any] = {} if soc.domain is None else {soc.domain.name: soc.domain_hz}
    if soc.link["kind"] == "usb":
        domains |= {"usb_io": 48_000_000, "usb": 12_000_000}
    if soc.link["kind"] == "spi":
        domains |= {"spi": soc.link["hz"]}
    report = {
        **who,
        "clock_asked_mhz": round(soc.clocking.asked_hz / 1e6, 3),
        "clock_real_mhz": round(soc.clock_hz / 1e6, 6),
        **({} if soc.clocking.sdram is None else {"sdram": soc.clocking.sdram.report}),
        **logs.figures(job.board.family, folder, soc.clock_hz, domains),
        "area": area(folder / f"{TOP}.json"),
        "memory": soc.memory_info,
        "ceilings": ceilings(who["isa"], soc.params, soc.memory_info, soc.clock_hz),
        "seconds": round(time.monotonic() - started, 1),
        "bitstream": str(folder / bitstream_name(job.board.family)),
    }
    if not Path(report["bitstream"]).is_file():
        raise BuildError(f"no bitstream was made; see {folder}")
    write_report(folder, report)
    return report


def bitstream_name(family: str) -> str:
    """File name of the bitstream in a build's folder."""
    return f"{TOP}.bit" if family == "ecp5" else f"{TOP}.bin"


def _check_fits(board, package):
    """Raises an error if all presets of a core are known to exceed the FPGA; presets or parameters
    that the user names are tried anyway."""
    preset = board.preset_for(package)
    if (package.name, preset) in board.too_large:
        raise BuildError(
            f"{package.name} does not fit {board.name}: its preset {preset} needs "
            f"{board.too_large[package.name, preset]}"
        )


def write_report(folder: str | Path, report: Mapping[str, Any]) -> None:
    """Writes a build's report into its folder."""
    (Path(folder) / "report.json").write_text(json.dumps(report, indent=2) + "\n")


def _algorithms(soc, placer, router):
    """Placer and router of a build: the user's choice, else the preset's, else the family's
    default."""
    preset = None
    if soc.package is not None:
        preset = soc.package.params.SPACE.presets.get(soc.preset)
    return (
        placer or getattr(preset, "placer", None) or _PLACER,
        router or getattr(preset, "router", None) or _ROUTER,
    )


def _placer_option(placer):
    return "" if placer == _PLACER else f"--placer {placer} "


def _placed_memory(soc, placer):
    """Main memory whose block RAMs get fixed placements, or ``None``. nextpnr's static placer
    counts block RAMs with fixed placements as an overlap that it can never remove, and does not
    end."""
    return getattr(soc, "backing", None) if placer == _PLACER else None


def _engine(soc):
    """The engine of a build; without a core, an object without special requirements."""
    from ...gateware.shell.engine import Engine

    return soc.core.engine if soc.core is not None else Engine


def _synthesis(engine, family, mapping=None):
    """Options of yosys' synthesis: those of ``mapping``, else the engine's own."""
    if mapping is not None:
        return MAPPINGS[family][mapping]
    return engine.synth_opts.get(family, "")


def _check_mapping(family, mapping):
    """Refuses a ``mapping`` that the FPGA's family does not have."""
    if mapping is not None and mapping not in MAPPINGS[family]:
        raise BuildError(
            f"mapping {mapping}: expected one of {', '.join(MAPPINGS[family])} on an "
            f"{'ECP5' if family == 'ecp5' else 'iCE40'}"
        )


def _scripts(engine, board, params, backing=None):
    """Further yosys commands of an engine. ``synth_before`` runs before synthesis. Modules of
    ``synth_apart`` are mapped separately, so that a fast module is not mapped for area because
    another is slower. Cells of the ``floorplan``, and of main memory's ``backing`` if there is one,
    get fixed placements."""
    before = [_AFTER_READ, *filter(None, [engine.synth_before.get(board.family)])]
    after = []
    apart = engine.synth_apart.get(board.family, ())
    if apart:
        before += [f"setattr -mod -set keep_hierarchy 1 *.engine.{name}" for name in apart]
        after = ["setattr -mod -unset keep_hierarchy *", "flatten", "opt_clean -purge"]
    device = board.platform_class().device
    places = {f"engine.{n}": at for n, at in engine.floorplan(device, params).items()}
    if hasattr(backing, "floorplan"):
        found = backing.floorplan(device, set(places.values()))
        places |= {f"memory.{n}": at for n, at in found.items()}
    for cell, place in places.items():
        after += [
            f"select -assert-count 1 c:*.{cell}",
            f'setattr -set BEL "{place}" c:*.{cell}',
        ]
    return {"script_after_read": "\n".join(before)} | (
        {"script_after_synth": "\n".join(after)} if after else {}
    )


def _mapped_scripts(engine, board, params, synthesis, backing=None):
    """Scripts of :func:`_scripts`, after the commands that the family's technology mapping adds to
    a synthesis with the options ``synthesis``."""
    scripts = _scripts(engine, board, params, backing)
    after = [
        *steps(board.family, synthesis, TOP),
        *filter(None, [scripts.get("script_after_synth")]),
    ]
    return {**scripts, "script_after_synth": "\n".join(after)} if after else scripts


#: Seconds between two readings of the tools' logs.
_LOOK = 1.0


def run_script(
    name: str,
    folder: Path,
    environment: Mapping[str, str],
    limit: float | None = None,
    look: Callable[[], object] = lambda: None,
) -> None:
    """Runs the tools of the script ``name`` in ``folder``, for at most ``limit`` seconds; calls
    ``look`` about once a second."""
    command = ["cmd", "/c", f"{name}.bat"] if os.name == "nt" else ["sh", f"{name}.sh"]
    log = folder / "build.log"
    end = None if limit is None else time.monotonic() + limit
    with (
        open(log, "wb") as output,
        child(
            command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT
        ) as process,
    ):
        while (code := _ended(process)) is None:
            if limit is not None and end is not None and time.monotonic() > end:
                raise BuildError(
                    f"the build was stopped after {limit / 60:g} minutes{logs.overused(folder)} "
                    f"(see {folder})"
                )
            look()
    if code:
        raise BuildError(f"the build failed: {logs.last_word(folder)} (see {log})")


def _ended(process):
    """Waits briefly for a process; returns its exit code, ``None`` if it still runs."""
    try:
        return process.wait(_LOOK)
    except subprocess.TimeoutExpired:
        return None


def synthesise(
    component: Any, family: str, dir: str | Path, name: str = TOP, options: str = ""
) -> dict[str, int]:
    """Number of cells of ``component`` after synthesis alone (no placement), by yosys's names;
    ``dir`` is a folder for its files.

    On iCE40 the packed number of logic cells is there too, as ``ICESTORM_LC``.

    Raises
    ------
    BuildError
    """
    from amaranth.back import rtlil

    folder = Path(dir)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.il").write_text(rtlil.convert(component, name=name))
    for file, text in FILES[family].items():
        (folder / file).write_text(text)
    (folder / f"{name}.ys").write_text(
        "\n".join(
            [
                f"read_rtlil {name}.il",
                _AFTER_READ,
                f"synth_{family} {mapped(family, options)} -top {name}",
                *steps(family, options, name),
                f"write_json {name}.json",
                f"tee -q -o {name}.stat stat -json",
                "",
            ]
        )
    )
    # The tools of YoWASP see their working directory only.
    run_tool(folder, [find_tool("yosys"), "-q", "-l", f"{name}.rpt", f"{name}.ys"])
    cells = json.loads((folder / f"{name}.stat").read_text())["design"]["num_cells_by_type"]
    if family == "ice40":
        log = run_tool(
            folder,
            [
                find_tool("nextpnr-ice40"),
                "--up5k",
                "--package",
                "sg48",
                "--json",
                f"{name}.json",
                "--pcf-allow-unconstrained",
                "--pack-only",
            ],
        )
        cells["ICESTORM_LC"] = int(re.findall(r"ICESTORM_LC:\s+(\d+)/", log)[-1])
    return cells
