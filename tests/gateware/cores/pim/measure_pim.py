# SPDX-License-Identifier: BSD-2-Clause
"""Measures PIM's acceptance workloads (specification, section 10) on compiled gateware and prints tables.

``PYTHONPATH=tests/support:tests/gateware/cores/pim python -m measure_pim [--memory block sdram] [--tables items streams digits]
[--images 40] [--cores 4] [--build four]``

Memory *block*: 8 bytes a cycle on the machine's one port, eight cycles of latency; *sdram*: the default SoC of the ULX3S-85F with the
model of its chip of 16 bits. Cycles are those of RUN. After every run all of memory is compared with the golden model's. ``--build``:
instead of them a build of the comparison (``pim_compare.BUILDS``), and what fits it, single instructions in 4 KB of LMem; the bounds are of
preset ``85f``, so none is shown.
"""
import argparse
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from comparing import registers_of
from pim_compare import BUILDS, open_build, run_model
from pim_limits import physical_limit
from pim_programs import MEMORY as SMALL
from pim_scratch import Case, make_case
from pim_workloads import BOUNDS, PARAMS, SINGLES, WORKLOADS, case_of
from pim_workloads import MEMORY as WORKLOADS_MEMORY

from quintet.gateware.cores.pim.asm.listing import image_of
from quintet.gateware.cores.pim.densify.densify import densify
from quintet.gateware.cores.pim.image.codes import words_of
from quintet.gateware.cores.pim.image.image import CoreProgram, Group, Image
from quintet.gateware.cores.pim.software import SOFTWARE
from quintet.gateware.isa.asm import Program, load_program, save_program

__all__ = ["Machine", "Run", "digits_case", "published", "stream_rows"]

#: Bytes of main memory of the bench: the digits' image and, from the middle on, their GMem.
MEMORY = 1 << 23
BEATS = {"block": 8, "sdram": 2}
#: What the published event simulator takes, default configuration (section 10).
SIMULATOR = {"A": 5592, "B": 3566, "C": 3004, "D": 447}
#: Stream -> bound of the workload table, by memory; code packed at the SDRAM.
STREAMS = {"A": {"block": 5592, "sdram": 5592}, "B": {"block": 3566, "sdram": 3566}, "C": {"block": 3004, "sdram": 4170},
           "D": {"block": 850, "sdram": 1150}, "E": {"block": 2000, "sdram": None}}
_PACKED = 2


@dataclass(frozen=True)
class Run:
    """``cycles`` of RUN, ``load`` of LOAD, all ``counters``."""
    cycles: int
    load: int
    counters: dict


class Machine:
    """Preset ``85f`` on one of the memories, or a build of the comparison."""
    def __init__(self, memory, cores=4, build=None):
        self.memory, self.params, self.size, self.beat, self.build = memory, {**PARAMS, "cores": cores}, WORKLOADS_MEMORY, BEATS[memory], build
        if build is not None:
            self.memory, self.size = "block", SMALL
            self.bench = open_build(build)
            self.params, self.beat = self.bench.params, self.bench.beat_bytes
        elif memory == "block":
            from quintet.boards.virtual.bench import CoreBench
            self.bench = CoreBench("pim", preset="85f", overrides={"cores": cores}, beat_bytes=BEATS[memory], memory_size=MEMORY, ports="shell")
        else:
            from quintet.tools.targets import open_target
            self.target = open_target("sim:ulx3s-85f/pim" + (f"?cores={cores}" if cores != 4 else ""))

    def case(self, name):
        """The case of a workload; ``None`` if this build cannot run it."""
        small = self.build is not None and name in SINGLES
        program = (SINGLES if small else WORKLOADS)[name]
        if any(max(g.arrays) >= self.params["arrays"] for p in program for g in p.groups):
            return None
        case = case_of(program, mode=0 if self.memory == "block" else _PACKED, params=self.params, size=self.size)
        if len(case.image.cores) > self.params["cores"] or self.build is not None and run_model(case)[0].status != "done":
            return None
        return case

    def run(self, case):
        """The :class:`Run` of a case that ends well, with the model's memory."""
        expected, memory, _ = run_model(case)
        if self.memory == "block":
            self.bench.load(case.memory)
            outcome = self.bench.run(registers_of(case), 50_000_000)
            load, got = self.bench.read_register(self.bench.registers["load_cycles"].offset), self.bench.memory[:case.memory.size]
        else:
            self.target.reset_core()
            chip = self.target.board.chip
            chip[:case.memory.size] = case.memory
            outcome = self.target.run(registers_of(case), 50_000_000)
            load, got = self.target.read_register("load_cycles"), chip[:case.memory.size]
        if (outcome.status, expected.status) != ("done", "done"):
            raise SystemExit(f"{case.name}: the run ended as {outcome.status}, {outcome.fault}; the model as {expected.status}")
        if not np.array_equal(got, memory):
            raise SystemExit(f"{case.name}: memory differs from the model's, first at {int(np.flatnonzero(got != memory)[0]):#x}")
        for name in ("instructions", "operations", "bytes_read", "bytes_written"):
            if outcome.counters[name] != expected.counters[name]:
                raise SystemExit(f"{case.name}: counter {name} is {outcome.counters[name]}, not {expected.counters[name]}")
        return Run(outcome.counters["cycles"] - load, load, outcome.counters)


def published(image, params):
    """``image`` written in the published JSON dialect and imported again: what a compiler's stream goes through."""
    with tempfile.TemporaryDirectory() as folder:
        save_program(SOFTWARE, Program(image.data()), f"{folder}/stream.json.gz")
        return image_of(load_program(SOFTWARE, Path(folder) / "stream.json.gz").data, params)[0]


def _with_image(case, image):
    """``case`` with the code of another image."""
    at, size = case.registers["program_address"], case.registers["program_length"]
    memory = case.memory.copy()
    memory[at:at + size] = 0
    words = [(k, int(w)) for k, core in enumerate(image.cores) for w in words_of(core.code, core.mode, core.count)[0]]
    return make_case(case.name, case.params, image, words, memory, at)


def _show(value, bound):
    return f"{value:,}" if bound is None or value <= bound else f"**{value:,}: missed**"


class Table:
    """Prints rows as they come; ``missed``: one was above its bound."""
    def __init__(self, *heads):
        self.missed = False
        print("\n| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")

    def row(self, name, *pairs, more=()):
        """``pairs``: (cycles, bound)."""
        cells = []
        for value, bound in pairs:
            self.missed |= bound is not None and value > bound
            cells += [_show(value, bound), "-" if bound is None else f"{bound:,.0f}"]
        print("| " + " | ".join([name, *cells, *more]) + " |", flush=True)


def items(machine):
    """Single instructions, exchanges, events, LOAD: the bounds of the table's first part."""
    table, known = Table(f"workload, {machine.memory}", "cycles", "bound"), {}

    def cycles(name):
        if name not in known:
            known[name] = machine.run(machine.case(name)).cycles
        return known[name]
    beat = machine.beat
    for name, (bound, minus) in BOUNDS.items():
        if name in STREAMS or machine.case(name) is None:
            continue
        if name[:3] in ("ld ", "st "):
            bound = int(1.15 * 2000 / beat) + (60 if name.endswith("odd") else 40)
        if name == "10,000 sldi" and machine.memory != "block":
            continue
        table.row(name, (cycles(name) - (cycles(minus) if minus else 0), bound if machine.build is None else None))
    if machine.build is not None:
        return False
    case = full_arrays(machine.params["cores"])
    size = case.registers["program_length"]
    table.row(f"LOAD, 64 KB of weights for each core, {size:,} bytes", (machine.run(case).load, int(1.15 * size / beat) + 2500))
    return table.missed


def full_arrays(cores):
    """A program that does nothing on cores whose arrays are all programmed."""
    rng = np.random.default_rng(1)
    rows, arrays = PARAMS["xb_rows"] * PARAMS["arrays"], tuple(range(PARAMS["arrays"]))
    groups = [Group(rows, PARAMS["xb_cols"], arrays, 8, 8, 1, rng.integers(-128, 128, (rows, PARAMS["xb_cols"]), np.int8)) for _ in range(cores)]
    image = Image([CoreProgram(groups=[group]) for group in groups], PARAMS["xb_rows"], PARAMS["xb_cols"], MEMORY // 2, 0)
    return make_case("LOAD", PARAMS, image, [(k, 0) for k in range(cores)], np.zeros(MEMORY, np.uint8), 0x1000)


def stream_rows(machine, names=tuple(STREAMS)):
    """``(name, run, bound, run densified, bound densified)`` of streams that went through the published format."""
    for name in names:
        case = machine.case(name)
        if case is None:
            continue
        image = published(case.image, case.params)
        if image.data() != case.image.data():
            raise SystemExit(f"{name}: the published format does not give the image back")
        dense, notes = densify(image, case.params)
        if notes:
            raise SystemExit(f"{name}: {notes}")
        limit = 1.15 * physical_limit(dense, case.params, machine.beat)
        bound = max(0.6 * SIMULATOR.get(name, 0), limit)
        yield name, machine.run(case), STREAMS[name][machine.memory], machine.run(_with_image(case, dense)), bound


def streams(machine):
    """The table's programs as they are and after ``densify``."""
    table = Table(f"stream, {machine.memory}", "cycles", "bound", "densified", "bound", "instructions", "densified")
    for name, run, bound, dense, dense_bound in stream_rows(machine):
        if machine.build is not None:
            bound = dense_bound = None
        table.row(name, (run.cycles, bound), (dense.cycles, dense_bound),
                  more=[f"{r.counters['instructions']:,}" for r in (run, dense)])
    return table.missed


def digits_case(network, cores, images, *, mode="packed"):
    """The digits job of ``firmware/pim`` as a case, its memory filled in."""
    from quintet.firmware.pim import digits
    gmem = MEMORY // 2
    compiled = digits.program(PARAMS, network, images=images, cores=cores, mode=mode, gmem=gmem)
    memory = np.zeros(MEMORY, np.uint8)
    data = compiled.data
    if len(data) > gmem:
        raise SystemExit(f"{images} images take a program of {len(data):,} bytes, more than {gmem:,}")
    memory[:len(data)] = np.frombuffer(data, np.uint8)
    values = digits.inputs(network, images).view(np.uint8).ravel()
    memory[compiled.inputs:compiled.inputs + values.size] = values
    return Case(f"{network} on {cores}", PARAMS, compiled.image, memory, {"program_address": 0, "program_length": len(data)}, [])


def digits(machines, images):
    """The networks on one core and on all: (missed)."""
    missed, compute = False, {}
    for memory, machine in machines.items():
        cores = machine.params["cores"]
        print(f"\n| digits, {images} images, {memory} | cycles, 1 core | {cores} cores | times | bytes of code and data | larger of compute / {cores} "
              "and bytes | ratio |\n|---|---|---|---|---|---|---|")
        for network in ("mlp", "cnn"):
            one, all_ = (machine.run(replace(digits_case(network, n, images), name=f"{network}{n}")) for n in (1, cores))
            if memory == "block":
                compute[network] = one.cycles
            c = all_.counters
            moved = c["bytes_read"] + c["bytes_written"] + c["code_bytes"]
            least = max(compute.get(network, one.cycles) / cores, moved / BEATS[memory])
            times, ratio = one.cycles / all_.cycles, all_.cycles / least
            late = network == "cnn" and (times < 2.8 if memory == "block" else ratio > 1.15)
            missed |= late
            print(f"| {network} | {one.cycles:,} | {all_.cycles:,} | {times:.2f} | {moved:,} | {least:,.0f} | {ratio:.2f}"
                  f"{': missed' if late else ''} |", flush=True)
    return missed


def main(argv=None):
    parser = argparse.ArgumentParser(prog="measure_pim", description="Measure PIM's acceptance workloads.")
    parser.add_argument("--memory", nargs="*", choices=tuple(BEATS), default=("block",))
    parser.add_argument("--tables", nargs="*", choices=("items", "streams", "digits"), default=("items", "streams", "digits"))
    parser.add_argument("--images", type=int, default=40, help="of the digits (%(default)s)")
    parser.add_argument("--cores", type=int, default=4, help="cores built (%(default)s)")
    parser.add_argument("--build", choices=tuple(BUILDS), help="of the comparison, instead of the preset")
    options = parser.parse_args(argv)
    if options.build:
        machine = Machine("block", build=options.build)
        if "items" in options.tables:
            items(machine)
        if "streams" in options.tables:
            streams(machine)
        return 0
    machines = {memory: Machine(memory, options.cores) for memory in options.memory}
    missed = False
    for machine in machines.values():
        for name, table in (("items", items), ("streams", streams)):
            if name in options.tables:
                missed |= table(machine)
    if "digits" in options.tables:
        missed |= digits(machines, options.images)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
