# SPDX-License-Identifier: BSD-2-Clause
"""From a network of layers to a :class:`Lowered`: the program, its memory and the cost of each
node."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from .....gateware.cores.opu.isa import ISA
from .....gateware.cores.opu.model.sequence import Sequence
from .....gateware.cores.opu.types import SLOT
from ...common.inputs import KernelError
from ..base import LayerSpan, Lowered, LoweringError, Placed, with_states
from .codegen.compiler import compile_network
from .cost import SDRAM, Timing, estimate
from .schedule.memory_map import compile_on_chip
from .schedule.tiling import Target

if TYPE_CHECKING:
    from ...graph import Graph
    from .form import Form
    from .lower import Lowering

__all__ = ["lowered_program", "plenty"]

#: Programs that are searched for take less than so many times the words of the first found.
_LONGER = 8
#: Greatest share of main memory for maps with memory of their own, whose borders stay zero.
_SEPARATE_SHARE = 0.75


def plenty(
    graph: Graph, form: Form, built: Lowering, params: Mapping[str, Any], memory_size: int
) -> bool:
    """Whether a network fits main memory with a large margin, found without the search for the best
    tilings; raises :class:`LoweringError` if an input or output has no layout."""
    if not built.network.layers:
        return False
    try:
        compiled = compile_network(built.network, params, memory=memory_size, schedule=False)
    except KernelError:
        return False
    _placed(graph, form, built, compiled)
    return compiled.memory_size + (_LONGER - 1) * len(compiled.data) <= memory_size


def _placed(graph, form, built, compiled):
    """Finds the layouts of tensors: (inputs, outputs, function from names to the placed tensors by
    name)."""

    def placed(name):
        buffer, grid = compiled.buffers[built.values[name]], form.grids.get(name)
        where = compiled.maps_at, built.network.set.ifm, graph.shape(name)
        layout = buffer.layout(*where) if grid is None else buffer.grid_layout(*where, grid)
        return None if layout is None else Placed(name, layout)

    def all_placed(names):
        return {name: place for name in names if (place := placed(name)) is not None}

    inputs, outputs = (
        all_placed([port.tensor for port in ports]) for ports in (graph.inputs, graph.outputs)
    )
    missing = [
        port.tensor
        for port in (*graph.inputs, *graph.outputs)
        if port.tensor not in {**inputs, **outputs}
    ]
    if missing:
        raise LoweringError(
            f"{missing[0]}: a flattened map of channels that do not fill their blocks has no layout"
        )
    return inputs, outputs, all_placed


def lowered_program(
    graph: Graph,
    form: Form,
    built: Lowering,
    params: Mapping[str, Any],
    memory_size: int,
    quick: bool = False,
    timing: Timing = SDRAM,
) -> Lowered:
    """Compiles the layers of a graph to :class:`Lowered`; raises :class:`LoweringError`.
    ``quick``: see :func:`~.codegen.compiler.compile_network`; ``timing``: of main memory."""
    written = {layer.result for layer in built.network.layers}
    # A folded input holds zeros that are written once, a state is the next run's.
    spent = {
        tensor.name
        for name, tensor in built.values.items()
        if tensor in built.network.inputs and name not in form.folds and tensor not in written
    }
    compiled, separate = _compiled(built, params, memory_size, quick, timing, spent)
    inputs, outputs, all_placed = _placed(graph, form, built, compiled)
    lasting = {*built.network.inputs, *built.network.results()}
    lasting -= set(compiled.overwritten)
    stay = [name for name, tensor in built.values.items() if separate or tensor in lasting]
    folded = {built.values[name] for name in form.folds if name in inputs}
    zeros = [
        (compiled.maps_at + 64 * buffer.base, 64 * buffer.units)
        for tensor, buffer in compiled.buffers.items()
        if any(buffer.border) or tensor in folded
    ]
    lowered = Lowered(
        program=compiled.data,
        text=compiled.text,
        program_at=compiled.program_at,
        registers=compiled.all_registers,
        constants=[(at, data, "kernels and biases") for at, data in compiled.all_constants],
        zeros=sorted(set(zeros)),
        inputs=inputs,
        outputs=outputs,
        tensors=all_placed(stay),
        images=built.network.batch,
        memory=compiled.memory_size,
        layers=_spans(compiled, built, params, timing),
        params=dict(params),
    )
    return with_states(lowered, built.kept)


def _compiled(built, params, memory_size, quick, timing, spent):
    """Compiles with separate memory for every tensor if that fits, else with shared memory:
    (Compiled, whether memory is separate). On-chip memory is always shared."""
    network = built.network
    if not network.layers:
        raise LoweringError("no node of the network runs on the core: expected a layer, found none")
    if timing.on_chip is not None and Target(params).overlaps:
        try:
            found = compile_on_chip(
                network, params, timing, memory=memory_size, spent=spent, quick=quick
            )
            return found, False
        except KernelError:
            pass
    try:
        return compile_network(
            network,
            params,
            separate=True,
            zeroed=True,
            memory=int(memory_size * _SEPARATE_SHARE),
            timing=timing,
            local=True,
            quick=quick,
        ), True
    except KernelError:
        pass
    try:
        return compile_network(
            network,
            params,
            zeroed=True,
            memory=memory_size,
            timing=timing,
            local=True,
            quick=quick,
        ), False
    except KernelError as error:
        weights = max(
            (layer for layer in network.layers if layer.weights is not None),
            key=lambda layer: layer.weights.size,
            default=None,
        )
        tensor = max(
            [*network.inputs, *(layer.result for layer in network.layers)],
            key=lambda t: t.height * t.width * t.channel_blocks,
        )
        if error.layer is not None:
            raise LoweringError(error.reason, built.nodes[error.layer][0]) from None
        raise LoweringError(
            (
                f"{error}; largest map: {tensor.name} with "
                f"{tensor.height * tensor.width * tensor.channel_blocks * SLOT:,} bytes"
            )
            + (
                f", most weights: {weights.name} with {weights.weights.size:,}"
                if weights is not None
                else ""
            ),
            bytes_needed=error.bytes_needed,
        ) from None


def _spans(compiled, built, params, timing):
    ends = [span.end for span in compiled.spans]
    if compiled.program_at < timing.border:
        timing = timing.with_program_on_chip()
    marks = estimate(compiled.words, params, timing, marks=ends).marks
    sequence, moved, at = Sequence(params), [0], 0
    for end in ends:
        total = moved[-1]
        for word in compiled.words[at:end]:
            step = sequence.step(word)
            total += step.bytes_read + step.bytes_written
        moved.append(total)
        at = end
    stop, found = ISA.store(ISA.encode("end")).hex(), []
    for span, (before, after), (first, last) in zip(
        compiled.spans, pairwise([0, *marks]), pairwise(moved), strict=True
    ):
        nodes = tuple(
            dict.fromkeys(node for layer in span.layers for node in built.nodes[layer.name])
        )
        found.append(
            LayerSpan(
                name=nodes[-1],
                nodes=nodes,
                begin=compiled.program_at + 4 * span.begin,
                end=compiled.program_at + 4 * span.end,
                macs=sum(layer.macs for layer in span.layers),
                cycles=after - before,
                bytes=last - first,
                cut=None if span.end == ends[-1] else ((4 * span.end, stop),),
            )
        )
    return found
