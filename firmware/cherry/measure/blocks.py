# SPDX-License-Identifier: BSD-2-Clause
"""Products of matrices larger than the scratchpad, on the compiled SoC of the ULX3S-85F with the
model of its 16-bit SDRAM.

Cycles are those of the whole run, DMA of all operands and results included. After every run all of
main memory is compared with the golden model's, and the counters are.
"""

from collections.abc import Iterator

import numpy as np

from ....gateware.cores.cherry.model.model import Model
from ....gateware.cores.cherry.model.transfers import from_array
from ....gateware.cores.cherry.params import SPACE
from ....gateware.cores.cherry.software import SOFTWARE
from ....gateware.isa.asm import assemble
from ....tools.measure import Choice, Differs, Row
from ....tools.measure.bench import MeasuredBuild, sdram_board
from .workloads import FOLDER

__all__ = ["FORMATS", "product", "product_rows"]

_AT, _MEMORY = 0x1000, 1 << 22
#: The build, and rows and columns of the factors.
_PRESET, _SIZE = "85f", 256
#: Format -> most cycles of the product.
FORMATS = {"bf16": 655_000, "packed": 655_000, "fp32": 820_000}
#: Format -> addresses of the factors.
_FACTORS = {
    "bf16": (0x10_0000, 0x12_0000),
    "packed": (0x10_0000, 0x12_4000),
    "fp32": (0x10_0000, 0x14_0000),
}


def product(fmt: str) -> tuple[np.ndarray, dict[str, int]]:
    """Main memory and registers of a run that multiplies two random matrices in main memory."""
    data = assemble(SOFTWARE, FOLDER / f"product_{fmt}.s").data
    memory, rng = np.zeros(_MEMORY, np.uint8), np.random.default_rng(_SIZE)
    memory[_AT : _AT + len(data)] = np.frombuffer(data, np.uint8)
    for address in _FACTORS[fmt]:
        raw = from_array(rng.normal(size=(_SIZE, _SIZE)), fmt).view(np.uint8).ravel()
        memory[address : address + raw.size] = raw
    return memory, {"program_address": _AT, "program_length": len(data), "window_limit": _MEMORY}


def product_rows(choice: Choice) -> Iterator[Row]:
    """Measured rows of products of square matrices, by format in main memory."""
    params = SPACE.resolve(_PRESET)
    with sdram_board("cherry", {"preset": _PRESET}) as board:
        target = MeasuredBuild(board=board, resets=False)
        for fmt, most in FORMATS.items():
            if choice.takes(fmt):
                cycles = _cycles(target, params, fmt, choice.settings["compare"])
                share = 100 * _SIZE**3 / params["macs"] / cycles
                yield Row(
                    f"{_SIZE}x{_SIZE}x{_SIZE} {fmt}",
                    cycles,
                    "cycles",
                    most,
                    more={"preset": _PRESET, "of peak": f"{share:.1f} %"},
                )


def _cycles(target, params, fmt, compare):
    memory, registers = product(fmt)
    if compare:
        model = Model(params, memory, races=False)
        return target.exact("the product", model, memory, registers).counters["cycles"]
    outcome, _ = target.run(memory, registers)
    if outcome.status != "done":
        raise Differs(f"the run ended as {outcome.status}, {outcome.fault}")
    return outcome.counters["cycles"]
