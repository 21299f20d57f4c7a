# SPDX-License-Identifier: BSD-2-Clause
"""Bitstreams and Verilog: what `quintet build` and `quintet verilog` do."""
import json
import os
import re
import signal
import subprocess
import textwrap
import time
from pathlib import Path

from ...gateware.isa.parameters import elaborating
from ..errors import QuintetError
from .mapping import FILES, mapped, steps
from .toolchain import find_tool, tool_environment

__all__ = ["BuildError", "NoRoomError", "build", "synthesise", "verilog", "verilog_core"]

#: Name of the top module and of all files of a build.
TOP = "top"

# A higher timing weight of the placer gains some percent.
_NEXTPNR = {"ecp5": "--placer-heap-timingweight 50", "ice40": ""}
# Not `-dsp` for ice40: it takes SB_MAC16 instances for its own and strips them of clock, registers and mode.
_SYNTH = {"ecp5": "", "ice40": ""}
# Memories of that name are never read and written at one address in one cycle: yosys need not add logic for that case.
_AFTER_READ = r"setparam -set COLLISION_X_MASK 1'1 t:$memrd_v2 r:MEMID=*_disjoint %i"
#: What a person calls what the report counts.
TITLES = {"luts": "logic cells", "ffs": "flip-flops", "dsps": "DSPs", "brams": "block RAMs", "sprams": "single-port RAMs"}
# Cells that the report counts, by nextpnr's names.
_CELLS = {"ecp5": {"luts": "TRELLIS_COMB", "ffs": "TRELLIS_FF", "dsps": "MULT18X18D", "brams": "DP16KD"},
          "ice40": {"luts": "ICESTORM_LC", "dsps": "ICESTORM_DSP", "brams": "ICESTORM_RAM", "sprams": "ICESTORM_SPRAM"}}


class BuildError(QuintetError):
    """A tool failed; the message is its last word."""


class NoRoomError(BuildError):
    """The FPGA is too small; the message says what is needed of what there is.

    Attributes
    ----------
    report : dict
        ``luts``, ``ffs``, ``dsps``, ``brams`` and what else the family has, as needed; ``available``, the same of the FPGA.
    """
    def __init__(self, figures):
        self.report = figures
        lacks = [f"{figures[name]:,} of {there:,} {TITLES[name]}" for name, there in figures["available"].items()
                 if there and figures[name] > there]
        super().__init__(f"does not fit: needs {', '.join(lacks)}")


def _platform(board):
    class Platform(board.platform_class()):
        # Programmers are `quintet flash`'s affair, and the tools are found by us.
        required_tools = ()

    return Platform()


def _prepare(board, room, preset, params, freq, link=None):
    from ...boards.top import BoardTop
    from ...gateware.primitives.pll import PLLError
    hz = None if freq is None else round(freq * 1e6)
    try:
        soc = board.make_soc(room=room, preset=preset, params=params, clock_hz=hz, link=link)
        return soc, BoardTop(board=board, soc=soc)
    except PLLError as error:
        raise BuildError(str(error)) from None


def build(board, isa=None, preset=None, params=None, freq=None, seed=1, dir=None, progress=lambda text: None, link=None, limit=None, router="router1"):
    """Build a bitstream.

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
        Told what happens, a line at a time.
    link : str, optional
        ``"uart"``, ``"uartbone"`` or ``"usb"``; else the board's default one.
    limit : float, optional
        Seconds that the tools may take: routing of a crowded design may never end.
    router : str
        nextpnr's: ``"router1"``, or ``"router2"``, which goes on where wires are crowded, by detours that cost a third of the clock.

    Returns
    -------
    dict
        ``board``, ``isa``, ``link``, ``preset``, ``params``, ``seed``, ``clock_asked_mhz``, ``clock_reached_mhz`` (main clock),
        ``clocks`` (name -> ``asked_mhz``, ``reached_mhz``: ``main``, the core's own domain by its name, ``usb_io`` and ``usb`` with
        that link, others by those of the netlist), ``luts``, ``ffs``, ``dsps``, ``brams`` and what else the family
        has, ``available`` (the same of the FPGA), ``clock_met`` (all but those of the netlist), ``critical_path``, ``seconds``, ``bitstream``. The same as ``report.json`` in the
        folder.

    Raises
    ------
    NoRoomError
        The FPGA is too small. ``report.json`` then holds what is needed of what there is, and no ``bitstream``.
    BuildError
        A tool failed or was stopped at the limit, or the PLL cannot make the clock.
    NoDeviceError
        A tool is missing.
    ParameterError, BoardError, RoomError
    """
    from ...boards import open_board
    from ...gateware.cores import open_room
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise BuildError(f"seed must be a number from 0, not {seed!r}")
    started = time.monotonic()
    board = open_board(board)
    room = open_room(isa) if isa else None
    environment = tool_environment(board.family)
    soc, top = _prepare(board, room, preset, params, freq, link)
    folder = Path(dir or f"out/build/{board.name}-{isa or 'none'}-{soc.preset or 'none'}-{seed}")
    progress(f"{board.name}: elaborating {isa or 'a SoC without a core'}" + (f", {soc.preset}" if soc.preset else ""))
    with elaborating(f"{isa or 'a SoC'} {soc.preset or 'without a core'} for {board.name}"):
        plan = _platform(board).prepare(
            top, TOP, do_build=False, **_mapped_scripts(_engine(soc), board, soc.params), synth_opts=mapped(board.family, _synthesis(_engine(soc), board.family)),
            nextpnr_opts=f"--router {router} {_NEXTPNR[board.family]} --seed {seed} --report {TOP}.report.json --timing-allow-fail",
            ecppack_opts="--compress")
    for name, text in FILES[board.family].items():
        plan.add_file(name, text)
    try:
        plan.extract(folder)
        for old in (f"{TOP}.bit", f"{TOP}.bin", f"{TOP}.tim", f"{TOP}.report.json", "report.json"):
            (folder / old).unlink(missing_ok=True)
    except OSError as error:
        raise BuildError(f"cannot write {folder}: {error.strerror or error}") from None
    progress("synthesis, place and route (minutes for a large core)")
    who = {"board": board.name, "isa": isa, "link": soc.link["kind"], "preset": soc.preset, "params": soc.params, "seed": seed}
    try:
        _run_script(plan.script, folder, environment, limit)
    except BuildError:
        needed = _needed(board.family, folder)
        if needed is None:
            raise
        _write_report(folder, {**who, **needed, "seconds": round(time.monotonic() - started, 1)})
        raise NoRoomError(needed) from None
    domains = {} if soc.domain is None else {soc.domain.name: soc.domain_hz}
    if soc.link["kind"] == "usb":
        domains |= {"usb_io": 48_000_000, "usb": 12_000_000}
    report = {**who,
              "clock_asked_mhz": round(soc.clock_hz / 1e6, 3), **_figures(board.family, folder, soc.clock_hz, domains),
              "seconds": round(time.monotonic() - started, 1),
              "bitstream": str(folder / (f"{TOP}.bit" if board.family == "ecp5" else f"{TOP}.bin"))}
    if not Path(report["bitstream"]).is_file():
        raise BuildError(f"no bitstream was made; see {folder}")
    _write_report(folder, report)
    return report


def _write_report(folder, report):
    (folder / "report.json").write_text(json.dumps(report, indent=2) + "\n")


def _engine(soc):
    """The engine that a build is for; without a core what asks for nothing."""
    from ...gateware.shell.engine import Engine
    return soc.core.engine if soc.core is not None else Engine


def _synthesis(engine, family):
    """Options of yosys: an engine may ask for its own, by ``synth_opts``."""
    return engine.synth_opts.get(family, _SYNTH[family])


def _scripts(engine, board, params):
    """What yosys does besides: before the synthesis what the engine asks for (``synth_before``); modules that it names in
    ``synth_apart`` are mapped one by one, so that none gives away its speed because another is slower anyway; cells of its
    ``floorplan`` get their places."""
    before = [_AFTER_READ, *filter(None, [engine.synth_before.get(board.family)])]
    after = []
    apart = engine.synth_apart.get(board.family, ())
    if apart:
        before += [f"setattr -mod -set keep_hierarchy 1 *.engine.{name}" for name in apart]
        after = ["setattr -mod -unset keep_hierarchy *", "flatten", "opt_clean -purge"]
    for cell, place in engine.floorplan(board.platform_class().device, params).items():
        after += [f"select -assert-count 1 c:*.engine.{cell}", f'setattr -set BEL "{place}" c:*.engine.{cell}']
    return {"script_after_read": "\n".join(before)} | ({"script_after_synth": "\n".join(after)} if after else {})


def _mapped_scripts(engine, board, params):
    """:func:`_scripts`, behind what the family's own mapping adds to the synthesis."""
    scripts = _scripts(engine, board, params)
    after = [*steps(board.family, _synthesis(engine, board.family), TOP), *filter(None, [scripts.get("script_after_synth")])]
    return {**scripts, "script_after_synth": "\n".join(after)} if after else scripts


def _run_script(name, folder, environment, limit=None):
    windows = os.name == "nt"
    command = ["cmd", "/c", f"{name}.bat"] if windows else ["sh", f"{name}.sh"]
    log = folder / "build.log"
    # With a limit the script has a group of its own, so that its tools end with it.
    own = limit is not None and not windows
    with open(log, "wb") as output, subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                                     stderr=subprocess.STDOUT, start_new_session=own) as process:
        try:
            code = process.wait(limit)
        except BaseException as error:
            if own:
                os.killpg(process.pid, signal.SIGKILL)
            elif windows:
                subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True)
            process.kill()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            raise BuildError(f"the build was stopped after {limit / 60:g} minutes{_overused(folder)} (see {folder})") from None
    if code:
        raise BuildError(f"the build failed: {_last_word(folder)} (see {log})")


def _overused(folder):
    """How far routing had come, by the last turn in nextpnr's log."""
    log = folder / f"{TOP}.tim"
    found = re.findall(r"iter=(\d+) wires=\d+ overused=(\d+)", log.read_text(errors="replace")) if log.is_file() else ()
    return f"; after {int(found[-1][0]):,} turns of routing {int(found[-1][1]):,} wires were overused" if found else ""


def _last_word(folder):
    """The last error line of the newest log that has any."""
    logs = [p for p in (folder / f"{TOP}.tim", folder / f"{TOP}.rpt", folder / "build.log") if p.is_file()]
    for log in sorted(logs, key=lambda p: p.stat().st_mtime, reverse=True):
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if "ERROR" in line]
        if lines:
            return lines[-1]
    return "the tools did not say why"


def _needed(family, folder):
    """What the netlist needs of what the FPGA has, by the packer's last word, if that is more than there is."""
    log = folder / f"{TOP}.tim"
    text = log.read_text(errors="replace") if log.is_file() else ""
    used = {name: (int(needs), int(has)) for name, needs, has in re.findall(r"Info:\s+(\w+):\s+(\d+)/\s*(\d+)", text)}
    found = {name: used.get(cell, (0, 0)) for name, cell in _CELLS[family].items()}
    if family == "ice40":
        found["ffs"] = _ice40_flip_flops(text), 0
    if all(needs <= has for name, (needs, has) in found.items() if has):
        return None
    return {**{name: needs for name, (needs, _) in found.items()}, "available": {name: has for name, (_, has) in found.items()}}


def _ice40_flip_flops(log):
    """A logic cell is a LUT and a flip-flop; nextpnr's packer says how many hold a flip-flop."""
    return sum(int(n) for n in re.findall(r"(\d+) LCs used as (?:LUT4 and DFF|DFF only)", log))


def _clocks(log):
    """Clock -> (asked, reached) in MHz: nextpnr's last word on each, after routing."""
    found = {}
    for name, reached, asked in re.findall(
            r"Max frequency for clock\s+'([^']+)':\s+([\d.]+) MHz \((?:PASS|FAIL) at ([\d.]+) MHz\)", log):
        found[name] = {"asked_mhz": float(asked), "reached_mhz": float(reached)}
    return found


def _critical_path(paths):
    """The longest path between registers: its ends, and nanoseconds of logic and of routing."""
    inner = [p for p in paths if p["from"].startswith("posedge") and p["to"].startswith("posedge")]
    if not inner:
        return None
    steps = max(inner, key=lambda p: sum(step["delay"] for step in p["path"]))["path"]
    routing = sum(step["delay"] for step in steps if step["type"] == "routing")
    return {"from": steps[0]["from"]["cell"], "to": steps[-1]["to"]["cell"], "routing_ns": round(routing, 2),
            "logic_ns": round(sum(step["delay"] for step in steps) - routing, 2)}


def _named(clocks, ours):
    """``clocks`` by our names. The netlist names a clock after any of the modules that it reaches: ours are told by the
    frequency asked for (of several the slowest, since the memory chip's, of the main clock's frequency, reaches little)."""
    named, rest = {}, dict(clocks)
    for name, hz in ours.items():
        if rest:
            found = min(rest, key=lambda n: (round(abs(rest[n]["asked_mhz"] - hz / 1e6) / (hz / 1e6), 2), rest[n]["reached_mhz"]))
            named[name] = rest.pop(found)
    return {**named, **{name.removeprefix("$glbnet$"): clock for name, clock in rest.items()}}


def _figures(family, folder, clock_hz, domains):
    try:
        report = json.loads((folder / f"{TOP}.report.json").read_text())
    except (OSError, ValueError):
        raise BuildError(f"nextpnr wrote no report; see {folder}") from None
    used = report["utilization"]
    clocks = _clocks((folder / f"{TOP}.tim").read_text(errors="replace"))
    if not clocks:
        raise BuildError(f"nextpnr reported no clock; see {folder / f'{TOP}.tim'}")
    clocks = _named(clocks, {"main": clock_hz, **domains})
    main = clocks["main"]
    figures = {name: used.get(cell, {}).get("used", 0) for name, cell in _CELLS[family].items()}
    available = {name: used.get(cell, {}).get("available", 0) for name, cell in _CELLS[family].items()}
    if family == "ice40":
        figures["ffs"] = _ice40_flip_flops((folder / f"{TOP}.tim").read_text(errors="replace"))
    return {"clock_reached_mhz": main["reached_mhz"], "clock_met": main["reached_mhz"] >= clock_hz / 1e6 and all(
                clocks[name]["reached_mhz"] >= clocks[name]["asked_mhz"] for name in domains),
            "clocks": clocks, "critical_path": _critical_path(report["critical_paths"]),
            **{name: figures.get(name, 0) for name in ("luts", "ffs", "dsps", "brams")},
            **{name: value for name, value in figures.items() if name == "sprams"}, "available": available}


def synthesise(component, family, dir, name=TOP, options=""):
    """Cells of ``component`` after synthesis alone (no placement), by yosys's names; ``dir`` is a folder for its files.

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
    options = options or _SYNTH[family]
    (folder / f"{name}.ys").write_text("\n".join([
        f"read_rtlil {name}.il", _AFTER_READ, f"synth_{family} {mapped(family, options)} -top {name}", *steps(family, options, name),
        f"write_json {name}.json", f"tee -q -o {name}.stat stat -json", ""]))
    # The tools of YoWASP see their working directory only.
    _tool(folder, [find_tool("yosys"), "-q", "-l", f"{name}.rpt", f"{name}.ys"])
    cells = json.loads((folder / f"{name}.stat").read_text())["design"]["num_cells_by_type"]
    if family == "ice40":
        log = _tool(folder, [find_tool("nextpnr-ice40"), "--up5k", "--package", "sg48", "--json", f"{name}.json",
                             "--pcf-allow-unconstrained", "--pack-only"])
        cells["ICESTORM_LC"] = int(re.findall(r"ICESTORM_LC:\s+(\d+)/", log)[-1])
    return cells


def _tool(folder, command):
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace")
    if done.returncode:
        lines = [line for line in done.stdout.splitlines() if "ERROR" in line] or done.stdout.splitlines()
        raise BuildError(f"{Path(command[0]).name} failed: {lines[-1].strip() if lines else 'it printed nothing'}")
    return done.stdout


def _convert(component, name, about=(), domain=None):
    from amaranth.back.verilog import YosysError

    from ...gateware.verilog import convert
    from ..export.verilog_ports import port_comment
    try:
        with elaborating(name):
            text = convert(component, name=name, yosys=find_tool("yosys"))
    except YosysError as error:
        raise BuildError(f"yosys wrote no Verilog: {str(error).strip() or 'it did not say why'}") from None
    return f"{port_comment(component, name, about, domain)}\n{text}"


def verilog(board, isa=None, preset=None, params=None, freq=None):
    """Verilog of a board's SoC, without pads: byte streams of the link, pins of the memory, state of the core.

    Arguments as of :func:`build`. The text is the same for the same sources and arguments.
    """
    from ...boards import open_board
    from ...gateware.cores import open_room
    board = open_board(board)
    hz = None if freq is None else round(freq * 1e6)
    soc = board.make_soc(room=open_room(isa) if isa else None, preset=preset, params=params, clock_hz=hz)
    return _convert(soc, f"quintet_{board.name}_{isa or 'soc'}".replace("-", "_"),
                    [f"SoC of {board.title}, {soc.clock_hz / 1e6:g} MHz, {soc.preset or 'no core'}", *_settings(soc.params)], soc.domain)


def verilog_core(isa, preset=None, params=None, *, family=None, beat_bytes=4, memory_size=1 << 25):
    """Verilog of a core alone: Wishbone register block, memory port, interrupt (docs/contracts.md, sections 2 and 3).

    Parameters
    ----------
    isa, preset, params
        As of :func:`build`; without ``preset`` the ISA's default one.
    family : "ecp5", "ice40" or None
        ``None``: portable, without any vendor's cells.
    beat_bytes, memory_size : int
        Of the memory that the core will see.

    Raises
    ------
    ParameterError
        No such preset or size, or the core cannot have these sizes with that memory and those cells.
    BuildError
        yosys failed.
    """
    from ...gateware.cores import open_room
    from ...gateware.isa.parameters import ParameterError
    from ...gateware.shell.core import CoreShell
    room = open_room(isa)
    values = room.params.SPACE.resolve(preset, params)
    preset = preset or room.params.SPACE.default_preset
    try:
        core = CoreShell(room=room, params=values, beat_bytes=beat_bytes, memory_size=memory_size, family=family)
    except ValueError as error:
        # Sizes that the core has, and not with this memory or these cells.
        raise ParameterError(f"{isa} {preset} cannot be built with beats of {beat_bytes} bytes, {memory_size:,} bytes of memory and "
                             f"{family or 'portable'} cells: {error}") from None
    return _convert(core, f"quintet_{isa}", [f"{room.isa.ISA.title} core, preset {preset}, beats of "
                                             f"{beat_bytes} bytes, {memory_size:,} bytes of memory", *_settings(values)], core.domain)


def _settings(params):
    """Parameters as lines of a comment."""
    words = [f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in params.items()]
    return textwrap.wrap(" ".join(words), 110)
