# SPDX-License-Identifier: BSD-2-Clause
"""Lowering of a quantised network to program, constants and memory layout: steps, buffer
allocation, instruction emission, weight tiles, scheduling of weight reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .....gateware.cores.opentpu.isa import ISA
from ...common.inputs import KernelError
from ...graph import AveragePool, Conv, Graph, MatMul, MaxPool
from ...layout import Digit, Layout
from ..base import LayerSpan, Lowered, LoweringError, Placed, with_states
from .chunks import slot_rows
from .codegen.batches import BatchEmitter, in_batches
from .codegen.emit import Emitter
from .codegen.program import RW, Program, Word, schedule_weights
from .cost import main_memory
from .form import BIAS_LANE, InterleaveStep, KernelStep, PoolStep, Step, packed_vector
from .layout import are_diagonal
from .legalise import StoredError, axes_of, stored_shapes
from .memory_map import maps_of, plain_map
from .schedule import MERGES, make_plan, settle
from .steps import Steps

if TYPE_CHECKING:
    from ...quantised import Quantised
    from .layout import Planes

__all__ = [
    "CompiledSteps",
    "compile_batches",
    "compile_steps",
    "constant_vectors",
    "lower",
    "most_images",
]


@dataclass(eq=False, kw_only=True)
class CompiledSteps:
    """A compiled program with its memory contents.

    Attributes
    ----------
    program : Program with all its RWs
    spans : list of (first word, word behind the last), a step's
    owners : number of the step of each span, where a step has several
    tiles : int8 [tiles, n, n]
    constants : int8 [vectors, n], host memory from vector 0
    placement : dict, tensor -> (first host vector, Planes)
    vectors : host vectors in all
    far_vectors : host vectors from :data:`~.schedule.FAR` on, besides
    resident : names of the tensors that stay in the unified buffer
    first_tile : number of the first of ``tiles``: more than 0 where tensors are tiles,
        and weight memory begins where host memory does
    """

    program: Program
    spans: list[tuple[int, int]]
    tiles: np.ndarray
    constants: np.ndarray
    placement: dict[str, tuple[int, Planes]]
    vectors: int
    far_vectors: int = 0
    resident: set[str] = field(default_factory=set)
    first_tile: int = 0
    owners: list[int] = field(default_factory=list)


def constant_vectors(count: int, n: int, packed: Mapping[int, int] | None = None) -> np.ndarray:
    """Constant vectors that are multiplied with bias tiles, followed by those of packed biases,
    int8 [vectors, n]. ``packed``: rows of a bias -> vectors of each slot."""
    vector = np.full(n, BIAS_LANE, np.int8)
    vector[0] = 1
    found = [np.tile(vector, (count, 1))]
    for rows, number in (packed or {}).items():
        found += [np.tile(packed_vector(n, rows, slot), (number, 1)) for slot in range(n // rows)]
    return np.concatenate(found)


def compile_steps(
    steps: Sequence[Step | PoolStep | KernelStep | InterleaveStep],
    planes: Mapping[str, Planes],
    *,
    inputs: Collection[str],
    stored: Collection[str],
    params: Mapping[str, Any],
    ahead: int | None = None,
    merge: str = "all",
    least: int = 4,
    far: Collection[str] | None = None,
) -> CompiledSteps:
    """Compiles the steps of a network into one program.

    Parameters
    ----------
    steps : list of Step, PoolStep, KernelStep and InterleaveStep, each behind those that make its
        sources
    planes : dict, tensor -> Planes without gaps
    inputs : names of tensors that are in main memory before a run
    stored : names of tensors that must be there after it
    params : build parameters
    ahead : tiles that are requested ahead of their product
    merge : name out of :data:`~.schedule.MERGES`
    least, far : as of :func:`~.schedule.make_plan`

    Raises
    ------
    KernelError
        A build that does not hold what one step needs.
    """
    settled, zeroed = settle(steps, planes, merge)
    plan = make_plan(
        steps, settled, zeroed, inputs=inputs, stored=stored, params=params, least=least, far=far
    )
    emitter = Emitter(plan, inputs=inputs, stored=stored, params=params)
    for number, step in enumerate(steps):
        emitter.step(number, step)
    emitter.program.hlt()
    if ahead is None:
        ahead = min(3, params["wfifo_tiles"])
    beside = 1 if params["banks"] == 1 and not params["chain"] else 0
    words = schedule_weights(emitter.program.words, ahead, beside)
    spans = _spans(emitter.program.words, words, emitter.marks)
    n = params["n"]
    tiles = np.array(emitter.tiles.list, np.int8).reshape(-1, n, n)
    return CompiledSteps(
        program=Program(words),
        spans=spans,
        tiles=tiles,
        constants=constant_vectors(plan.ones, n, plan.packed),
        placement={name: (at, settled[name]) for name, at in plan.home.items()},
        vectors=plan.vectors,
        far_vectors=plan.far_vectors,
        resident=set(plan.base),
        first_tile=emitter.tiles.first,
    )


#: Candidate schedules of a network of dense layers: the inputs of a run go through all layers batch
#: by batch (:mod:`~.codegen.batches`). Name -> whether tensors share rows of the unified buffer.
BATCHES = {"batches": False, "larger batches": True}


def compile_batches(
    steps: Sequence[Step],
    planes: Mapping[str, Planes],
    *,
    inputs: Collection[str],
    stored: Collection[str],
    params: Mapping[str, Any],
    bandwidth: float,
    shared: bool,
) -> CompiledSteps:
    """Compiles the steps of dense layers batch by batch (:func:`~.codegen.batches.in_batches`);
    parameters and errors as of :func:`compile_steps`. ``bandwidth``: bytes that main memory moves
    in a cycle; ``shared``: as of :class:`~.codegen.batches.BatchEmitter`."""
    emitter = BatchEmitter(
        steps,
        planes,
        inputs=inputs,
        stored=stored,
        params=params,
        bandwidth=bandwidth,
        shared=shared,
    )
    before = emitter.program.words
    words = schedule_weights(before, min(2, params["wfifo_tiles"]), emitter.beside)
    n = params["n"]
    return CompiledSteps(
        program=Program(words),
        spans=_spans(before, words, [mark for mark, _ in emitter.marks]),
        tiles=np.array(emitter.tiles.list, np.int8).reshape(-1, n, n),
        constants=constant_vectors(emitter.ones, n),
        placement={name: (at, planes[name]) for name, at in emitter.home.items()},
        vectors=emitter.vectors,
        owners=[number for _, number in emitter.marks],
    )


def _spans(before, after, marks):
    """Ranges of the steps after the weight reads were inserted; the words of ``before`` keep their
    order."""
    places = [k for k, word in enumerate(after) if word.opcode != RW]
    edges = [places[mark] for mark in marks] + [places[len(before) - 1]]
    return list(zip(edges, edges[1:], strict=False))


#: More inputs a run save little, and more in batches nothing but starts.
_IMAGES, _IN_BATCHES = 64, 1024

#: Tensors in main memory, the largest, that are tried at places after the tiles.
_FAR_TRIES = 8

_TRANSFERS = (ISA.opcodes["RHM"], ISA.opcodes["WHM"])

#: Bytes of an instruction word.
_WORD = 14

_NEEDS = ("n", "ub_rows", "acc_rows", "wfifo_tiles", "ext_norm", "ext_conv", "ext_pool", "ext_bias")


def _needs(params):
    """Build parameters that a program depends on."""
    needs = (*_NEEDS, "ext_diag") if params["ext_diag"] else _NEEDS
    return needs if params["ext_norm"] else (*needs, "norm_reset")


def most_images(graph: Graph, params: Mapping[str, Any]) -> int:
    """Greatest batch size of a run: more than one if every tensor is a vector and no window slides,
    so that each tile is read once for all."""
    vectors = all(
        shape[:2] == (1, 1) for shape in stored_shapes(graph, params["n"]).values()
    ) and not (_multiplies(graph) or any(map(_slides, graph.nodes)))
    if not vectors:
        return 1
    pools = any(isinstance(node, MaxPool) for node in graph.nodes)
    return min(_IMAGES, slot_rows(params)) if pools else _IN_BATCHES


def _slides(node):
    """Whether a node's window reaches or steps beyond its element, where the next input lies."""
    return isinstance(node, Conv | MaxPool | AveragePool) and not (
        tuple(node.window) == tuple(node.stride) == (1, 1) and not any(node.padding)
    )


def _multiplies(graph):
    """Whether the network multiplies two activations."""
    return any(isinstance(node, MatMul) for node in graph.nodes)


def lower(
    quantised: Quantised,
    params: Mapping[str, Any],
    memory_size: int,
    keep: bool = False,
    images: int = 1,
    memory: Mapping[str, Any] | None = None,
    enough: int | None = None,
    *,
    states: Sequence[tuple[str, str]] = (),
) -> Lowered:
    """Lowers a network by the fastest of some candidate schedules, whose lines run along the maps'
    rows or columns and are shared between maps or not. A program of at most ``enough`` words is
    returned at once, without its text. ``states``: pairs (input, output) that are copied at the end
    (:attr:`~..base.Backend.states`)."""
    if not 1 <= images <= most_images(quantised.graph, params):
        raise LoweringError(
            f"{images} inputs a run, expected 1 to {most_images(quantised.graph, params)}"
        )
    # A tensor is multiplied by a row of positions.
    flat = _multiplies(quantised.graph) or all(
        shape[0] == shape[1] or 1 in shape[:2]
        for shape in stored_shapes(quantised.graph, params["n"]).values()
    )
    seen = main_memory(memory or {})
    candidates: list[_Candidate] = []
    failed: LoweringError | None = None
    for swap in (False,) if flat else (False, True):
        known: list[Any] = []
        for merge, spare in _schedules(images, params):
            if spare and candidates:
                continue
            try:
                made = Steps(quantised, params, swap=swap, images=images)
                by_batch = merge in BATCHES
                lines = merge if by_batch else settle(made.steps, made.planes, merge)
                if lines in known or by_batch and not in_batches(made.steps, made.planes):
                    continue  # the same lines, so the same program
                known.append(lines)
                candidates.append(
                    _lower(quantised, params, memory_size, keep, swap, merge, images, seen, states)
                )
            except LoweringError as error:
                failed = failed or error
            if candidates and enough is not None and len(candidates[-1].words.words) >= enough:
                return candidates[-1].lowered
    if failed is not None and not candidates:
        raise failed
    best = _with_far(min(candidates, key=_cycles))
    return replace(best.lowered, text=best.words.text(quantised.graph.name))


def _schedules(images, params):
    """Candidate schedules of a run: (name, whether it is tried only if no other one fits)."""
    # Without ext_norm there are dense layers alone.
    dense = not params["ext_norm"]
    lines = images == 1 or images <= min(_IMAGES, slot_rows(params)) and not dense
    found = [*MERGES] * lines + [*BATCHES] * (images > 1 or dense)
    # The unified buffer may not hold one input of a batch.
    return [(name, False) for name in found] + [("all", True)] * (not lines)


def _cycles(candidate):
    """Estimated cycles of a candidate's run."""
    return sum(layer.cycles for layer in candidate.lowered.layers)


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A candidate lowering of a network: ``lowered``; the ``placement`` of its tensors (name ->
    (host vector, Planes)), empty unless they share memory; and ``again``, which lowers it once more
    with the given tensors placed after the weight tiles. Only the best candidate gets its program
    as text."""

    lowered: Lowered
    words: Program
    placement: dict
    again: object


def _with_far(best):
    """Improves a candidate by placing tensors after the weight tiles: tries each, largest first,
    and keeps those that shorten the run."""
    far, placement = frozenset(), best.placement
    for name in sorted(placement, key=lambda name: (-placement[name][1].size, name))[:_FAR_TRIES]:
        other = best.again(far | {name})
        if _cycles(other) < _cycles(best):
            best, far = other, far | {name}
    return best


def _lower(
    quantised, params, memory_size, keep, swap, merge, images, memory, states, far=frozenset()
):
    graph = quantised.graph
    made = Steps(quantised, params, swap=swap, images=images)
    inputs = [made.root[port.tensor] for port in graph.inputs]
    kept = {made.root[name] for name in graph.kept()} | (
        {step.target for step in made.steps} & set(graph.tensors) if keep else set()
    )
    least = _least_shares(made, kept | set(inputs))
    if sum(sum(share.values()) for share in least.values()) > memory_size:
        raise _too_large(least, memory_size)
    compile_ = partial(
        _compile,
        made,
        inputs=inputs,
        stored=kept - set(inputs),
        params=params,
        merge=merge,
        bandwidth=memory.bandwidth,
    )
    compiled = compile_()
    pairs = _copied(made, states, compiled)
    compiled = _with_copies(compiled, pairs, params)
    n, found, shared = params["n"], plain_map(compiled, params, memory), False
    if found.end > memory.border > 0 and not compiled.first_tile:
        apart = _with_copies(compile_(far=far), pairs, params)
        best = min(maps_of(apart, params, memory), key=lambda one: one.cycles)
        if best.cycles < found.cycles:
            compiled, found, shared = apart, best, True
    program = found.program.data()
    if found.end > memory_size:
        raise _too_large(_shares(made, compiled, found.program.words), memory_size, found.end)
    placement = {
        name: (found.vector(at), planes) for name, (at, planes) in compiled.placement.items()
    }
    placed = _placed(
        made, placement, {*inputs, *kept} if shared else set(placement), found.host, swap, images
    )
    lowered = Lowered(
        program=program,
        text="",
        program_at=found.program_at,
        registers={
            "program_address": found.program_at,
            "program_length": len(program),
            "hostmem_base": found.host,
            "hostmem_limit": found.host_end,
            "weights_base": found.weights,
            "weights_limit": found.tiles_at + found.tiles.size,
        },
        constants=[
            (found.host, compiled.constants.view("uint8").ravel(), "constant vectors"),
            (found.tiles_at, found.tiles.view("uint8"), "tiles"),
        ],
        zeros=[
            (found.host + n * placement[name][0], n * placement[name][1].size) for name in inputs
        ],
        inputs={port.tensor: placed[port.tensor] for port in graph.inputs},
        outputs={port.tensor: placed[port.tensor] for port in graph.outputs},
        tensors=placed,
        images=images,
        memory=found.end,
        layers=_layers(made.steps, compiled, params, found),
        params={name: params[name] for name in _needs(params)},
    )
    lowered = with_states(lowered, [name for name, *_ in pairs])
    rest = memory_size, keep, swap, merge, images, memory, states
    again = partial(_lower, quantised, params, *rest)
    return _Candidate(lowered, found.program, placement if shared else {}, again)


def _least_shares(made, stored):
    """Bytes of main memory that each layer takes at least, by their use; what layers share counts
    for the first: the tensors ``stored`` there, and distinct tiles, each with a word that reads it
    and one that multiplies by it."""
    n, shares, tiles, left = made.n, {}, set(), set(stored)
    for step in made.steps:
        new: dict[bytes, np.ndarray] = {}
        if isinstance(step, Step):
            arrays = {id(t.tile): t.tile for terms in step.terms for t in terms}
            new = {tile.tobytes(): tile for tile in arrays.values() if isinstance(tile, np.ndarray)}
            new = {key: tile for key, tile in new.items() if key not in tiles}
        tiles |= new.keys()
        short = are_diagonal(np.array([*new.values()], np.int8).reshape(-1, n, n), made.params)
        tensors = left & {*step.sources, step.target}
        left -= tensors
        share = shares.setdefault(step.name, dict.fromkeys(("program", "weights", "tensors"), 0))
        share["program"] += 2 * _WORD * len(new)
        share["weights"] += sum(n if is_short else n * n for is_short in short)
        share["tensors"] += n * sum(made.planes[name].size for name in tensors)
    return shares


def _shares(made, compiled, words):
    """Bytes of main memory that each layer takes by itself, by their use. ``words``: the program
    with its tiles as they lie in memory."""
    n = made.n
    edges = [begin for begin, _ in compiled.spans] + [len(words)]
    mine: dict[str, list[Word]] = {step.name: [] for step in made.steps}
    tensors: dict[str, set[str]] = {step.name: set() for step in made.steps}
    for part, number in enumerate(compiled.owners or range(len(made.steps))):
        step = made.steps[number]
        mine[step.name].extend(words[edges[part] : edges[part + 1]])
        tensors[step.name] |= {*step.sources, step.target} & compiled.placement.keys()
    return {
        name: {
            "program": _WORD * len(some),
            "weights": sum(word.tile_bytes(n) for word in {w for w in some if w.opcode == RW}),
            "tensors": n * sum(compiled.placement[one][1].size for one in tensors[name]),
        }
        for name, some in mine.items()
    }


def _too_large(shares, size, needed=None):
    """The error of a network that takes ``needed`` bytes of main memory, of which there are
    ``size``; ``None``: as many as the layers' shares. It is the error of a layer if the network has
    no other, or if the layer takes more by itself."""
    least = "" if needed is not None else "at least "
    needed = needed or sum(sum(share.values()) for share in shares.values())
    name = max(shares, key=lambda one: sum(shares[one].values()))
    own, alone = sum(shares[name].values()), len(shares) == 1
    uses = ", ".join(f"{use} {count:,}" for use, count in shares[name].items())
    return LoweringError(
        f"the network takes {least}{needed:,} bytes of main memory, there are {size:,}; "
        f"largest layer: {name} with {own:,} bytes ({uses})",
        name if alone or own > size else None,
        needed,
    )


def _copied(made, states, compiled):
    """Those of ``states`` whose output can be copied to the input vector by vector: (name of the
    input, tensor that holds it, tensor that holds the output)."""
    found = []
    for name, output in states:
        if not {name, output} <= made.graph.tensors.keys():
            continue
        source, result = made.root.get(name), made.root.get(output)
        placed = source in compiled.placement and result in compiled.placement
        inputs = {made.root[port.tensor] for port in made.graph.inputs}
        if not placed or result in inputs or made.stored[source] != made.stored[result]:
            continue
        mine, theirs = (
            replace(compiled.placement[root][1], gap=0, lead=0) for root in (source, result)
        )
        if mine == theirs:
            found.append((name, source, result))
    return found


def _with_copies(compiled, pairs, params):
    """Appends copies of outputs to inputs to a compiled program."""
    if not pairs:
        return compiled
    program = Program(compiled.program.words[:-1])
    for _, source, result in pairs:
        (to, target), (begin, planes) = (compiled.placement[name] for name in (source, result))
        runs = _runs(planes, target)
        rows = params["ub_rows"]
        while runs:
            some, at = [], 0
            while runs and at < rows:
                first, second, count = runs.pop(0)
                part = min(count, rows - at)
                some.append((begin + first, to + second, at, part))
                if part < count:
                    runs.insert(0, (first + part, second + part, count - part))
                at += part
            for home, _, row, count in some:
                program.rhm(home, row, count)
            for _, home, row, count in some:
                program.whm(row, home, count)
    program.hlt()
    return replace(compiled, program=program)


def _runs(planes, target):
    """Runs of vectors of a map and their positions in another layout of it: (first, first there,
    count); zero vectors between lines are not copied."""
    if planes.gap == target.gap == 0:
        return [(planes.lead, target.lead, planes.blocks * planes.plane)]
    return [
        (planes.vector(block, line, 0), target.vector(block, line, 0), planes.across)
        for block in range(planes.blocks)
        for line in range(planes.down)
    ]


def _compile(made, *, inputs, stored, params, merge, bandwidth, far=None):
    common = {"inputs": inputs, "stored": stored, "params": params}
    try:
        if merge in BATCHES:
            return compile_batches(
                made.steps, made.planes, bandwidth=bandwidth, shared=BATCHES[merge], **common
            )
        return compile_steps(
            made.steps,
            made.planes,
            merge=merge,
            far=far,
            **common,
        )
    except KernelError as error:
        raise LoweringError(error.reason, error.layer) from None


def _placed(made, placement, present, host, swap, images):
    """Tensors that main memory still holds after a run: name -> :class:`Placed`. ``present``:
    tensors that no other one overwrites."""
    graph, placed = made.graph, {}
    for name in graph.tensors:
        root = made.root.get(name)
        if root not in placement or root not in present:
            continue
        try:
            placed[name] = Placed(
                name,
                _layout(graph.shape(name), made.stored[root], *placement[root], host, swap, images),
            )
        except StoredError:
            if name in graph.kept():
                raise LoweringError(
                    f"output {name}: its elements are stored as {made.stored[root]}, no "
                    f"layout makes it one axis",
                    maker.name if (maker := graph.maker(name)) is not None else None,
                ) from None
    return placed


def _layout(shape, stored, home, planes, host, swap, images):
    """Layout of a tensor that is stored in planes; the first axis counts the inputs of a run."""
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


def _layers(steps, compiled, params, found):
    """Words, cycles and bytes of each node, whose steps are consecutive. ``found``: the
    :class:`~.memory_map.MemoryMap` of the program."""
    words, times, total = found.program.words, found.times, found.cycles
    stop = ISA.store(ISA.encode("HLT")).hex()
    edges = [begin for begin, _ in compiled.spans] + [len(words)]
    layers: dict[str, LayerSpan] = {}
    macs: Counter[str] = Counter()
    for step in steps:
        macs[step.name] += step.macs
    for part, number in enumerate(compiled.owners or range(len(steps))):
        step, begin, end = steps[number], edges[part], edges[part + 1]
        first = times[begin] if part else 0
        last = total if end == len(words) else times[end]
        moved = sum(_moved(word, params["n"]) for word in words[0 if part == 0 else begin : end])
        span = LayerSpan(
            step.name,
            step.nodes,
            _WORD * begin,
            _WORD * end,
            macs[step.name],
            round(last - first),
            moved,
            None if end == len(words) else ((_WORD * end, stop),),
        )
        before = layers.get(step.name)
        layers[step.name] = span if before is None else _extended(before, span)
    return list(layers.values())


def _extended(before, span):
    """A layer with a further part; it has no range of words of its own if others lie between."""
    together = before.end == span.begin
    return replace(
        span,
        begin=before.begin if together else None,
        end=span.end if together else None,
        cycles=before.cycles + span.cycles,
        bytes=before.bytes + span.bytes,
        cut=span.cut if together else None,
    )


def _moved(word, n):
    """Main memory traffic of one instruction word in bytes, its fetch included."""
    if word.opcode == RW:
        return _WORD + word.tile_bytes(n)
    return _WORD + n * word.count if word.opcode in _TRANSFERS else _WORD
