# SPDX-License-Identifier: BSD-2-Clause
"""Products of matrices larger than the scratchpad, on the compiled SoC of the ULX3S-85F with the
model of its 16-bit SDRAM.

Cycles are those of the whole run, DMA of all operands and results included. After every run all of
main memory is compared with the golden model's, and the counters are.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ....gateware.cores.cherry.model.model import Model
from ....gateware.cores.cherry.params import SPACE
from ....gateware.cores.cherry.software import SOFTWARE
from ....gateware.isa.asm import assemble_text
from ....tools.kernels.cherry import Module
from ....tools.kernels.cherry.stored import from_array
from ....tools.measure import Choice, Differs, Row

__all__ = ["FORMATS", "product", "product_rows"]

_AT, _MEMORY = 0x1000, 1 << 22
#: Format -> most cycles of a product of 256 x 256 x 256 with 32 multipliers.
FORMATS = {"bf16": 655_000, "packed": 655_000, "fp32": 820_000}


def product(params: dict[str, Any], size: int, fmt: str) -> tuple[np.ndarray, dict[str, int]]:
    """Main memory and registers of a run that multiplies two random matrices in main memory."""
    m = Module(params)
    a, b = m.stored_input("a", size, size, fmt), m.stored_input("b", size, size, fmt)
    m.output("c", m.matmul(a, b))
    data = assemble_text(SOFTWARE, m.source()).data
    memory, rng = np.zeros(_MEMORY, np.uint8), np.random.default_rng(size)
    memory[_AT : _AT + len(data)] = np.frombuffer(data, np.uint8)
    for matrix in (a, b):
        raw = from_array(rng.normal(size=matrix.shape), fmt).view(np.uint8).ravel()
        memory[matrix.address : matrix.address + raw.size] = raw
    return memory, {"program_address": _AT, "program_length": len(data), "window_limit": _MEMORY}


def product_rows(choice: Choice) -> Iterator[Row]:
    """Rows of products of square matrices, by format in main memory."""
    from ....tools.targets import open_target

    size = choice.settings["size"]
    for preset in choice.presets:
        params = SPACE.resolve(preset)
        with open_target(f"sim:{choice.settings['board']}/cherry?preset={preset}") as target:
            for fmt, most in FORMATS.items():
                if choice.takes(fmt):
                    cycles = _cycles(target, params, size, fmt, choice.settings["compare"])
                    yield Row(
                        f"{size}x{size}x{size} {fmt}",
                        cycles,
                        "cycles",
                        most if size == 256 and params["macs"] == 32 else None,
                        more={
                            "preset": preset,
                            "of peak": f"{100 * size**3 / params['macs'] / cycles:.1f} %",
                        },
                    )


def _cycles(target, params, size, fmt, compare):
    memory, registers = product(params, size, fmt)
    target.board.chip[:_MEMORY] = memory
    got = target.run(registers, 100_000_000)
    if got.status != "done":
        raise Differs(f"the run ended as {got.status}, {got.fault}")
    if compare:
        expected = Model(params, memory, races=False).run(registers)
        if expected.status != "done" or not np.array_equal(target.board.chip[:_MEMORY], memory):
            raise Differs("gateware and model differ in main memory")
        for name, value in expected.counters.items():
            if got.counters[name] != value:
                raise Differs(f"counter {name} is {got.counters[name]}, expected {value}")
    return got.counters["cycles"]
