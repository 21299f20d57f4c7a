# SPDX-License-Identifier: BSD-2-Clause
"""Measures products of matrices that do not fit the scratchpad, on the compiled SoC of the ULX3S-85F with the model of its SDRAM of 16 bits.

``PYTHONPATH=tests/gateware/cores/cherry:tests/support python -m measure_cherry_blocks [--size 256] [--formats bf16 packed fp32] [--params macs=64]``

Cycles are those of the whole run, DMA of all operands and results included. After every run all of main memory is compared with the golden
model's, and the counters are.
"""
import argparse

import numpy as np

from quintet.gateware.cores.cherry.model.model import Model
from quintet.gateware.cores.cherry.params import SPACE
from quintet.gateware.cores.cherry.software import SOFTWARE
from quintet.gateware.isa.asm import assemble_text
from quintet.tools.kernels.cherry import Module
from quintet.tools.kernels.cherry.stored import from_array
from quintet.tools.targets import open_target

__all__ = ["product"]

_AT, _MEMORY = 0x1000, 1 << 22
#: Most cycles of a product of 256 x 256 x 256 with 32 multipliers.
_REQUIRED = {"bf16": 655_000, "packed": 655_000, "fp32": 820_000}


def product(params, size, fmt):
    """Main memory and registers of a run that multiplies two matrices of random numbers in main memory."""
    m = Module(params)
    a, b = m.stored_input("a", size, size, fmt), m.stored_input("b", size, size, fmt)
    m.output("c", m.matmul(a, b))
    data = assemble_text(SOFTWARE, m.source()).data
    memory, rng = np.zeros(_MEMORY, np.uint8), np.random.default_rng(size)
    memory[_AT:_AT + len(data)] = np.frombuffer(data, np.uint8)
    for matrix in (a, b):
        raw = from_array(rng.normal(size=matrix.shape), fmt).view(np.uint8).ravel()
        memory[matrix.address:matrix.address + raw.size] = raw
    return memory, {"program_address": _AT, "program_length": len(data), "window_limit": _MEMORY}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--formats", nargs="+", default=list(_REQUIRED), choices=list(_REQUIRED))
    parser.add_argument("--preset", default="85f")
    parser.add_argument("--no-model", action="store_true", help="do not compare with the golden model, which takes minutes")
    args = parser.parse_args()
    params = SPACE.resolve(args.preset)
    target = open_target(f"sim:ulx3s-85f/cherry?preset={args.preset}" if args.preset != "85f" else "sim:ulx3s-85f/cherry")
    print("| product | format | cycles | required | of peak |\n|---|---|---|---|---|", flush=True)
    for fmt in args.formats:
        memory, registers = product(params, args.size, fmt)
        target.board.chip[:_MEMORY] = memory
        got = target.run(registers, 100_000_000)
        if got.status != "done":
            raise SystemExit(f"the run ended as {got.status}, {got.fault}")
        cycles = got.counters["cycles"]
        peak = 100 * args.size ** 3 / params["macs"] / cycles
        required = f"{_REQUIRED[fmt]:,}" if args.size == 256 and params["macs"] == 32 else ""
        print(f"| {args.size}x{args.size}x{args.size} | {fmt} | {cycles:,} | {required} | {peak:.1f} % |", got.counters, flush=True)
        if args.no_model:
            continue
        expected = Model(params, memory, races=False).run(registers)
        if expected.status != "done" or not np.array_equal(target.board.chip[:_MEMORY], memory):
            raise SystemExit("gateware and model differ in main memory")
        for name, value in expected.counters.items():
            if got.counters[name] != value:
                raise SystemExit(f"counter {name} is {got.counters[name]}, expected {value}")


if __name__ == "__main__":
    main()
