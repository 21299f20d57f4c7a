# SPDX-License-Identifier: BSD-2-Clause
"""Compilation pipeline: from a graph through passes, partitioning, quantisation and lowering to a
plan."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError, suggestion
from .backends import backend_class
from .backends.base import HOST, Backend, LoweringError, Support, programs_of
from .evaluate import run_graph
from .fidelity import LEAST, measure
from .graph import State
from .largest import largest_that_fits
from .partition import (
    PartitionError,
    check_nodes,
    neighbours_of,
    partition,
    refusal,
    separated,
)
from .passes import simplify
from .passes.centring import branches_scaled, centred, results_centred
from .passes.curves import Approximation, approximated, check_relus
from .passes.cutting import without_idle_cuts
from .plan import CoreStep, HostStep, Plan, drop_unread
from .quantise import check_bits, quantise
from .quantise.calibration import check_calibration, collect
from .quantise.quantiser import ValuesNeeded, check_percentile, placeholder
from .streams.caches import with_caches
from .streams.states import StatePair, carried, initial_value
from .values import to_graph

if TYPE_CHECKING:
    from .graph import Graph
    from .target_build import TargetBuild

__all__ = ["Options", "Outline", "compile_graph", "outline", "random_calibration"]

#: Inputs that calibration looks at, at most; of a dry run, whose numbers nobody computes with,
#: where programs depend on values at all; those that a dry run computes in floating point, to find
#: tensors that are no finite numbers.
MOST_CALIBRATION, FEW, LOOKED = 256, 2, 1
#: Inputs whose values functions are approximated for.
CURVED = 32
#: Of main memory, by which placeholder numbers may take more or less than those of the quantiser.
_MARGIN = 1.25


@dataclass(frozen=True)
class Options:
    """Options of a compilation: widths, equalisation, ranges, host steps and batch size.

    ``bits``: of activations, where the core has a choice; ``equalise``: weights of neighbouring
    layers are balanced; ``percentile``: of ranges, ``None``: by least square error; ``host_steps``:
    nodes that the core cannot do may run on the host; ``images``: inputs that a run works on, at
    most; ``None``: as many as the slower of core and line has use for; ``on_host``: names of nodes
    that must run on the host, which allows others there too; ``dry``: the plan is only
    looked at, so that nothing is quantised unless the programs depend on values
    (:func:`~.quantise.quantiser.placeholder`), and then of few inputs, with weights rounded to
    the nearest; and no program has a double-buffered copy. ``states``: outputs that are inputs of
    the next inference; ``steps``: inferences of a sequence of calibration inputs, behind which
    states begin anew, ``None``: all inputs are one sequence. ``approximate``: relus that an
    elementwise function which the core lacks is approximated with
    (:mod:`~.passes.curves`), ``None``: none is.
    """

    bits: int | None = None
    equalise: bool = True
    percentile: float | None = None
    host_steps: bool = False
    images: int | None = 1
    on_host: tuple[str, ...] = ()
    dry: bool = False
    states: tuple[StatePair, ...] = ()
    steps: int | None = None
    approximate: int | None = None


@dataclass
class Outline:
    """The structure of a plan before quantisation: ``backend``, the simplified ``graph``,
    ``segments`` as pairs (on the core, graph)."""

    backend: Backend
    graph: Graph
    segments: list[tuple[bool, Graph]] = field(default_factory=list)


def _backend(build):
    """The back end of a build."""
    return backend_class(build.isa)(
        params=build.params, memory_size=build.memory_size, memory=build.memory
    )


def outline(
    graph: Graph,
    build: TargetBuild,
    options: Options | None = None,
    forced_to_host: Mapping[str, str] | None = None,
    unfused_clips: Collection[str] = (),
    on_board: bool = True,
) -> Outline:
    """The :class:`Outline` of a network for a build. ``forced_to_host``: nodes that the host must
    run, name -> reason; ``unfused_clips``: layers whose clip stays unfused where the core supports
    that; ``on_board``: states may stay in main memory between runs, which gives input and output
    one scale.

    Raises
    ------
    PartitionError
        The core cannot run some nodes; the message lists every one.
    """
    backend = _backend(build)
    options = options or Options()
    backend.forced_to_host, backend.unfused_clips = (
        dict(forced_to_host or {}),
        frozenset(unfused_clips),
    )
    backend.quick = options.dry
    graph = simplify(graph)
    check_names(graph, options.on_host)
    if options.states and not backend.host_free:
        graph = with_caches(graph, backend)
    graph = separated(graph, backend)
    host_steps = options.host_steps or bool(options.on_host)
    if host_steps:
        backend.forced_to_host |= {
            node.name: support.reason
            for node, support in check_nodes(graph, backend)
            if support.costly
        }
    if backend.host_free:
        partition(graph, backend, host_steps=host_steps)  # refuses by the network's own nodes
        graph = backend.legalise(graph)
    segments = []
    for segment in partition(graph, backend, host_steps=host_steps):
        if segment.on_host:
            segments.append((False, segment.graph))
            continue
        segments += [(True, part) for part in backend.split(backend.legalise(segment.graph))]
    if on_board:
        backend.states = _states_on_board(graph, segments, options.states)
        backend.alike = tuple(pair.alike for pair in options.states if pair.alike)
    return Outline(backend, graph, segments)


def check_names(graph: Graph, names: Collection[str]) -> None:
    """Raises InputError if one of ``names`` is not a node of a simplified graph."""
    known = [node.name for node in graph.nodes]
    for name in names:
        if name not in known:
            raise InputError(f"{graph.name} has no node {name!r}{suggestion(name, known)}")


def _states_on_board(graph, segments, pairs):
    """Pairs (tensor of the input, tensor of the output) of the states that a single program both
    reads and computes. Only these may stay in main memory: if several programs share the memory in
    turn, the others overwrite a state."""
    programs = [part for on_core, part in segments if on_core]
    if len(programs) != 1:
        return ()
    (program,) = programs
    made = {node.output for node in program.nodes}
    hosts = [part for on_core, part in segments if not on_core]
    on_host = {port.tensor for part in hosts for port in part.inputs}
    read = {port.tensor for port in program.inputs} - on_host
    ports = {port.name: port for port in (*graph.inputs, *graph.outputs)}
    found = []
    for pair in pairs:
        source, output = (ports[name] for name in (pair.input, pair.output))
        shape = graph.shape(source.tensor)
        plain = source.scale is None and output.scale is None
        if (
            source.tensor in read
            and output.tensor in made
            and plain
            and _same_order(source, output)
            and np.prod(shape) == np.prod(graph.shape(output.tensor))
        ):
            found.append((source.tensor, output.tensor))
    if len(found) == len(program.inputs):
        return ()  # a run without writes by the host
    tensors = [name for pair in found for name in pair]
    return tuple(pair for pair in found if all(tensors.count(name) == 1 for name in pair))


def _same_order(source, output):
    """Whether the elements of an output's tensor have the same order as those of the input's, in C
    order of all axes."""
    numbers = np.arange(np.prod(source.shape, dtype=int)).reshape(1, *source.shape)
    mine = numbers.transpose(0, *(axis + 1 for axis in source.order))
    theirs = numbers.transpose(0, *(axis + 1 for axis in output.order))
    return np.array_equal(mine.ravel(), theirs.ravel())


def random_calibration(graph: Graph, count: int = 32, seed: int = 0) -> dict[str, np.ndarray]:
    """Random inputs in the user's layout, name -> array [count, ...]: normally distributed float64,
    or uniform over the range of a quantised input."""
    rng = np.random.default_rng(seed)
    found: dict[str, np.ndarray] = {}
    for port in graph.inputs:
        shape = (count, *port.shape)
        if port.scale is None:
            found[port.name] = rng.normal(0, 1, shape)
        else:
            low = -(1 << port.bits - 1) if port.signed else 0
            found[port.name] = rng.integers(low, low + (1 << port.bits), shape)
    return found


def compile_graph(
    graph: Graph,
    build: TargetBuild,
    calibration: dict[str, np.ndarray] | None = None,
    options: Options | None = None,
    progress: Callable[..., None] | None = None,
) -> Plan:
    """Compiles a graph into a :class:`Plan`.

    Parameters
    ----------
    graph : Graph, as imported
    build : TargetBuild
    calibration : dict, name of every input that is no state -> array in the user's layout,
        the first axis counts inputs; ``None``: random, with a note
    options : Options
    progress : callable(what, done, total), optional

    Raises
    ------
    PartitionError, LoweringError
    """
    try:
        return _compiled(graph, build, calibration, options or Options(), progress)
    except PartitionError as error:
        raise _with_largest(error, graph, build, options or Options()) from error
    except LoweringError as error:
        largest = error.bytes_needed and _largest_layer(graph, build, options or Options())
        if not largest:
            raise
        raise LoweringError(f"{error}; {largest}", bytes_needed=error.bytes_needed) from error


def _fitting(build, options):
    """Whether a build takes a network, as a function of its graph."""
    plain = Options(bits=options.bits, dry=True)

    def fits(network):
        try:
            made = outline(network, build, plain)
            places = {on_core for on_core, _ in made.segments}
            if places == {True} or made.backend.host_free and True in places:
                made.backend.check_programs(
                    _checked(made, random_calibration(network, FEW), plain, None)[1]
                )
                return True
        except InputError:
            pass
        return False

    return fits


def _largest_layer(graph, build, options):
    """Text that names the layer with most numbers and the largest size of it that fits; empty if
    the layer fits by itself."""
    graph = separated(simplify(graph), _backend(build))

    def numbers(node):
        tensors = sum(graph.tensors[name].size for name in {*node.inputs, node.output})
        return tensors + np.size(getattr(node, "weights", ()))

    node = max(graph.nodes, key=numbers)
    largest = largest_that_fits(graph, node, _fitting(build, options))
    return largest and f"{node.name} ({node.origin or node.kind}): {largest}"


def _with_largest(error, graph, build, options):
    """The error of a network that the core cannot run, with the largest size that fits of every
    layer that is refused for its size."""
    graph = separated(simplify(graph), _backend(build))
    nodes = {node.name: node for node in graph.nodes}
    fits = _fitting(build, options)
    return PartitionError(
        build.isa,
        [
            replace(refusal, largest=largest_that_fits(graph, nodes[refusal.name], fits))
            if refusal.name in nodes
            else refusal
            for refusal in error.refusals
        ],
    )


def _compiled(graph, build, calibration, options, progress):
    forced_to_host = dict.fromkeys(options.on_host, "it was asked to run on the host")
    unfused_clips: set[str] = set()
    given = random_calibration(graph) if calibration is None else calibration
    if options.states:
        few = {name: np.asarray(array)[:MOST_CALIBRATION] for name, array in given.items()}
        given = carried(graph, options.states, few, options.steps)
    near = without_idle_cuts(graph, None if calibration is None else given)
    cuts_left_out = calibration is None and near is not graph
    if cuts_left_out:
        graph = near  # random inputs do not tell where values are cut, nor at what cost
    held: dict[str, str] = {}
    check_relus(options.approximate)
    if calibration is not None:
        # A state's offset or factor would have to be that of its other end.
        fixed = {name for pair in options.states for name in (pair.input, pair.output)}
        few = {name: np.asarray(array)[:MOST_CALIBRATION] for name, array in given.items()}
        near, held = centred(simplify(near), few, fixed)
        if not options.dry and _backend(build).is_narrow(options.bits):
            near = branches_scaled(results_centred(near, few, fixed), few, fixed)
    near, curves = _with_curves(near, build, given, options)
    exact = False  # whether placeholder numbers have been found too rough
    on_board = True  # whether states may share one scale
    while True:
        made = outline(near, build, options, forced_to_host, unfused_clips, on_board)
        try:
            if exact:
                steps, parts = _steps(made, given, replace(options, dry=False), progress)
            else:
                steps, parts = _checked(made, given, options, progress)
            late = {name for part in parts for name in part.apart} - unfused_clips
            if not late:
                if progress is not None:
                    progress("write programs")
                images = 1 if options.states else options.images
                lowered = programs_of(made.backend, parts, images, build)
                most = max((program.memory for program in lowered), default=0)
                if exact or not options.dry or most * _MARGIN <= build.memory_size:
                    break
                exact = True
            unfused_clips |= late
        except LoweringError as error:
            if made.backend.states or made.backend.alike:
                on_board = False
            elif options.dry and not exact and _may_fit(made.backend, error):
                exact = True
            else:
                _bar(made, error, options, forced_to_host)
    notes = []
    if cuts_left_out and made.backend.floating:
        notes.append(
            "values are not cut where the model's scales end, since no calibration inputs tell "
            "whether any reach so far; give --calibrate if the model left a Clip to its scales"
        )
    if calibration is None and not made.backend.floating:
        notes.append(
            ("would be quantised" if options.dry else "quantised")
            + " for RANDOM inputs, since no calibration was given: results may be "
            "useless; give --calibrate with some hundred real inputs"
        )
    programs = dict(zip(map(id, parts), lowered, strict=True))
    taken = max((lowered.images for lowered in programs.values()), default=1)
    if options.states and options.images != 1:
        notes.append("a run works on one input: each inference reads the states of the one before")
    elif options.images is not None and taken < options.images:
        notes.append(
            f"a run works on {taken} input{'s' * (taken > 1)}, not {options.images}: more than "
            f"that this core does not take of this network"
        )
    # The next input does not go beside a run where a state comes out of it.
    plain = not (options.dry or options.states)
    copies = _buffered_copies(made.backend, parts, programs) if plain else {}
    steps = [
        step
        if isinstance(step, HostStep)
        else CoreStep(step, programs[id(step)], copies.get(id(step)))
        for step in steps
    ]
    plan = Plan(
        network=graph.name,
        isa=build.isa,
        preset=build.preset,
        board=build.board,
        target=build.target,
        params=build.params,
        memory_size=build.memory_size,
        inputs=_without(made.graph.inputs, [pair.input for pair in options.states]),
        # An output that is a state is one of the user's only where there is no other.
        outputs=_without(made.graph.outputs, [pair.output for pair in options.states])
        or list(made.graph.outputs),
        states=_states(made.graph, options.states),
        steps=steps,
        notes=notes,
        choices=[
            *_offsets(made.graph),
            *_factors(made.graph),
            *_curve_entries(curves),
            *_clip_entries(parts, unfused_clips),
            *(choice for part in parts for choice in part.choices),
        ],
        vocabulary=graph.vocabulary,
    )
    drop_unread(plan)
    plan.notes += _state_notes(plan, options.states, made.backend)
    if not options.dry:
        if progress is not None:
            progress("measure accuracy")
        _judge(plan, graph, given, "random" if calibration is None else "calibration", held)
    return plan


def _with_curves(graph, build, calibration, options):
    """The network with functions approximated that the core lacks, if the user allows it: the graph
    and a list of :class:`Approximation`."""
    if options.approximate is None:
        return graph, []
    graph, backend = simplify(graph), _backend(build)
    check_names(graph, options.on_host)
    backend.forced_to_host = dict.fromkeys(options.on_host, "")
    few = {
        port.tensor: to_graph(port, np.asarray(calibration[port.name])[:CURVED])
        for port in graph.inputs
    }
    return approximated(graph, backend, few, options.approximate)


def _curve_entries(curves: list[Approximation]):
    """Report entries of approximated functions."""
    return [
        {
            "name": curve.name,
            "what": "approximated",
            "value": curve.fit.error,
            "why": f"{curve.origin} is a sum of {len(curve.fit.slopes)} relus, as --approximate "
            f"allows: greatest error over the values seen",
        }
        for curve in curves
    ]


def _without(ports, names):
    return [port for port in ports if port.name not in names]


def _states(graph, pairs):
    """The plan's states, with their ports after the passes."""
    inputs = {port.name: port for port in graph.inputs}
    outputs = {port.name: port for port in graph.outputs}
    return [
        State(inputs[pair.input], outputs[pair.output], initial_value(pair, inputs[pair.input]))
        for pair in pairs
    ]


def _state_notes(plan, pairs, backend):
    """Notes for the user on each state: its ports, where it is kept, and why."""
    found = []
    for pair, state in zip(pairs, plan.states, strict=True):
        where = (
            "stays in the board's memory"
            if plan.on_board(state)
            else f"goes through the host, {_off_board(plan, state, backend)}"
        )
        found.append(f"state {pair.output} -> {pair.input} ({pair.why}): {where}")
    return found


def _off_board(plan, state, backend):
    """Reason why a state does not stay in the board's memory."""
    if not any(state.input.tensor in step.lowered.inputs for step in plan.core_steps):
        return "where it is read"
    if not any(state.output.tensor in step.lowered.outputs for step in plan.core_steps):
        return "where it is made"
    if len(plan.core_steps) > 1:
        return f"between the {len(plan.core_steps)} programs of the network"
    if not backend.keeps_states:
        return "since this core's inputs are words of its program"
    return "since input and output have no common form in memory"


def _judge(plan, graph, calibration, kind, held):
    """Records a plan's signal-to-noise ratio on inputs of this ``kind`` and, if it is low, a
    warning; ``held``: offsets that :func:`centred` could not apply."""
    found = measure(plan, graph, calibration)
    plan.snr = found.snr
    if found.snr is None or found.snr >= LEAST:
        return
    plan.notes.append(
        f"low accuracy: {found.snr:.1f} dB signal to noise on {found.inputs} {kind} "
        f"input{'s' * (found.inputs > 1)}, expected at least {LEAST:g}; {found.place} loses most, "
        f"from {found.before:.1f} to {found.after:.1f} dB"
        + "".join(
            f"; input {name} lies far from zero, and its mean cannot go into a bias: {why}"
            for name, why in held.items()
        )
    )


def _offsets(graph):
    """Report entries of inputs and outputs whose mean the host subtracts or adds."""
    why = {
        "inputs": "far from zero: the host subtracts it, the first layers' biases make up for it",
        "outputs": "far from zero: the last layers' biases leave it out, the host adds it",
    }
    return [
        {
            "name": port.name,
            "what": "offset",
            "value": [min(port.offset), max(port.offset)],
            "why": why[side],
        }
        for side in why
        for port in getattr(graph, side)
        if port.offset is not None
    ]


def _factors(graph):
    """Report entries of outputs that the host rescales."""
    return [
        {
            "name": port.name,
            "what": "factor",
            "value": [min(port.factor), max(port.factor)],
            "why": "branches of ranges far apart: each fills the numbers, the host multiplies",
        }
        for port in graph.outputs
        if port.factor is not None
    ]


def _bar(made, error, options, forced_to_host):
    """Forces a node whose program cannot be written to the host: adds it to ``forced_to_host``,
    name -> reason. Raises PartitionError if that is not allowed, and ``error`` if no single node is
    responsible."""
    node = _own_node(made, error.node)
    if node is None or node.name in forced_to_host:
        raise error
    forced_to_host[node.name] = error.reason
    if not (options.host_steps or options.on_host or made.backend.host_free):
        raise PartitionError(
            made.backend.isa,
            [
                refusal(
                    made.graph, node, Support(HOST, error.reason), neighbours_of(made.backend.isa)
                )
            ],
        ) from error


def _own_node(made, name):
    """The network's node from which a legalised node was made: the first node from it on whose
    result is a tensor of the network; ``None`` if there is none."""
    own = {node.output: node for node in made.graph.nodes}
    nodes = [
        node
        for on_core, part in made.segments
        for node in (made.backend.legalise(part) if on_core else part).nodes
    ]
    node = next((node for node in nodes if node.name == name), None)
    while node is not None and node.output not in own:
        node = next((reader for reader in nodes if node.output in reader.inputs), None)
    return None if node is None else own[node.output]


def _clip_entries(parts, names):
    """Report entries of the unfused clips among ``names``."""
    made = {node.name for part in parts for node in part.graph.nodes}
    return [
        {
            "name": name,
            "what": "clip",
            "value": "a layer of its own",
            "why": "the layer's partial sums go far above it and would saturate",
        }
        for name in sorted(names)
        if f"{name}:sum" in made
    ]


def _checked(made, calibration, options, progress):
    """Lowers the network like :func:`_steps`, but first checks with placeholder numbers that it
    fits the core, since quantisation takes much longer. For a dry run, placeholder numbers may be
    the result."""
    backend = made.backend
    for on_core, part in made.segments:
        if on_core:
            backend.check(part)
    try:
        rough = [
            placeholder(part, backend, options.bits) if on_core else None
            for on_core, part in made.segments
        ]
    except ValuesNeeded:
        return _steps(made, calibration, options, progress)
    parts = [part for part in rough if part is not None]
    check_bits(options.bits, parts)
    check_percentile(options.percentile)
    if options.dry or backend.floating:
        # Nothing to quantise.
        _look(made, rough, calibration, LOOKED if options.dry else MOST_CALIBRATION)
        return [
            part if on_core else HostStep(graph)
            for part, (on_core, graph) in zip(rough, made.segments, strict=True)
        ], parts
    if progress is not None:
        progress("check memories")
    try:
        backend.check_programs(parts, options.images or 1)
    except LoweringError as error:
        if not _may_fit(backend, error):
            raise
    return _steps(made, calibration, options, progress)


def _may_fit(backend, error):
    """Whether main memory is exceeded by so little that real numbers may fit: placeholder numbers
    have a bias for every result."""
    return error.bytes_needed is not None and error.bytes_needed <= _MARGIN * backend.memory_size


def _values(made, calibration, most):
    """First values of every input of an outline, at most ``most``, by tensor name."""
    return {
        port.tensor: to_graph(port, np.asarray(calibration[port.name])[:most])
        for port in made.graph.inputs
    }


def _later(made, number):
    """Names of the tensors that segments after segment ``number`` read."""
    return {port.tensor for _, part in made.segments[number + 1 :] for port in part.inputs}


def _look(made, rough, calibration, most):
    """Checks calibration as :func:`~.quantise.quantise` does: that it fits the network and gives
    finite numbers. ``rough``: placeholder numbers of the segments, ``None`` for the host's;
    ``most``: number of inputs to check."""
    values = _values(made, calibration, most)
    for number, ((_, part), numbers) in enumerate(zip(made.segments, rough, strict=True)):
        given = {port.tensor: values[port.tensor] for port in part.inputs}
        if numbers is not None:
            checked = check_calibration(part, given)
            if not made.backend.floating:
                collect(numbers.graph, checked)
        if _later(made, number):
            values.update(run_graph(part, given))


def _steps(made, calibration, options, progress):
    """Lowers an outline to steps, with the core's segments quantised; returns the steps and the
    quantised segments."""
    values = _values(made, calibration, FEW if options.dry else MOST_CALIBRATION)
    steps, parts = [], []
    for number, (on_core, part) in enumerate(made.segments):
        if progress is not None:
            progress(f"quantise {number + 1} of {len(made.segments)}" if on_core else "calibrate")
        given = {port.tensor: values[port.tensor] for port in part.inputs}
        if on_core:
            quantised = quantise(
                part,
                made.backend,
                given,
                bits=options.bits,
                equalise=options.equalise,
                percentile=100 if options.dry else options.percentile,
                quick=options.dry,
            )
            parts.append(quantised)
            steps.append(quantised)
        else:
            steps.append(HostStep(part))
        if _later(made, number):
            values.update(run_graph(part, given))
    check_bits(options.bits, parts)
    return steps, parts


def _buffered_copies(backend, parts, programs):
    """Double-buffered copies of all programs, placed after them in memory, by the ids of the
    quantised segments; empty if a program has none or memory cannot hold them."""
    at, found = max((lowered.memory for lowered in programs.values()), default=0), {}
    for part in parts:
        try:
            copy = backend.buffered_copy(part, programs[id(part)], -(-at // 64) * 64)
        except LoweringError:
            return {}
        if copy is None or copy.memory > backend.memory_size:
            return {}
        found[id(part)], at = copy, copy.memory
    return found
