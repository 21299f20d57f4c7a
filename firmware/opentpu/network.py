# SPDX-License-Identifier: BSD-2-Clause
"""Turns matrix products and multilayer perceptrons into OpenTPU programs without NOPs.

Order of instructions (it is what the speed depends on; results do not):

* Tiles are asked for two ahead, inputs one block ahead, results leave right after their activation.
* The layer whose inputs come from memory accumulates as many output blocks at a time as the accumulators hold, inner loop
  over the outputs: an input block is used by all of them before the next one is needed. Later layers, whose inputs lie in
  the unified buffer, do the same: ACT of one output block then runs under the products of the next.
"""
from dataclasses import dataclass

import numpy as np

from .layout import blocks, pack_matrix, pack_weights, unpack_matrix
from .program import Program

__all__ = ["Layer", "Network", "NetworkError"]


class NetworkError(ValueError):
    """A network that does not fit the core; the message says what is too small."""


@dataclass(frozen=True)
class Layer:
    """One layer: ``weights`` int8 [inputs, outputs], activation ``func``, and ``norm`` (CFG value) where there is one.

    ``norm`` is emitted as a CFG instruction before the layer's activations; ``None`` leaves the register alone.
    """
    weights: np.ndarray
    func: str = "none"
    norm: int | None = None


class Network:
    """Layers one after another, for one core's sizes.

    Parameters
    ----------
    layers : sequence of Layer
    params : dict of build parameters (``n``, ``ub_rows``, ``acc_rows``, ``wfifo_tiles`` count)
    batch : int, optional
        Rows of input at a time, 1 to 256; by default as many as fit.

    Attributes
    ----------
    tiles : int8 [tiles, n, n], weight memory of all layers, one after another
    batch : int
    """
    def __init__(self, layers, params, *, batch=None):
        self.layers = list(layers)
        self.n = n = params["n"]
        self._params = params
        for index, layer in enumerate(self.layers):
            if layer.weights.dtype != np.int8 or layer.weights.ndim != 2:
                raise NetworkError(f"layer {index}: weights must be an int8 matrix")
            if index and blocks(self.layers[index - 1].weights.shape[1], n) != blocks(layer.weights.shape[0], n):
                raise NetworkError(f"layer {index} takes {layer.weights.shape[0]} inputs, the layer before it gives "
                                   f"{self.layers[index - 1].weights.shape[1]}")
        #: Blocks of every tensor: inputs, then each layer's outputs.
        self.widths = [blocks(self.layers[0].weights.shape[0], n)] + [blocks(x.weights.shape[1], n) for x in self.layers]
        self.tiles = np.concatenate([pack_weights(layer.weights, n) for layer in self.layers])
        self.batch = self._largest_batch() if batch is None else batch
        if not 1 <= self.batch <= 256:
            raise NetworkError(f"batch must be 1 to 256, not {self.batch}")
        self._regions = self._allocate()

    def _largest_batch(self):
        widths, rows = self.widths, self._params["ub_rows"]
        pair = max(a + b for a, b in zip(widths, widths[1:], strict=False))
        batch = min(256, max(rows // sum(widths), 1))
        if batch < 16:          # then rather two halves in turn than a batch per tensor
            batch = min(256, rows // pair)
        # Two sets of accumulators, so that a set is activated while the other is filled.
        return max(1, min(batch, self._params["acc_rows"] // 2))

    def _allocate(self):
        """First UB row of each tensor: all side by side if they fit, else in two halves in turn."""
        rows, sizes = self._params["ub_rows"], [width * self.batch for width in self.widths]
        self._side_by_side = sum(sizes) <= rows
        if self._side_by_side:
            return [sum(sizes[:k]) for k in range(len(sizes))]
        half = max(sizes[::2])
        if half + max(sizes[1::2]) > rows:
            raise NetworkError(f"a batch of {self.batch} takes {half + max(sizes[1::2])} rows of the unified buffer, "
                               f"which has {rows}")
        return [0 if k % 2 == 0 else half for k in range(len(sizes))]

    def pack_inputs(self, matrix):
        """Host memory of the inputs: batches one after another, each packed by itself (the last one may be shorter)."""
        return np.concatenate([pack_matrix(matrix[at:at + self.batch], self.n)
                               for at in range(0, len(matrix), self.batch)])

    def output_vectors(self, rows):
        """Vectors that the results of ``rows`` inputs take."""
        return self.widths[-1] * rows

    def unpack_outputs(self, vectors, rows):
        """Vectors as a run left them -> int8 [rows, outputs]."""
        outputs, parts, at = self.layers[-1].weights.shape[1], [], 0
        for start in range(0, rows, self.batch):
            count = min(self.batch, rows - start)
            parts.append(unpack_matrix(vectors[at:at + count * self.widths[-1]], count, outputs))
            at += count * self.widths[-1]
        return np.concatenate(parts)

    def program(self, rows, *, inputs_at=0, outputs_at=None):
        """The program for ``rows`` inputs.

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
        program = Program()
        norm = None
        loads = []              # input blocks of this batch that are still to be asked for, as arguments of RHM
        for start in range(0, rows, self.batch):
            count = min(self.batch, rows - start)
            tile = 0
            loads = loads if start else self._loads(count, inputs_at)
            behind = self._loads(min(self.batch, rows - start - count), inputs_at + (start + count) * self.widths[0])
            for index, layer in enumerate(self.layers):
                change = layer.norm if layer.norm != norm else None
                # Inputs of the next batch come in under the later layers, where they have rows of their own.
                stream = loads if index == 0 else behind if self._side_by_side else []
                self._layer(program, index, layer, count, tile, change, stream, outputs_at + start * self.widths[-1])
                norm = norm if layer.norm is None else layer.norm
                tile += self.widths[index] * self.widths[index + 1]
            loads = behind
        program.hlt()
        return program.scheduled(min(2, self._params["wfifo_tiles"]))

    def _loads(self, count, host):
        return [(host + k * count, self._regions[0] + k * count, count) for k in range(self.widths[0])] if count else []

    def _layer(self, program, index, layer, count, first_tile, norm, stream, outputs_at):
        down, across = self.widths[index], self.widths[index + 1]
        source, target = self._regions[index], self._regions[index + 1]
        group = min(across, self._params["acc_rows"] // count)
        if group == 0:
            raise NetworkError(f"a batch of {count} does not fit {self._params['acc_rows']} accumulator rows")
        last = index == len(self.layers) - 1
        if index == 0 and len(stream) == down:
            program.rhm(*stream.pop(0))
        if norm is not None:
            program.cfg("norm", norm)

        def finish(j, slot):
            ub = target + j * count
            program.act(slot * count, ub, count, layer.func)
            if last:
                program.whm(ub, outputs_at + j * count, count)

        # Few accumulators: halve the group, so that one half is activated while the other is filled.
        if group < across and group >= 2 and (index or group * count < 256):
            group = max(1, group // 2)
        slots = max(group, self._params["acc_rows"] // count // group * group)
        waiting = []            # output blocks whose sums are complete, not yet activated
        for base in range(0, across, group):
            members = range(base, min(base + group, across))
            for k in range(down):
                if index == 0 and len(stream) == down - k - 1 and stream:
                    program.rhm(*stream.pop(0))
                for j in members:
                    slot = j % slots
                    program.mmc(source + k * count, slot * count, count, tile=first_tile + k * across + j,
                                overwrite=k == 0)
                    # One product later, so that the activation never waits in front of an instruction that could go.
                    for ready in waiting:
                        finish(*ready)
                    waiting = [(j, slot)] if k == down - 1 else []
                    if index and stream:
                        program.rhm(*stream.pop(0))
        for ready in waiting:
            finish(*ready)
