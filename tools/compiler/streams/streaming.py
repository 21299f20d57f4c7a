# SPDX-License-Identifier: BSD-2-Clause
"""Streaming conversion: turns a network over a whole time interval into one that takes a few frames
per inference and keeps states in between.

Convolutions and poolings over time keep the frames that their windows reach back to as states
(:mod:`.states`), so that a call computes new columns alone. Layers that see the whole stretch (a
mean over time, a dense layer behind it) keep the stretch itself, of which the oldest frames leave
as new ones come.

A result is that of the whole stretch at once as soon as the states hold no frame from before the
first: with causal padding from the first call on, without padding once a stretch is full. Other
padding over time adds zeros at both ends of a stretch, which a stream has only once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import lcm
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError, suggestion
from ..backends.base import HOST, NO
from ..graph import (
    Activation,
    Affine,
    AveragePool,
    Binary,
    Concat,
    Conv,
    Dense,
    Graph,
    LayerNorm,
    MaxPool,
    Node,
    Pad,
    Port,
    Reshape,
    Slice,
    Softmax,
    Tensor,
    Transpose,
)
from ..partition import separated
from ..passes import simplify
from .states import StatePair

if TYPE_CHECKING:
    from ..backends.base import Backend
    from ..target_build import TargetBuild

__all__ = ["Stream", "frames_of", "in_calls", "stream_for", "stream_of", "streamed"]


@dataclass(frozen=True)
class Stream:
    """A streamed network: ``graph`` takes ``frames`` frames per call along axis ``axis`` of the
    input ``input`` (axes of the user's array, without the batch axis) and keeps ``states``."""

    graph: Graph
    input: str
    axis: int
    frames: int
    states: tuple[StatePair, ...]


@dataclass(frozen=True)
class _Timed:
    """A tensor with a time axis, along which every call adds elements.

    Attributes
    ----------
    axis : of the graph's tensor
    length : elements along it of the whole stretch
    stride : frames of the input per element
    late : elements that it lags behind the same tensor of the whole stretch
    """

    axis: int
    length: int
    stride: int
    late: int


def frames_of(stream: Stream, values: np.ndarray) -> np.ndarray:
    """Splits whole intervals [intervals, ...] of the streamed input into calls: [intervals, calls,
    ...]; frames after the last whole call are dropped."""
    axis = stream.axis + 1
    calls = values.shape[axis] // stream.frames
    if not calls:
        raise InputError(
            f"input {stream.input}: {values.shape[axis]} frames: expected at least "
            f"{stream.frames}, those of a call"
        )
    parts = [
        np.take(values, range(at * stream.frames, (at + 1) * stream.frames), axis=axis)
        for at in range(calls)
    ]
    return np.stack(parts, axis=1)


def in_calls(stream: Stream, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays of a streamed network's inputs, by name, as its inferences take them. Whole sequences
    [sequences, ...] of the streamed input are cut (:func:`frames_of`); other inputs' values of a
    sequence are repeated for each of its inferences."""
    found = {name: np.asarray(array) for name, array in arrays.items()}
    ranks = {port.name: len(port.shape) for port in stream.graph.inputs}
    if stream.input not in found or found[stream.input].ndim != ranks[stream.input] + 1:
        return found
    calls = frames_of(stream, found.pop(stream.input))
    for name, array in found.items():
        if array.ndim == ranks.get(name, -1) + 1:
            found[name] = np.repeat(array[:, None], calls.shape[1], axis=1)
    return {stream.input: calls, **found}


def stream_of(
    graph: Graph, build: TargetBuild, given: Mapping[str, int], frames: int | None = None
) -> Stream | None:
    """The :class:`Stream` that a user requests, or ``None``. ``given``: name of an input -> its
    axis of time as the model counts it, that of the inputs included."""
    if not given:
        if frames is not None:
            raise InputError(f"{frames} frames a call: expected an input to stream as well")
        return None
    if len(given) > 1:
        raise InputError(f"stream {', '.join(given)}: expected one input")
    ((name, axis),) = given.items()
    port = next((port for port in graph.inputs if port.name == name), None)
    batched = port is not None and port.batched
    if batched and axis == 0:
        raise InputError(f"stream {name}: axis 0 counts the inputs: expected that of the frames")
    return stream_for(graph, build, name, axis - batched, frames)


def streamed(graph: Graph, name: str, axis: int, frames: int | None = None) -> Stream:
    """Converts an imported network to a :class:`Stream`.

    Parameters
    ----------
    name, axis : the input that has time, and which of its axes (of the user's array, without the
        axis of inputs) it is
    frames : of a call; ``None``: as few as the strides over time allow

    Raises
    ------
    InputError
        No such input or axis, a number of frames that the strides do not divide, a layer over time
        that no window can stand for.
    """
    ports = {port.name: port for port in graph.inputs}
    if name not in ports:
        raise InputError(f"stream {name}: no input {name!r}{suggestion(name, ports)}")
    shape = ports[name].shape
    if not 0 <= axis < len(shape):
        raise InputError(
            f"stream {name}: axis {axis} of {len(shape)} behind that of the inputs: expected 0 to "
            f"{len(shape) - 1}"
        )
    return _Streaming(simplify(graph), name, axis, frames).stream()


def stream_for(
    graph: Graph, build: TargetBuild, name: str, axis: int, frames: int | None = None
) -> Stream:
    """Chooses the form of a :class:`Stream` that suits a build's core: windows over time by
    concatenation, by sums (:mod:`.padded`) or as vectors (:mod:`.vectors`). The first form that the
    core runs completely, or else most of, is taken. Arguments and errors as of :func:`streamed`."""
    from ..backends import backend_class
    from .padded import as_padded
    from .vectors import as_vectors

    stream = streamed(graph, name, axis, frames)
    backend = backend_class(build.isa)(params=build.params, memory_size=build.memory_size)
    forms = (
        lambda whole: whole,
        as_padded,
        lambda whole: as_padded(whole, convolutions=True),
        as_vectors,
        lambda whole: as_vectors(whole, selections=True),
    )
    found: list[tuple[int, Stream]] = []
    for form in forms:
        made = _in_form(stream, form(stream.graph))
        found.append((_refused(made.graph, backend), made))
        if not found[-1][0]:
            break
    return min(found, key=lambda one: one[0])[1]


def _in_form(stream, graph):
    """Returns a stream in another form; tensors that replace a window keep its scale."""
    states = []
    for pair in stream.states:
        heads = tuple(f"{name}:" for name in pair.alike if name.endswith(":window"))
        parts = tuple(name for name in graph.tensors if name.startswith(heads))
        states.append(replace(pair, alike=(*pair.alike, *parts)))
    return replace(stream, graph=graph, states=tuple(states))


def _refused(graph: Graph, backend: Backend) -> int:
    """Number of nodes of a network that do not suit a core. If all layers of the core end
    on the host, only nodes count that the host may not run either."""
    graph = separated(simplify(graph), backend)
    if backend.host_free:
        answers = [backend.check_support(graph, node).answer for node in graph.nodes]
        return sum(answer in (HOST, NO) for answer in answers)
    return sum(not backend.suits(graph, node) for node in graph.nodes)


#: Nodes that work on each element of the axis of time by itself, wherever that lies.
_POINTWISE = (Activation, Affine, Binary, Transpose, Concat, Pad, Slice, Softmax, LayerNorm)


def _same_axis(before, after, axis):
    """Axis of a reshaped tensor that corresponds to the axis of this number in its source; ``None``
    if it is merged with another."""
    places = [
        place
        for place, length in enumerate(after)
        if length == before[axis] and np.prod(after[:place]) == np.prod(before[:axis])
    ]
    return places[0] if before[axis] > 1 and places else None


class _Streaming:
    """Rewriter of one network into its streamed form."""

    def __init__(self, graph, name, axis, frames):
        self.whole, self.name, self.axis = graph, name, axis
        self.port = next(port for port in graph.inputs if port.name == name)
        strides = self._strides()
        least = lcm(*strides)
        self.frames = least if frames is None else frames
        if self.frames < 1 or self.frames % least:
            raise InputError(
                f"stream {name}: {self.frames} frames a call: expected a multiple of {least}, by "
                f"which the layers' strides over time divide"
            )
        if self.port.shape[axis] < self.frames:
            raise InputError(
                f"stream {name}: a stretch of {self.port.shape[axis]} frames: expected at least "
                f"{self.frames}, those of a call"
            )
        self.timed: dict[str, _Timed] = {}
        self.late: dict[str, int] = {}  # delay of tensors without time, in input frames
        self.tensors: dict[str, Tensor] = {}
        self.nodes: list[Node] = []
        self.inputs: list[Port] = []
        self.outputs: list[Port] = []
        self.states: list[StatePair] = []

    # Which tensors have time

    def _first(self):
        """Time axis (:class:`_Timed`) of the streamed input."""
        axis = self.port.order.index(self.axis)
        return _Timed(axis, self.port.shape[self.axis], 1, 0)

    def _strides(self):
        """Frames of the input per element of each tensor with a time axis."""
        timed = {self.port.tensor: self._first()}
        for node in self.whole.nodes:
            found = [timed[name] for name in node.inputs if name in timed]
            if found and (result := self._after(node, found)) is not None:
                timed[node.output] = result
        return [one.stride for one in timed.values()]

    def _after(self, node, found):
        """Time axis of a node's result, without its delay; ``None`` if the node needs the whole
        interval."""
        first = found[0]
        axis, shape = first.axis, self.whole.shape(node.output)
        if any(
            (one.axis, one.length, one.stride) != (axis, first.length, first.stride)
            for one in found
        ):
            return None
        if isinstance(node, Conv | MaxPool | AveragePool):
            if axis > 1 or self._is_whole(node, axis, first.length):
                return None
            stride = first.stride * node.stride[axis]
            return _Timed(axis, shape[axis], stride, 0)
        if isinstance(node, Dense) and node.steps and axis == 0:
            return replace(first, late=0)
        if isinstance(node, Reshape):
            place = _same_axis(self.whole.shape(node.inputs[0]), node.shape, axis)
            return None if place is None else replace(first, axis=place, late=0)
        if not isinstance(node, _POINTWISE) or not self._by_element(node, axis, first.length):
            return None
        if isinstance(node, Transpose):
            axis = node.order.index(axis)
        return replace(first, axis=axis, late=0)

    @staticmethod
    def _is_whole(node, axis, length):
        """Whether a pooling covers the whole interval, in other words is a mean over time."""
        return not isinstance(node, Conv) and node.window[axis] == length > 1

    def _by_element(self, node, axis, length):
        """Whether a node processes each element of the time axis separately."""
        shape = self.whole.shape(node.output)
        last = len(self.whole.shape(node.inputs[0])) - 1
        if isinstance(node, Concat):
            return node.axis % len(shape) != axis and len(node.inputs) > 0
        if isinstance(node, Pad):
            return not (node.before[axis] or node.after[axis])
        if isinstance(node, Slice):
            return (node.start[axis], node.stop[axis], node.step[axis]) == (0, length, 1)
        if isinstance(node, Softmax):
            return node.axis % len(shape) != axis
        if isinstance(node, LayerNorm | Affine):
            return axis != last
        if isinstance(node, Binary):
            return self._broadcasts(node, shape, axis)
        return True

    def _broadcasts(self, node, shape, axis):
        """Whether the operands of a node have their time axes at the position of the result's, or
        none."""
        for name in node.inputs:
            own = self.whole.shape(name)
            place = axis - (len(shape) - len(own))
            if self.whole.tensors[name].data is not None:
                if place >= 0 and own[place] != 1:
                    return False
            elif own != shape:
                return False
        return True

    # Rewriting

    def stream(self):
        """Builds the network that takes some frames per call."""
        self._ports()
        for node in self.whole.nodes:
            operands = [name for name in node.inputs if name in self.timed]
            found = [self.timed[name] for name in operands]
            result = self._after(node, found) if found else None
            if result is None:
                self._plain(node)
            elif isinstance(node, Conv | MaxPool | AveragePool):
                self._window(node, found[0], result)
            else:
                self._pointwise(node, found, result)
        for port in self.whole.outputs:
            self.outputs.insert(len(self.outputs) - len(self.states), self._output(port))
        self._check_late({port.tensor for port in self.whole.outputs}, "the outputs")
        graph = Graph(self.whole.name, self.inputs, self.outputs, self.nodes, self.tensors)
        return Stream(graph, self.name, self.axis, self.frames, tuple(self.states))

    def _ports(self):
        first = self._first()
        for port in self.whole.inputs:
            tensor = self.whole.tensors[port.tensor]
            if port.name != self.name:
                self.inputs.append(port)
                self.tensors[port.tensor] = tensor
                continue
            shape = list(port.shape)
            shape[self.axis] = self.frames
            self.inputs.append(replace(port, shape=tuple(shape)))
            self.timed[port.tensor] = first
            self._add(tensor, first)
        for name, tensor in self.whole.tensors.items():
            if tensor.data is not None:
                self.tensors[name] = tensor

    def _add(self, tensor, timed):
        """Adds a tensor with the elements of one call along its time axis."""
        shape = list(tensor.shape)
        shape[timed.axis] = self.frames // timed.stride
        self.tensors[tensor.name] = replace(tensor, shape=tuple(shape))

    def _output(self, port):
        """Output port of the streamed network."""
        if port.tensor not in self.timed:
            return port
        timed = self.timed[port.tensor]
        axis = port.order[timed.axis]
        shape = list(port.shape)
        shape[axis] = self.frames // timed.stride
        return replace(port, shape=tuple(shape))

    def _made(self, name, like, axis, length):
        """Adds a tensor like another, with ``length`` elements along the time axis."""
        shape = list(self.tensors[like].shape)
        shape[axis] = length
        own = self.tensors[like]
        self.tensors[name] = Tensor(
            name, tuple(shape), None, own.scale, own.zero_point, own.bits, own.signed
        )
        return name

    def _past(self, node, source, axis, length):
        """Adds the state that holds the last ``length`` elements before a call; returns the name of
        the tensor with these and the call's elements."""
        if not length:
            return source
        new = self.tensors[source].shape[axis]
        stem = f"{node.name}:{source}" if len(node.inputs) > 1 else node.name
        past = self._made(f"{stem}:past", source, axis, length)
        window = self._made(f"{stem}:window", source, axis, length + new)
        after = self._made(f"{stem}:next", source, axis, length)
        shape = self.tensors[window].shape
        start = tuple(new if place == axis else 0 for place in range(len(shape)))
        self.nodes += [
            Concat(
                name=window, inputs=[past, source], output=window, origin=node.origin, axis=axis
            ),
            Slice(
                name=after,
                inputs=[window],
                output=after,
                origin=node.origin,
                start=start,
                stop=shape,
                step=(1,) * len(shape),
            ),
        ]
        own = self.tensors[past].shape
        order = tuple(range(len(own)))
        self.inputs.append(Port(past, past, order, own))
        self.outputs.append(Port(after, after, order, own))
        self.states.append(
            StatePair(
                after,
                past,
                why=f"frames that {node.name} reaches back to",
                alike=(past, source, window, after),
            )
        )
        return window

    def _window(self, node, source, result):
        """Adds a convolution or pooling over the frames of a call and earlier ones."""
        axis, stride = source.axis, node.stride[source.axis]
        padding = list(node.padding)
        left = padding[axis]
        if not isinstance(node, Conv) and (padding[axis] or padding[axis + 2]):
            raise InputError(
                f"stream {self.name}: {node.name} pads time by {padding[axis]} and "
                f"{padding[axis + 2]}: expected a pooling without padding over time"
            )
        window = self._effective_size(node)[axis]
        # As many elements as the window reaches back to, and so many that results fall on those of
        # the whole stretch.
        kept = max(window - stride, left - source.late, 0)
        kept += (left - source.late - kept) % stride
        padding[axis] = padding[axis + 2] = 0
        name = self._past(node, node.inputs[0], axis, kept)
        late = (kept + source.late - left) // stride
        self._result(
            replace(node, inputs=[name, *node.inputs[1:]], padding=tuple(padding)),
            replace(result, late=late),
        )

    @staticmethod
    def _effective_size(node):
        """Effective window (rows, columns) of a node."""
        if isinstance(node, Conv):
            return node.window
        dilation = getattr(node, "dilation", (1, 1))
        return tuple((k - 1) * d + 1 for k, d in zip(node.window, dilation, strict=True))

    def _pointwise(self, node, found, result):
        """Adds a node whose operands must have one delay: earlier ones are delayed."""
        late = max(one.late for one in found)
        inputs = [
            self._delayed(node, name, late - self.timed[name].late) if name in self.timed else name
            for name in node.inputs
        ]
        node = replace(node, inputs=inputs)
        if isinstance(node, Slice):
            stop = list(node.stop)
            stop[found[0].axis] = self.frames // found[0].stride
            node = replace(node, stop=tuple(stop))
        if isinstance(node, Reshape):
            shape = list(node.shape)
            shape[result.axis] = self.frames // result.stride
            node = replace(node, shape=tuple(shape))
        self._result(node, replace(result, late=late))

    def _delayed(self, node, name, by):
        """Adds a tensor delayed by ``by`` elements."""
        if not by:
            return name
        axis = self.timed[name].axis
        window = self._past(node, name, axis, by)
        new = self.tensors[name].shape
        delayed = self._made(f"{window}:delayed", name, axis, new[axis])
        self.nodes.append(
            Slice(
                name=delayed,
                inputs=[window],
                output=delayed,
                origin=node.origin,
                start=(0,) * len(new),
                stop=tuple(new),
                step=(1,) * len(new),
            )
        )
        return delayed

    def _result(self, node, timed):
        self.nodes.append(node)
        self.timed[node.output] = timed
        self._add(self.whole.tensors[node.output], timed)

    def _plain(self, node):
        """Adds a node that reads the whole interval, or tensors without a time axis."""
        inputs = []
        for name in node.inputs:
            timed = self.timed.get(name)
            if timed is None:
                inputs.append(name)
                continue
            new = self.frames // timed.stride
            if timed.length < new:
                raise InputError(
                    f"stream {self.name}: {node.name} reads a stretch of {timed.length}, a call "
                    f"brings {new}: expected a longer stretch"
                )
            window = self._past(node, name, timed.axis, timed.length - new)
            self.late[window] = timed.late * timed.stride
            inputs.append(window)
        self._check_late({name for name in inputs if name in self.late}, node.name)
        delays = [self.late[name] for name in inputs if name in self.late]
        self.nodes.append(replace(node, inputs=inputs))
        self.tensors[node.output] = self.whole.tensors[node.output]
        if delays:
            self.late[node.output] = delays[0]

    def _check_late(self, names, where):
        """Raises an error for results with different delays that are used together."""
        found = {self.late[name] for name in names if name in self.late}
        if len(found) > 1:
            raise InputError(
                f"stream {self.name}: {where} read results that lag by "
                f"{' and '.join(map(str, sorted(found)))} frames: expected one delay, as with "
                f"causal padding"
            )
