# SPDX-License-Identifier: BSD-2-Clause
"""Compiler from matrix products and multilayer perceptrons to programs without NOPs.

Order of instructions (it is what the speed depends on; results do not):

* Tiles are requested two ahead, inputs one block ahead, results leave soon after their activation.
  Where the engine has one transfer at a time (one bank, no chaining), the tiles of the next
  products are requested before inputs or results move.
* Output blocks are finished one after another: activation and results of one go under the products
  of the next. Only while inputs still come from memory several are under way, as many as the
  accumulators hold: an input block is used by all of them before the next one is needed.

The compiler (:class:`quintet.tools.compiler.builder.Net`) cannot take this module's place. Its
layers need a shift after their sums, so it refuses every build without ``ext_norm``, among them the
default ones of the iCE40s and the published sizes. The layers here are those of the published
software: a sum goes to the activation as it is, and ``norm`` is only set where the build has it.
With the compiler the demos of these boards would be gone, and cycles of the measured programs would
be those of another program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...tools.compiler.backends.opentpu.codegen.program import Program
from ...tools.compiler.backends.opentpu.layout import (
    blocks,
    pack_matrix,
    pack_weights,
    unpack_matrix,
)

__all__ = ["Layer", "Network", "NetworkError"]

#: Products that go by in the time of a transfer of rows.
BESIDE = 1


class NetworkError(ValueError):
    """Error: a network does not fit the core; the message says what is too small."""


@dataclass(frozen=True)
class Layer:
    """One dense layer: ``weights`` int8 [inputs, outputs], activation ``func``, and optionally
    ``norm`` (CFG value).

    If a layer of a network has ``norm``, CFG instructions set it for each, ``None`` being 0; if
    none has, the program has no CFG.
    """

    weights: np.ndarray
    func: str = "none"
    norm: int | None = None


class Network:
    """A multilayer perceptron for one core's sizes.

    Parameters
    ----------
    layers : sequence of Layer
    params : dict of build parameters (``n``, ``ub_rows``, ``acc_rows``, ``wfifo_tiles`` count)
    batch : int, optional
        Rows of input at a time, 1 to 256; by default as many as fit.
    bandwidth : float
        Bytes that main memory moves in a cycle, for the order of instructions: 1.8 is a 16-bit
        SDRAM.

    Attributes
    ----------
    tiles : int8 [tiles, n, n], weight memory of all layers, one after another
    batch : int
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        params: Mapping[str, Any],
        *,
        batch: int | None = None,
        bandwidth: float = 1.8,
    ):
        self.layers = list(layers)
        self.bandwidth = bandwidth
        self.n = n = params["n"]
        #: Tiles to ask for in front of a transfer of rows.
        self.beside = BESIDE if params.get("banks") == 1 and not params.get("chain") else 0
        self._params = params
        for index, layer in enumerate(self.layers):
            if layer.weights.dtype != np.int8 or layer.weights.ndim != 2:
                raise NetworkError(f"layer {index}: weights must be an int8 matrix")
            if index and blocks(self.layers[index - 1].weights.shape[1], n) != blocks(
                layer.weights.shape[0], n
            ):
                raise NetworkError(
                    f"layer {index} takes {layer.weights.shape[0]} inputs, the layer before it "
                    f"gives "
                    f"{self.layers[index - 1].weights.shape[1]}"
                )
        #: Blocks of every tensor: inputs, then each layer's outputs.
        self.widths = [blocks(self.layers[0].weights.shape[0], n)] + [
            blocks(x.weights.shape[1], n) for x in self.layers
        ]
        self.tiles = np.concatenate([pack_weights(layer.weights, n) for layer in self.layers])
        self.batch = self._largest_batch() if batch is None else batch
        if not 1 <= self.batch <= 256:
            raise NetworkError(f"batch must be 1 to 256, not {self.batch}")
        self._regions = self._allocate()

    def _largest_batch(self):
        widths, rows = self.widths, self._params["ub_rows"]
        pair = max(a + b for a, b in zip(widths, widths[1:], strict=False))
        batch = min(256, max(rows // sum(widths), 1))
        if batch < 16:  # then rather two halves in turn than a batch per tensor
            batch = min(256, rows // pair)
        # Two sets of accumulators, so that a set is activated while the other is filled.
        return max(1, min(batch, self._params["acc_rows"] // 2))

    def _allocate(self):
        """First UB row of each tensor: all tensors have separate rows if they fit, else two halves
        alternate."""
        rows, sizes = self._params["ub_rows"], [width * self.batch for width in self.widths]
        self._side_by_side = sum(sizes) <= rows
        if self._side_by_side:
            return [sum(sizes[:k]) for k in range(len(sizes))]
        half = max(sizes[::2])
        if half + max(sizes[1::2]) > rows:
            raise NetworkError(
                f"a batch of {self.batch} takes {half + max(sizes[1::2])} rows of the unified "
                f"buffer, "
                f"which has {rows}"
            )
        return [0 if k % 2 == 0 else half for k in range(len(sizes))]

    def pack_inputs(self, matrix: np.ndarray) -> np.ndarray:
        """Packs the inputs for host memory, int8 [vectors, n]: batches in order, each packed
        separately (the last may be shorter)."""
        return np.concatenate(
            [
                pack_matrix(matrix[at : at + self.batch], self.n)
                for at in range(0, len(matrix), self.batch)
            ]
        )

    def output_vectors(self, rows: int) -> int:
        """Number of vectors in the results of ``rows`` inputs."""
        return self.widths[-1] * rows

    def unpack_outputs(self, vectors: np.ndarray, rows: int) -> np.ndarray:
        """Unpacks a run's result vectors into int8 [rows, outputs]."""
        outputs, parts, at = self.layers[-1].weights.shape[1], [], 0
        for start in range(0, rows, self.batch):
            count = min(self.batch, rows - start)
            parts.append(unpack_matrix(vectors[at : at + count * self.widths[-1]], count, outputs))
            at += count * self.widths[-1]
        return np.concatenate(parts)

    def program(self, rows: int, *, inputs_at: int = 0, outputs_at: int | None = None) -> Program:
        """Generates the program for ``rows`` inputs.

        Parameters
        ----------
        rows : rows of the input matrix
        inputs_at : host vector of the packed inputs
        outputs_at : host vector of the results; by default behind the inputs

        Returns
        -------
        Program
        """
        if outputs_at is None:
            outputs_at = inputs_at + rows * self.widths[0]
        products = sum(a * b for a, b in zip(self.widths[:-1], self.widths[1:], strict=True))
        writer = _Writer(self, products * -(-rows // self.batch))
        normalised, norm = any(layer.norm is not None for layer in self.layers), None
        for start in range(0, rows, self.batch):
            count, left = min(self.batch, rows - start), rows - start
            writer.loads += [] if start else self._loads(count, inputs_at)
            following = self._loads(
                min(self.batch, left - count), inputs_at + (start + count) * self.widths[0]
            )
            tile = 0
            for index, layer in enumerate(self.layers):
                if normalised and (layer.norm or 0) != norm:
                    norm = layer.norm or 0
                    writer.program.cfg("norm", norm)
                # Inputs of the next batch come in under the later layers, where they have rows of
                # their own.
                if index == 1 and self._side_by_side:
                    writer.loads, following = following, []
                writer.layer(index, count, tile, outputs_at + start * self.widths[-1])
                tile += self.widths[index] * self.widths[index + 1]
            writer.loads += following
        return writer.finish(min(2, self._params["wfifo_tiles"]))

    def _loads(self, count, host):
        """Arguments of the RHM of each input block of a batch."""
        return (
            [(host + k * count, self._regions[0] + k * count, count) for k in range(self.widths[0])]
            if count
            else []
        )


def product_order(arrival: Sequence[float], across: int, slots: int) -> list[tuple[int, int]]:
    """Schedules the products of one layer: pairs (input block, output block).

    Parameters
    ----------
    arrival : when each input block is there, in products from the layer's begin
    across : output blocks
    slots : output blocks that may be under way at a time

    Each time the lowest output block whose next input is there goes; if there is none, the one that
    waits least.
    """
    down, now, opened = len(arrival), 0.0, 0
    order: list[tuple[int, int]] = []
    active: dict[int, int] = {}  # output block -> its next input block
    while len(order) < down * across:
        while opened < across and len(active) < slots:
            active[opened] = 0
            opened += 1
        j = next((j for j, k in active.items() if arrival[k] <= now), None)
        if j is None:
            j = min(active, key=lambda j: arrival[active[j]])
            now = arrival[active[j]]
        order.append((active[j], j))
        now += 1
        active[j] += 1
        if active[j] == down:
            del active[j]
    return order


class _Writer:
    """Writes the layers of a network, batch by batch, and schedules the memory transfers.

    ``loads``: input blocks still to be requested; ``_stores``: results still to be written. Both
    units take one instruction at a time, and issue is in order: two of them too close together
    would hold up the products behind them.
    """

    def __init__(self, network, products):
        self.program = Program()
        self.network = network
        self.loads, self._stores = [], []
        self._products = self._last = self._activated = 0
        self._ahead = products  # products still to come

    def layer(self, index, count, first_tile, outputs_at):
        network, program = self.network, self.program
        down, across = network.widths[index], network.widths[index + 1]
        source, target = network._regions[index], network._regions[index + 1]
        layer, last = network.layers[index], index == len(network.layers) - 1
        slots = network._params["acc_rows"] // count
        if slots == 0:
            raise NetworkError(
                f"a batch of {count} does not fit {network._params['acc_rows']} accumulator rows"
            )
        # A block of vectors takes memory so many products of this layer, beside tiles and
        # instructions.
        traffic = network.n**2 + 28
        spare = (count + 1) * network.bandwidth - traffic
        interval = count * network.n / spare if spare > 0 else 1 << 20
        # An activation starts when the product's first row is through the array. Where products are
        # shorter than that, another product goes in between (which needs a slot more: its own may
        # not be the waiting one's).
        delay = 0 if count >= 2 * network.n + 16 or slots == 1 else 1
        waiting = []  # output blocks whose sums are complete, not yet activated

        def activate(j):
            ub = target + j * count
            self._overwrite(ub, count)
            program.act(j % slots * count, ub, count, layer.func)
            if last:
                self._stores.append((ub, outputs_at + j * count, count))
                self._activated = self._products

        missing = len(self.loads) if index == 0 else 0  # the last blocks are still to come
        arrival = [0.0] * (down - missing) + [k * interval for k in range(missing)]
        newest = -1
        for k, j in product_order(arrival, across, slots - delay):
            # Input block k must be requested before its first product; block k + 1 right after
            # that.
            while index == 0 and len(self.loads) >= down - k:
                self._load()
            program.mmc(
                source + k * count,
                j % slots * count,
                count,
                tile=first_tile + k * across + j,
                overwrite=k == 0,
            )
            self._products += 1
            self._ahead -= 1
            while index == 0 and k > newest and len(self.loads) >= down - k - 1 > 0:
                self._load()
            newest = max(newest, k)
            while len(waiting) > delay - 1 and waiting:
                activate(waiting.pop(0))
            if k == down - 1:
                waiting.append(j)
                if not delay:
                    activate(waiting.pop())
            self._schedule_memory(index, interval)
        for j in waiting:
            activate(j)

    def _schedule_memory(self, index, interval):
        if self._products - self._last >= interval:
            if self._stores:
                # Behind so many products its rows are written, and nothing waits for them.
                if self._products - self._activated >= 2 * self.network.beside:
                    self._store()
            elif self.loads and index:
                self._load()
        # At the end there are too few products left to be held up.
        while self._stores and self._ahead <= interval * len(self._stores):
            self._store()

    def _load(self):
        host, ub, count = self.loads.pop(0)
        self._overwrite(ub, count)
        self.program.rhm(host, ub, count)
        self._last = self._products

    def _store(self):
        self.program.whm(*self._stores.pop(0))
        self._last = self._products

    def _overwrite(self, ub, count):
        """Emits the stores of results that are still in these rows, before they are overwritten."""
        while any(at < ub + count and ub < at + size for at, _, size in self._stores):
            self._store()

    def finish(self, ahead):
        while self._stores:
            self._store()
        self.program.hlt()
        return self.program.scheduled(ahead, self.network.beside)
