# SPDX-License-Identifier: BSD-2-Clause
"""Program, constants and places of a network."""

from dataclasses import replace

from quintet.gateware.cores.opentpu.isa import ISA
from quintet.tools.kernels.inputs import KernelError
from quintet.tools.kernels.opentpu.chunks import slot_rows
from quintet.tools.kernels.opentpu.compiler import compile_steps
from quintet.tools.kernels.opentpu.geometry import JOINS, settle
from quintet.tools.kernels.opentpu.program import RW
from quintet.tools.kernels.opentpu.timing import main_memory, word_times

from ...graph import MatMul
from ...layout import Digit, Layout
from ..base import LayerSpan, Lowered, LoweringError, Placed
from .shapes import StoredError, axes_of, stored_shapes
from .steps import Steps

__all__ = ["lower", "most_images"]

#: More inputs a run save little.
_IMAGES = 64

_TRANSFERS = (ISA.opcodes["RHM"], ISA.opcodes["WHM"])

_NEEDS = ("n", "ub_rows", "acc_rows", "wfifo_tiles", "ext_norm", "ext_conv", "ext_pool")


def _align(address, step=64):
    return -(-address // step) * step


def most_images(graph, params):
    """Inputs that one run may work on: several where every tensor is a vector, so that each tile is
    read once for all."""
    vectors = all(
        shape[:2] == (1, 1) for shape in stored_shapes(graph, params["n"]).values()
    ) and not _multiplies(graph)
    return min(_IMAGES, slot_rows(params)) if vectors else 1


def _multiplies(graph):
    """Whether tensors that flow are multiplied."""
    return any(isinstance(node, MatMul) for node in graph.nodes)


def lower(quantised, params, memory_size, keep=False, images=1, memory=None, enough=None):
    """The shortest of some programs: lines along the maps' rows or along their columns, of one
    length where one map is made of another or not. ``enough``: words of a program that is taken,
    without its text, before others are tried."""
    if not 1 <= images <= most_images(quantised.graph, params):
        raise LoweringError(
            f"{images} inputs a run, expected 1 to {most_images(quantised.graph, params)}"
        )
    # What is multiplied with a tensor is a row of positions.
    flat = _multiplies(quantised.graph) or all(
        shape[0] == shape[1] or 1 in shape[:2]
        for shape in stored_shapes(quantised.graph, params["n"]).values()
    )
    candidates, failed = [], None
    for swap in (False,) if flat else (False, True):
        seen = []
        for join in JOINS:
            try:
                made = Steps(quantised, params, swap=swap, images=images)
                settled = settle(made.steps, made.planes, join)
                if settled in seen:
                    continue  # the same lines, so the same program
                seen.append(settled)
                candidates.append(
                    _lower(
                        quantised,
                        made,
                        params,
                        memory_size,
                        keep,
                        swap,
                        join,
                        images,
                        main_memory(memory or {}),
                    )
                )
            except LoweringError as error:
                failed = failed or error
            if candidates and enough is not None and len(candidates[-1][1].words) >= enough:
                return candidates[-1][0]
    if not candidates:
        raise failed
    lowered, program = min(
        candidates, key=lambda found: sum(layer.cycles for layer in found[0].layers)
    )
    return replace(lowered, text=program.text(quantised.graph.name))


def _lower(quantised, made, params, memory_size, keep, swap, join, images, memory):
    """(Lowered without its text, Program)."""
    graph = quantised.graph
    inputs = [made.root[port.tensor] for port in graph.inputs]
    kept = {made.root[name] for name in graph.kept()} | (
        {step.target for step in made.steps} & set(graph.tensors) if keep else set()
    )
    try:
        compiled = compile_steps(
            made.steps,
            made.planes,
            inputs=inputs,
            stored=kept - set(inputs),
            params=params,
            join=join,
        )
    except KernelError as error:
        raise LoweringError(error.reason, error.layer) from None
    n, program = params["n"], compiled.program.data()
    host = _align(len(program))
    weights = (
        host + n * n * compiled.first_tile
        if compiled.first_tile
        else _align(host + n * compiled.vectors)
    )
    end = _align(weights + compiled.tiles.size)
    if end > memory_size:
        sizes = {
            "program": len(program),
            "weights": compiled.tiles.size,
            **{f"tensor {name}": n * planes.size for name, (_, planes) in compiled.homes.items()},
        }
        most = max(sizes, key=sizes.get)
        raise LoweringError(
            f"the network takes {end} bytes of main memory, there are {memory_size}; largest: "
            f"{most}, {sizes[most]} bytes"
        )
    placed = {}
    for name in graph.tensors:
        root = made.root.get(name)
        if root in compiled.homes and (name in made.root):
            try:
                placed[name] = Placed(
                    name,
                    _layout(
                        graph.shape(name),
                        made.stored[root],
                        *compiled.homes[root],
                        host,
                        swap,
                        images,
                    ),
                )
            except StoredError:
                if name in graph.kept():
                    raise LoweringError(
                        f"output {name}: its elements are stored as {made.stored[root]}, no "
                        f"layout makes it one axis",
                        maker.name if (maker := graph.maker(name)) is not None else None,
                    ) from None
    first = host if compiled.first_tile else weights
    times = word_times(compiled.program.words, params, memory, host, first)
    return Lowered(
        program=program,
        text="",
        program_at=0,
        registers={
            "program_address": 0,
            "program_length": len(program),
            "hostmem_base": host,
            "hostmem_limit": host + n * compiled.vectors,
            "weights_base": first,
            "weights_limit": weights + compiled.tiles.size,
        },
        constants=[
            (host, compiled.constants.view("uint8").ravel(), "constant vectors"),
            (weights, compiled.tiles.view("uint8").ravel(), "tiles"),
        ],
        zeros=[
            (host + n * compiled.homes[name][0], n * compiled.homes[name][1].size)
            for name in inputs
        ],
        inputs={port.tensor: placed[port.tensor] for port in graph.inputs},
        outputs={name: placed[name] for name in graph.kept()},
        tensors=placed,
        images=images,
        memory=end,
        layers=_layers(made.steps, compiled, params, *times),
        params={name: params[name] for name in _NEEDS},
    ), compiled.program


def _layout(shape, stored, home, planes, host, swap, images):
    """Layout of a tensor whose elements lie in planes; the first axis counts the inputs of a
    run."""
    n, strides = planes.n, planes.strides()
    bytes_ = {
        kind: [(size, vectors * n + elements) for size, vectors, elements in parts if size > 1]
        for kind, parts in strides.items()
        if kind != "begin"
    }
    rows, columns = ("place", "line") if swap else ("line", "place")
    axes = axes_of(
        shape,
        [
            (stored[0], bytes_[rows]),
            (stored[1], [] if images > 1 else bytes_[columns]),
            (stored[2], bytes_["channel"]),
        ],
    )
    digits = [Digit(0, images, n)] * (images > 1) + [
        Digit(axis + 1, *part) for axis, parts in enumerate(axes) for part in parts
    ]
    vectors, elements = strides["begin"]
    return Layout(host + n * (home + vectors) + elements, (images, *shape), "int8", tuple(digits))


def _layers(steps, compiled, params, times, total):
    """What each node takes; its steps stand one behind another. ``times`` and ``total`` are those
    of ``word_times``."""
    words = compiled.program.words
    stop = ISA.store(ISA.encode("HLT")).hex()
    layers, edges = [], [begin for begin, _ in compiled.spans] + [len(words)]
    for number, step in enumerate(steps):
        begin, end = edges[number], edges[number + 1]
        first = times[begin] if number else 0
        last = total if end == len(words) else times[end]
        moved = sum(_moved(word, params["n"]) for word in words[0 if number == 0 else begin : end])
        span = LayerSpan(
            step.name,
            step.nodes,
            14 * begin,
            14 * end,
            step.macs,
            round(last - first),
            moved,
            None if end == len(words) else ((14 * end, stop),),
        )
        if layers and layers[-1].name == step.name:
            before = layers.pop()
            span = LayerSpan(
                step.name,
                step.nodes,
                before.begin,
                span.end,
                before.macs + span.macs,
                before.cycles + span.cycles,
                before.bytes + span.bytes,
                span.cut,
            )
        layers.append(span)
    return layers


def _moved(word, n):
    """Bytes of main memory that a word moves, its own among them."""
    if word.opcode == RW:
        return 14 + n * n
    return 14 + n * word.count if word.opcode in _TRANSFERS else 14
