# SPDX-License-Identifier: BSD-2-Clause
"""Lowering of a kernel-library network to a program with its memory and cost per node."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from .....gateware.cores.opu.isa import ISA
from .....gateware.cores.opu.model.sequence import Sequence
from .....gateware.cores.opu.types import SLOT
from ..base import LayerSpan, Lowered, LoweringError, Placed, with_states
from .codegen import SDRAM, KernelError, compile_network, estimate
from .codegen.target import Target
from .cost import Timing
from .memory_map import compile_on_chip
from .placing import grid_layout, layout_of

if TYPE_CHECKING:
    from ...graph import Graph
    from .form import Form
    from .network import Builder

__all__ = ["lower_network", "plenty"]

#: Programs that are searched for take less than so many times the words of the first found.
_LONGER = 8
#: Greatest share of main memory for maps with memory of their own, whose borders stay zero.
_SEPARATE_SHARE = 0.75


def plenty(
    graph: Graph, form: Form, built: Builder, params: Mapping[str, Any], memory_size: int
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
        tensor = built.values[name]
        found = compiled.tensors[tensor.name]
        grid = form.grids.get(name)
        layout = (
            layout_of(found, graph.shape(name))
            if grid is None
            else grid_layout(found, graph.shape(name), grid)
        )
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


def lower_network(
    graph: Graph,
    form: Form,
    built: Builder,
    params: Mapping[str, Any],
    memory_size: int,
    quick: bool = False,
    timing: Timing = SDRAM,
) -> Lowered:
    """Lowers the network of a Builder to :class:`Lowered`; raises :class:`LoweringError`.
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
    lasting -= {tensor for tensor in lasting if tensor.name in compiled.overwritten}
    stay = [name for name, tensor in built.values.items() if separate or tensor in lasting]
    folded = {built.values[name].name for name in form.folds if name in inputs}
    zeros = [
        (found.address, found.size)
        for name, found in compiled.tensors.items()
        if found.buffer.border or name in folded
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
        raise LoweringError("no node of the network runs on the core")
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
                f"{tensor.height * tensor.width * tensor.channel_blocks * SLOT} bytes"
            )
            + (
                f", most weights: {weights.name} with {weights.weights.size}"
                if weights is not None
                else ""
            )
        ) from None


def _spans(compiled, built, params, timing):
    ends = [span.end for span in compiled.layers]
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
    found, layers = [], {layer.name: layer for layer in built.network.layers}
    stop = ISA.store(ISA.encode("end")).hex()
    for span, (before, after), (first, last) in zip(
        compiled.layers, pairwise([0, *marks]), pairwise(moved), strict=True
    ):
        names = span.name.split(" and ")
        nodes = tuple(dict.fromkeys(node for name in names for node in built.nodes[name]))
        found.append(
            LayerSpan(
                nodes[-1],
                nodes,
                compiled.program_at + 4 * span.begin,
                compiled.program_at + 4 * span.end,
                sum(layers[name].macs for name in names),
                after - before,
                last - first,
                None if span.end == ends[-1] else ((4 * span.end, stop),),
            )
        )
    return found
