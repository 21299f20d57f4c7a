# SPDX-License-Identifier: BSD-2-Clause
"""Measurement bench of any core: compiled gateware with its golden model. Figures count only if
both end with the same memory and counters.

The gateware stands on a bench with an ideal memory (``CoreBench``) or on a virtual board with the
model of its SDRAM chip.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...gateware.isa.model import Model
from ...gateware.isa.outcome import Outcome
from .row import Differs

if TYPE_CHECKING:
    from ...boards.virtual.bench import CoreBench
    from ..targets.sim import SimTarget

__all__ = ["SHARED_COUNTERS", "MeasuredBuild", "ideal_bench", "sdram_board"]

#: Counters that every golden model knows.
SHARED_COUNTERS = ("instructions", "operations", "bytes_read", "bytes_written")
#: Cycles after which a run is taken to hang.
_LIMIT = 100_000_000


def ideal_bench(
    isa: str, preset: str, beat_bytes: int, memory_size: int, **build: Any
) -> CoreBench:
    """Bench of a core with ideal memory: one beat per cycle, latency of eight cycles; ``build``: as
    for :class:`~quintet.boards.virtual.bench.CoreBench`."""
    from ...boards.virtual.bench import CoreBench

    return CoreBench(
        isa,
        preset=preset,
        beat_bytes=beat_bytes,
        memory_size=memory_size,
        **{"ports": "shell", **build},
    )


def sdram_board(isa: str, sizes: Mapping[str, Any] | None = None) -> SimTarget:
    """Virtual board of the ULX3S-85F's default SoC with its SDRAM; ``sizes``: preset and build
    parameters that differ from the board's."""
    from ..targets.names import open_sim_target

    options = "&".join(f"{name}={value}" for name, value in (sizes or {}).items())
    return open_sim_target(f"sim:ulx3s-85f/{isa}" + (f"?{options}" if options else ""))


class MeasuredBuild:
    """A build under test, on a bench or as a virtual board; ``resets``: the core is reset before
    each run on a board."""

    def __init__(
        self,
        *,
        bench: CoreBench | None = None,
        board: SimTarget | None = None,
        resets: bool = True,
    ) -> None:
        self._bench, self._board, self._resets = bench, board, resets

    def run(self, image: np.ndarray, registers: Mapping[str, int]) -> tuple[Outcome, np.ndarray]:
        """Runs in memory that begins with ``image``; returns ``(Outcome, memory after the
        run)``."""
        if self._bench is not None:
            self._bench.load(image)
            outcome = self._bench.run(registers, _LIMIT)
            return outcome, self._bench.memory[: image.size].copy()
        assert self._board is not None
        if self._resets:
            self._board.reset_core()
        chip = self._board.board.chip
        assert chip is not None  # the ULX3S has one
        chip[: image.size] = image
        outcome = self._board.run(registers, _LIMIT)
        return outcome, chip[: image.size].copy()

    def exact(
        self,
        what: str,
        model: Model,
        image: np.ndarray,
        registers: Mapping[str, int],
        counters: Iterable[str] | None = None,
    ) -> Outcome:
        """Runs, requires that memory and counters (the named ones; by default all of the model)
        equal those of ``model``, and returns the outcome. Raises :class:`~.row.Differs`, with
        ``what`` in front."""
        registers = {"window_limit": image.size, **registers}
        model.memory = image.copy()
        expected = model.run(registers)
        found, memory = self.run(image, registers)
        if found.status != "done" or expected.status != "done":
            raise Differs(
                f"{what}: the run ended as {found.status}, {found.fault}; the model as "
                f"{expected.status}"
            )
        if not np.array_equal(memory, model.memory):
            at = int(np.flatnonzero(memory != model.memory)[0])
            raise Differs(f"{what}: memory differs from the model's, first at {at:#x}")
        for name in expected.counters if counters is None else counters:
            if found.counters[name] != expected.counters[name]:
                raise Differs(
                    f"{what}: counter {name} is {found.counters[name]}, not "
                    f"{expected.counters[name]}"
                )
        return found

    def register(self, name: str) -> int:
        """Reads a register of the core after a run."""
        if self._board is not None:
            return self._board.read_register(name)
        assert self._bench is not None
        return self._bench.read_register(self._bench.registers[name].offset)
