# SPDX-License-Identifier: BSD-2-Clause
"""Layer-by-layer execution: each layer is distributed over the cores, with its maps in main
memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph import (
    AveragePool,
    Binary,
    Concat,
    Conv,
    Dense,
    Gru,
    Lstm,
    MatMul,
    MaxPool,
    Node,
    Transpose,
)
from .arrays.channels import is_channel_view
from .flat import Products, average_channels, copy_rows, flat
from .maps import ConvRows, PoolRows, share
from .products import emit_product, emit_transpose
from .rows.functions import emit_function, is_function

if TYPE_CHECKING:
    from .program import ProgramWriter

__all__ = ["emit_layer"]


def emit_layer(
    writer: ProgramWriter,
    node: Node,
    held: Sequence[tuple[Any, list[int]]] | None,
    groups: Mapping[tuple[str, int], Any],
) -> None:
    """Emits one node on all cores of ``writer``, a :class:`~.program.ProgramWriter`; ``held``: list
    of (weights, cores that hold them); ``groups``: (node name, core) -> its weights there."""
    if isinstance(node, Conv):
        _conv(writer, node, held, groups)
    elif isinstance(node, Dense):
        _dense(writer, node, groups)
    elif isinstance(node, MaxPool):
        _pool(writer, node)
    elif isinstance(node, AveragePool):
        channels = writer.graph.shape(node.output)[-1]
        for core, pointer, cut in zip(
            writer.cores, writer.pointers, share(channels, len(writer.cores)), strict=True
        ):
            if cut[0] < cut[1]:
                average_channels(
                    core,
                    pointer,
                    writer.places[node.inputs[0]],
                    writer.map_shape(node.inputs[0]),
                    writer.places[node.output],
                    writer.size(node.output),
                    cut,
                    node.name,
                )
    elif isinstance(node, Concat):
        _concat(writer, node)
    elif isinstance(node, Lstm | Gru):
        source = node.inputs[0]
        assert held is not None
        ((_, cores),) = held
        for c in cores:
            groups[node.name, c].emit(
                writer.pointers[c],
                writer.places[source],
                writer.places[node.output],
                writer.graph.shape(source)[0],
                writer.size(source),
            )
    elif isinstance(node, MatMul):
        emit_product(writer, node)
    elif isinstance(node, Transpose):
        emit_transpose(writer, node)
    elif is_function(node):
        emit_function(writer, node)
    else:
        _elements(writer, node)


def _pool(writer, node):
    """Emits a max pooling layer, distributed over all cores by rows, in tiles that local memory
    holds."""
    source, target = _source(writer, node), _target(writer, node)
    for core, pointer, (first, end) in zip(
        writer.cores, writer.pointers, share(target[1][0], len(writer.cores)), strict=True
    ):
        if first >= end:
            continue
        mark = core.used
        for tile in PoolRows.tiles(node, source, target, _free_bytes(core)):
            core.used = mark
            PoolRows(core, pointer, node, source, target, *tile).emit(first, end)


def _free_bytes(core):
    """Free bytes of local memory."""
    return core.params["lmem_bytes"] - core.used


def _conv(writer, node, held, groups):
    source, target = _source(writer, node), _target(writer, node)
    for matrices, cores in held:
        outputs = sum(m.outputs for m in matrices)
        for c, (first, end) in zip(cores, share(target[1][0], len(cores)), strict=True):
            if first >= end:
                continue
            core, pointer = writer.cores[c], writer.pointers[c]
            mark, numbers = core.used, {id(m): group for m, group in groups[node.name, c]}
            for tile in ConvRows.tiles(node, matrices, source, target, _free_bytes(core)):
                results = tile.result if tile is not None else (0, target[1][1])
                ConvRows(
                    core,
                    pointer,
                    node,
                    matrices,
                    [numbers[id(m)] for m in matrices],
                    source,
                    target,
                    writer.relu(node),
                    partial(_clip, writer, node, core, (results[1] - results[0]) * outputs),
                    tile,
                    writer.map_shape(_map_of(writer, node))[1],
                ).emit(first, end)
                core.used = mark


def _clip(writer, node, core, count, at):
    writer.clip(core, node.activation, node.output, at, count)


def _dense(writer, node, groups):
    steps = writer.graph.shape(node.output)[0] if node.steps else 1
    size, out_size = writer.size(node.inputs[0]), writer.size(node.output)
    rows, out = node.weights.shape[1], node.weights.shape[0]
    for c, core in enumerate(writer.cores):
        mark = core.used
        for part in groups.get((node.name, c), ()):
            for step in range(steps):
                core.used = mark
                _, y, count, target = part.emit(
                    writer.pointers[c],
                    writer.places[node.inputs[0]] + step * rows * size,
                    writer.places[node.output] + step * out * out_size,
                    size,
                    out_size,
                    writer.relu(node),
                )
                writer.clip(core, node.activation, node.output, y, count // out_size)
                core.store(writer.pointers[c], y, count, target)


def _elements(writer, node):
    """Emits additions and separate activations, with equal shares of the elements on each core."""
    count, size = writer.graph.tensors[node.output].size, writer.size(node.output)
    periods = [writer.graph.tensors[name].size for name in node.inputs]
    sources = [
        writer.places[name] if period == count else (writer.places[name], period)
        for name, period in zip(node.inputs, periods, strict=True)
    ]

    for core, pointer, (first, end) in zip(
        writer.cores, writer.pointers, share(count, len(writer.cores)), strict=True
    ):
        if first == end:
            continue

        products, most = None, {}
        if isinstance(node, Binary) and node.function == "mul":
            # Beside the products, two tiles of both operands.
            tile = min(Products.MOST, (_free_bytes(core) - 4) // (12 + 4 * size), end - first)
            shift = int(writer.q.layers[node.name].shift.flat[0])
            products, most = Products(core, tile, shift, node.name), {"most": tile}

        def work(result, operands, some, core=core, products=products):
            if products is not None:
                products.emit(result, operands, some, size)
                writer.activate(core, node.activation, node.output, result, some)
            elif isinstance(node, Binary):
                writer.add(core, node, result, operands, some)
            else:
                writer.activate(core, node, node.output, result, some)

        flat(
            core,
            pointer,
            sources,
            writer.places[node.output],
            first,
            end - first,
            size,
            node.name,
            work,
            **most,
        )


def _concat(writer, node):
    shape, size = writer.graph.shape(node.output), writer.size(node.output)
    after = int(np.prod(shape[node.axis + 1 :], dtype=int)) * size
    copies, offset = [], 0
    for name in node.inputs:
        run = writer.graph.shape(name)[node.axis] * after
        for k in range(int(np.prod(shape[: node.axis], dtype=int))):
            copies.append(
                (
                    writer.places[name] + k * run,
                    writer.places[node.output] + k * shape[node.axis] * after + offset,
                    run,
                )
            )
        offset += run
    marks = [core.used for core in writer.cores]
    for k, (source, target, run) in enumerate(copies):
        core = writer.cores[k % len(writer.cores)]
        core.used = marks[core.number]
        copy_rows(core, writer.pointers[core.number], source, target, run, node.name)


def _source(writer, node):
    (name,) = node.inputs
    # Its pixels are as far apart as those of the map.
    shape = (*writer.map_shape(name)[:2], writer.map_shape(_map_of(writer, node))[2])
    return writer.places[name], shape, writer.size(name)


def _map_of(writer, node):
    """The map that a layer reads some channels of, or its source."""
    (name,) = node.inputs
    return writer.graph.maker(name).inputs[0] if is_channel_view(writer.graph, name) else name


def _target(writer, node):
    return writer.places[node.output], writer.map_shape(node.output), writer.size(node.output)
