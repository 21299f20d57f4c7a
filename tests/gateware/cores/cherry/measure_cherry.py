# SPDX-License-Identifier: BSD-2-Clause
"""Measures Cherry's workloads (specification, section 10) on compiled gateware and prints a table.

``PYTHONPATH=tests/gateware/cores/cherry:tests/support python -m measure_cherry [--presets 85f] [--workloads "matmul 64"]``

The matrices lie in MEM. A workload runs as one step of a program list and as two, the second prepared beside the first; the difference is what
its programs take, without image and DMA. After every run all of MEM that is in use is compared with the golden model's.
"""
import argparse
import random

import cherry_compare as compare
import numpy as np
from cherry_programs import random_element
from cherry_workloads import PRESETS, WORKLOADS, source

from quintet.boards.virtual.bench import IDEAL
from quintet.gateware.cores.cherry.image import IN, OUT, Descriptor, ProgramImage, Step, image_bytes, list_bytes
from quintet.gateware.cores.cherry.model.model import Model
from quintet.gateware.cores.cherry.software import SOFTWARE
from quintet.gateware.isa.asm import assemble_text

__all__ = ["Machine", "image_of", "measure"]

_LIST_AT, _DATA_AT = 0x1000, 0x10000
#: Elements in use, a row of a descriptor, and rows.
_ROW, _ROWS = 1024, 16


class Machine:
    """A build's bench and the golden model, the same elements in MEM of both."""
    def __init__(self, preset):
        self.bench = compare.open_build(preset)
        self.bench.behave(IDEAL)
        self.model = Model(self.bench.params, np.zeros(compare.MEMORY, np.uint8))
        rnd = random.Random(preset)
        self.elements = [random_element(rnd) for _ in range(_ROW * _ROWS)]

    def _run(self, data):
        """A program list on both; counters of the gateware."""
        memory = np.zeros(compare.MEMORY, np.uint8)
        memory[_LIST_AT:_LIST_AT + len(data)] = np.frombuffer(data, np.uint8)
        memory[_DATA_AT:_DATA_AT + 4 * len(self.elements)] = np.array(self.elements, "<u4").view(np.uint8)
        self.bench.load(memory)
        self.model.memory = memory
        registers = {"program_address": _LIST_AT, "window_limit": compare.MEMORY}
        expected = self.model.run(registers)
        got = self.bench.run(registers, 10_000_000)
        if got.status != "done" or expected.status != "done" or (self.bench.memory != memory).any():
            raise SystemExit(f"gateware and model differ: {got.status} {got.fault}, {expected.status} {expected.fault}")
        for name, value in expected.counters.items():
            if got.counters[name] != value:
                raise SystemExit(f"counter {name} is {got.counters[name]}, expected {value}")
        return got.counters

    def _dma(self, op):
        image = image_bytes(ProgramImage(wide=self.bench.params["acc_frac"] == 17))
        transfer = [Descriptor(op, "raw", _DATA_AT, 0, _ROWS, _ROW, 4 * _ROW, _ROW)]
        self._run(list_bytes([(image, Step(0), transfer if op == IN else [], transfer if op == OUT else [])]))

    def run(self, images):
        """Counters of a list of programs, from the same elements; the second and later ones are prepared ahead."""
        self._dma(IN)
        counters = self._run(list_bytes([(image, Step(0, prefetch=k > 0), [], []) for k, image in enumerate(images)]))
        self._dma(OUT)
        return counters


def measure(machine, workload, preset):
    """Cycles of a workload's programs, each in turn."""
    text, names = source(workload, preset)
    total = 0
    for name in names:
        one = image_of(text, name)
        total += machine.run([one, one])["cycles"] - machine.run([one])["cycles"]
    return total


def image_of(text, name):
    """The image of a program of ``text``."""
    lines, keep = [], False
    for line in text.splitlines():
        if line.startswith(".program"):
            keep = line.split()[1] == name
        if keep:
            lines.append(line)
    return assemble_text(SOFTWARE, "\n".join(lines) + "\n").data


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--presets", nargs="+", default=PRESETS, choices=PRESETS)
    parser.add_argument("--workloads", nargs="+", default=[w.name for w in WORKLOADS], choices=[w.name for w in WORKLOADS])
    args = parser.parse_args()
    print("| workload | preset | bound | est | cycles | of est | of peak |\n|---|---|---|---|---|---|---|")
    for preset in args.presets:
        machine, column = Machine(preset), PRESETS.index(preset)
        for workload in WORKLOADS:
            if workload.name not in args.workloads:
                continue
            cycles = measure(machine, workload, preset)
            bound, estimate = workload.bounds[column], workload.estimates[column]
            peak = f"{100 * workload.macs / machine.bench.params['macs'] / cycles:.1f} %" if workload.macs else ""
            print(f"| {workload.name} | {preset} | {bound:,} | {estimate:,} | {cycles:,} | {100 * cycles / estimate - 100:+.1f} % | {peak} |",
                  flush=True)


if __name__ == "__main__":
    main()
