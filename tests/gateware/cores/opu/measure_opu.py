# SPDX-License-Identifier: BSD-2-Clause
"""Measures the OPU's acceptance workloads (specification, section 10.2) on compiled gateware and prints tables.

``PYTHONPATH=tests/gateware/cores/opu python -m measure_opu [--builds p64 p128] [--workloads W5] [--memory ideal sdram] [--layers]``

Memory *ideal*: one beat of 2 bytes a cycle (UP5K: 4, its SPRAM's) on the core's one port, eight cycles of latency; *sdram*: the default SoC of the ULX3S-85F with the
model of its SDRAM chip. After every run all of memory is compared with the golden model's.
"""
import argparse
import sys
from dataclasses import dataclass

import numpy as np
from opu_workloads import BUILDS, NETWORKS, ROWS, build_params, program, values_of

from quintet.gateware.cores.opu.model.model import Model

__all__ = ["Layer", "Machine", "layers", "measure"]

_MEMORY = 1 << 22


class Machine:
    """A build, on an ideal memory or with the SDRAM around it."""
    def __init__(self, build, memory):
        self.build, self.memory = build, memory
        preset, overrides = BUILDS[build]
        if memory == "ideal":
            from quintet.boards.virtual.bench import CoreBench
            self.bench = CoreBench("opu", preset=preset, overrides=overrides, beat_bytes=4 if preset == "up5k" else 2,
                                   memory_size=_MEMORY, ports="shell")
        else:
            from quintet.tools.targets import open_target
            options = "".join(f"&{name}={value}" for name, value in overrides.items())
            self.target = open_target(f"sim:ulx3s-85f/opu?preset={preset}{options}")

    def run(self, image, registers):
        """``(Outcome, memory afterwards)``."""
        if self.memory == "ideal":
            self.bench.load(image)
            outcome = self.bench.run({"window_limit": image.size, **registers}, 100_000_000)
            return outcome, self.bench.memory[:image.size].copy()
        self.target.reset_core()
        chip = self.target.board.chip
        chip[:image.size] = image
        outcome = self.target.run({"window_limit": image.size, **registers}, 100_000_000)
        return outcome, chip[:image.size].copy()


def _image(compiled, network):
    image = compiled.image(values_of(network))
    return np.concatenate([image, np.zeros(-len(image) % 64, np.uint8)])


def run_exact(machine, compiled, network, words=None):
    """Counters of a run whose memory is the golden model's to the last byte; ``words``: only so many, and ``end``."""
    image = _image(compiled, network)
    registers = dict(compiled.all_registers)
    if words is not None:
        end = compiled.program_at + 4 * words
        image[end:end + 4] = 0
        registers["program_length"] = 4 * words + 4
    expected = image.copy()
    wanted = Model(build_params(machine.build), expected).run(registers)
    outcome, memory = machine.run(image, registers)
    if outcome.status != "done" or wanted.status != "done":
        raise SystemExit(f"{machine.build}: the run ended as {outcome.status}, {outcome.fault}")
    if not np.array_equal(memory, expected):
        at = int(np.flatnonzero(memory != expected)[0])
        raise SystemExit(f"{machine.build}: memory differs from the model's, first at {at:#x}")
    for name in ("instructions", "operations", "bytes_read", "bytes_written"):
        if outcome.counters[name] != wanted.counters[name]:
            raise SystemExit(f"{machine.build}: counter {name} is {outcome.counters[name]}, not {wanted.counters[name]}")
    return outcome.counters


def measure(row, machine, known):
    """``(value compared with the bound, counters)`` of a row; ``known`` keeps counters of runs."""
    def counters(workload):
        key = workload, row.build, row.schedule, row.memory
        if key not in known:
            network, compiled = program(workload, row.build, row.schedule)
            known[key] = run_exact(machine, compiled, network)
        return known[key]

    found = counters(row.workload)
    value = found["cycles"]
    if row.minus is not None:
        value = (value - counters(row.minus)["cycles"]) / row.per
    if row.what == "bytes a cycle":
        value = 1 / value
    return value, found


@dataclass(frozen=True)
class Layer:
    """A layer's share of a run: differences of counters between the program up to its end and up to the layer's before."""
    name: str
    macs: int
    counters: dict


def layers(machine, workload, schedule):
    """A :class:`Layer` for each layer of a workload: the program is run up to the end of every one."""
    network, compiled = program(workload, machine.build, schedule)
    before, found = None, []
    for span in compiled.layers:
        last = span is compiled.layers[-1]
        now = run_exact(machine, compiled, network, None if last else span.end)
        part = {name: value - (before[name] if before else 0) for name, value in now.items()}
        found.append(Layer(span.name, span.macs, part))
        before = now
    return found


def _show(value):
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 100 and value != int(value) else f"{value:,.0f}"


def _percent(value):
    return f"{100 * value:.1f} %"


def print_rows(rows, machines):
    print("| | build | memory | what | measured | required | aim | MACs of peak | work | operand | write | fetch | other |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    known, missed = {}, False
    for row in rows:
        value, c = measure(row, machines(row.build, row.memory), known)
        late = row.bound is not None and (value < row.bound if row.what == "bytes a cycle" else value > row.bound)
        missed |= late
        params = build_params(row.build)
        peak = params["pi"] * params["po"] * c["cycles"]
        shares = [_percent(c[k] / c["cycles"]) for k in ("work", "stall_operand", "stall_write", "stall_fetch", "stall_other")]
        text = f"**{_show(value)}: missed**" if late else _show(value)
        print(f"| {row.title} | {row.build} | {row.memory} | {row.what} | {text} | {_show(row.bound)} | {_show(row.aim)} | "
              f"{_percent(c['operations'] / peak)} | {' | '.join(shares)} |", flush=True)
    return missed


def print_layers(machine, workload, schedule):
    params = build_params(machine.build)
    lanes = params["pi"] * params["po"]
    print(f"\n{workload}{' scheduled' if schedule else ', layer after layer'}, {machine.build}, {machine.memory}\n")
    print("| layer | multiplications | cycles | of peak | work | operand | write | fetch | other | ifm | ker | ofm |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    total = {}
    found = layers(machine, workload, schedule)
    for layer in [*found, None]:
        if layer is None:
            layer = Layer("all", sum(one.macs for one in found), total)
        c = layer.counters
        for name, value in c.items():
            if layer.counters is not total:
                total[name] = total.get(name, 0) + value
        names = ("work", "stall_operand", "stall_write", "stall_fetch", "stall_other", "stall_ifm", "stall_ker", "stall_ofm")
        print(f"| {layer.name} | {layer.macs:,} | {c['cycles']:,} | {_percent(layer.macs / lanes / c['cycles'])} | "
              + " | ".join(f"{c[name]:,}" for name in names) + " |", flush=True)


def main(argv=None):
    parser = argparse.ArgumentParser(prog="measure_opu", description="Measure the OPU's acceptance workloads.")
    parser.add_argument("--builds", nargs="*", choices=list(BUILDS), default=None)
    parser.add_argument("--workloads", nargs="*", choices=list(NETWORKS), default=None)
    parser.add_argument("--memory", nargs="*", choices=("ideal", "sdram"), default=("ideal",))
    parser.add_argument("--layers", action="store_true", help="per layer, the builds' W5 (or the workloads named)")
    options = parser.parse_args(argv)
    known = {}

    def machines(build, memory):
        if (build, memory) not in known:
            known[build, memory] = Machine(build, memory)
        return known[build, memory]

    if options.layers:
        for build in options.builds or ("p64", "p128"):
            for workload in options.workloads or ("W5",):
                for memory in options.memory:
                    for schedule in (True, False):
                        print_layers(machines(build, memory), workload, schedule)
        return 0
    rows = [row for row in ROWS if (options.builds is None or row.build in options.builds)
            and (options.workloads is None or row.workload in options.workloads) and row.memory in options.memory]
    return 1 if print_rows(rows, machines) else 0


if __name__ == "__main__":
    sys.exit(main())
