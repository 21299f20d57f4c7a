# SPDX-License-Identifier: BSD-2-Clause
"""Builder of kernel operations: creates values and appends the operations that compute them;
elementwise functions are instruction chains on tiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from math import ceil, isqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...graph import Conv, Graph, Node
from .arithmetic import from_bf16, to_element
from .kernel_graph import Chain, KernelGraph, Operation, Ref, Value, Window, three

if TYPE_CHECKING:
    from ...graph import Activation

__all__ = ["Constants", "Operations", "affine", "function", "streamed"]


class Constants:
    """One-element constants, deduplicated."""

    def __init__(self):
        self._found = {}

    def __call__(self, number):
        """Reference to the one-element constant nearest to ``number``."""
        element = to_element(number).item()
        key = (element, math.copysign(1, element))
        if key not in self._found:
            self._found[key] = Value((1, 1, 1), data=np.full((1, 1, 1), element))
        return Ref.of(self._found[key])


def function(
    node: Activation, x: Ref, constant: Callable[[float], Ref]
) -> list[str | tuple[str, Ref]]:
    """The instruction chain that applies the function of an Activation ``node`` to Ref ``x``."""

    def take(register):
        return register, x

    name = node.function
    if name == "relu":
        return [take("INPUT"), "relu"]
    if name in ("leaky", "abs"):
        return _leaky(take, -1.0 if name == "abs" else node.alpha, constant)
    if name == "clip":
        return _clip(take, node.low, node.high, constant)
    if name in ("hard_sigmoid", "hard_swish"):
        parts = [
            *affine(take, constant(node.alpha), constant(node.beta)),
            *_clip(_again, 0.0, 1.0, constant),
        ]
        return parts + ["copy INPUT, OUTPUT", take("WEIGHTS"), "mul"] * (name == "hard_swish")
    return {
        "sigmoid": lambda: [
            "zero INPUT",
            take("WEIGHTS"),
            "sub",
            *_one_over_one_plus_exp(constant, 1.0),
        ],
        # 1 - 2 / (1 + exp(2x)): right for every x, however large.
        "tanh": lambda: [
            take("INPUT"),
            ("WEIGHTS", constant(2.0)),
            "mul",
            *_one_over_one_plus_exp(constant, 2.0),
            "copy WEIGHTS, OUTPUT",
            ("INPUT", constant(1.0)),
            "sub",
        ],
        "exp": lambda: [take("INPUT"), "exp"],
        "log": lambda: [
            take("INPUT"),
            "log",
            "copy INPUT, OUTPUT",
            ("WEIGHTS", constant(math.log(2))),
            "mul",
        ],
        "sqrt": lambda: [take("INPUT"), ("WEIGHTS", constant(0.5)), "pow"],
        "neg": lambda: [take("INPUT"), ("WEIGHTS", constant(-1.0)), "mul"],
    }[name]()


def _again(register):
    """Instruction that copies the running result of the chain so far into ``register``."""
    return f"copy {register}, OUTPUT"


def affine(
    take: Callable[[str], str | tuple[str, Ref]], scale: Ref, shift: Ref
) -> list[str | tuple[str, Ref]]:
    """The instruction chain of ``scale`` * x + ``shift``, rounded once; both factors are Refs."""
    return [("ACC", shift), take("INPUT"), ("WEIGHTS", scale), "mulacc", "copy OUTPUT, ACC"]


def _one_over_one_plus_exp(constant, numerator):
    """The instruction chain of a logistic quotient, ``numerator`` / (1 + exp(OUTPUT))."""
    return [
        "copy INPUT, OUTPUT",
        "exp",
        "copy INPUT, OUTPUT",
        ("WEIGHTS", constant(1.0)),
        "add",
        "copy WEIGHTS, OUTPUT",
        ("INPUT", constant(numerator)),
        "div",
    ]


def _leaky(take, alpha, constant):
    """The instruction chain of a leaky ReLU, relu(x) - alpha * relu(-x): every x is kept or
    multiplied by alpha, and rounded once."""
    return [
        take("INPUT"),
        ("WEIGHTS", constant(-1.0)),
        "mul",
        "copy INPUT, OUTPUT",
        "relu",
        "copy WEIGHTS, OUTPUT",
        take("INPUT"),
        "relu",
        "copy ACC, OUTPUT",
        ("INPUT", constant(-alpha)),
        "mulacc",
        "copy OUTPUT, ACC",
    ]


def _clip(take, low, high, constant):
    """The instruction chain of a clip: bounds are selected by gtz, so that values between them stay
    exact."""
    parts = []
    if low == 0:
        parts, take = [take("INPUT"), "relu"], _again
    elif low > -np.inf:
        parts = [
            take("INPUT"),
            ("WEIGHTS", constant(low)),
            "sub",
            "copy INPUT, OUTPUT",
            "gtz",
            take("WEIGHTS"),
            *_chosen(low, constant),
        ]
        take = _again
    if high < np.inf:
        parts += [
            take("WEIGHTS"),
            ("INPUT", constant(high)),
            "sub",
            "copy INPUT, OUTPUT",
            "gtz",
            *_chosen(high, constant),
        ]
    return parts or [take("OUTPUT")]


def _chosen(bound, constant):
    """The instruction chain of a selection: WEIGHTS where OUTPUT is 1, ``bound`` where it is 0."""
    return [
        "copy INPUT, OUTPUT",
        "mul",
        "copy ACC, OUTPUT",
        "copy WEIGHTS, INPUT",
        ("INPUT", constant(1.0)),
        "sub",
        "copy INPUT, OUTPUT",
        ("WEIGHTS", constant(bound)),
        "mulacc",
        "copy OUTPUT, ACC",
    ]


#: Results that a weight must serve for its products to take as long as bringing it as packed
#: element.
_BUSY = 40
#: Additions to one accumulator, of four elements each, beyond which a window is summed in a tree:
#: each rounds to the ten bits of an element.
_ADDITIONS = 64


def streamed(weights: np.ndarray, results: int, params: Mapping[str, Any]) -> bool:
    """Whether weights are stored as bfloat16: they are if each is used for so few results that
    loading dominates."""
    return results * 32 // params["macs"] < _BUSY and weights.size >= 4096


class _Line(NamedTuple):
    """Window sums along one axis: ``length`` elements, ``stride`` apart, with ``padding`` (top,
    left, bottom, right) around the map."""

    axis: int
    length: int
    stride: int = 1
    padding: tuple = (0, 0, 0, 0)

    @property
    def works(self):
        """Whether the sum changes anything, in other words has more than one element, a stride or
        padding."""
        return self.length > 1 or self.stride > 1 or any(self.padding)


class Operations:
    """Builds the operations of a graph's nodes, one after another.

    Attributes
    ----------
    kernel_graph : KernelGraph; ``node``: name of the current node
    """

    def __init__(self, graph: Graph, params: Mapping[str, Any]):
        self.graph, self.params = graph, params
        self.kernel_graph = KernelGraph()
        self.constant = Constants()
        self.node = ""
        self._rounded: dict[Any, tuple[np.ndarray, np.ndarray]] = {}
        for port in graph.inputs:
            shape = three(graph.shape(port.tensor))
            value = Value(shape, port.tensor, tight=self._tight(port.tensor))
            self.kernel_graph.inputs[port.tensor] = value
            self.kernel_graph.values[port.tensor] = Ref.of(value)
        for port in graph.outputs:
            self.kernel_graph.outputs[port.tensor] = None

    def _tight(self, tensor):
        """Whether every reader of a tensor sums over whole rows of a window, which then need no
        tile for each tap."""
        readers = self.graph.readers(tensor)
        shape = self.graph.shape(tensor)
        return (
            len(shape) == 3
            and shape[2] < 4
            and tensor not in self.graph.kept()
            and bool(readers)
            and all(
                isinstance(node, Conv) and node.groups == 1 and node.dilation[1] == 1
                for node in readers
            )
        )

    # Operands and results of nodes

    def ref(self, tensor: str) -> Ref:
        """Reference to a tensor of the graph, with three axes."""
        data = self.graph.tensors[tensor].data
        if data is not None:
            return self.held(data)
        return self.kernel_graph.values[tensor]

    @staticmethod
    def held(data: np.ndarray) -> Ref:
        """Reference to a constant array."""
        data = to_element(np.asarray(data, np.float64))
        return Ref.of(Value(three(data.shape), data=data.reshape(three(data.shape))))

    def fresh(self, shape: Sequence[int], name: str | None = None) -> Ref:
        """Creates a value; ``name`` is the graph tensor that it represents."""
        return Ref.of(Value(three(shape), name))

    def result(self, node: Node) -> Ref:
        """Creates the value of the current node's output."""
        found = self.fresh(self.graph.shape(node.output), node.output)
        self.kernel_graph.values[node.output] = found
        return found

    def add(self, kind: type[Operation], **fields: Any) -> None:
        """Appends an operation for the current node."""
        self.kernel_graph.operations.append(kind(node=self.node, **fields))

    def chain(self, out: Ref, parts: Sequence[str | tuple[str, Ref]]) -> Ref:
        """Appends an elementwise chain and returns ``out``."""
        self.add(Chain, out=out, parts=parts)
        return out

    def binary(self, name: str, x: Ref, y: Ref, out: Ref) -> Ref:
        """Appends an elementwise operation of two operands and returns ``out``."""
        return self.chain(out, [("INPUT", x), ("WEIGHTS", y), name])

    def copy(self, source: Ref, out: Ref) -> Ref:
        """Appends a copy and returns ``out``."""
        return self.chain(out, [("OUTPUT", source)])

    def activated(self, node: Node, make: Callable[[Ref], object]) -> None:
        """Calls ``make(out)``, then appends the node's fused activation, if it has one."""
        out = self.result(node)
        activation = getattr(node, "activation", None)
        if activation is None:
            make(out)
            return
        between = self.fresh(out.shape)
        make(between)
        self.chain(out, function(activation, between, self.constant))

    def plain(self, ref: Ref, border: Sequence[int] = (0, 0, 0, 0), around: float = 0.0) -> Value:
        """Returns ``ref`` as a whole value in its own axis order, with a border around it; a view
        is copied."""
        value = ref.value
        whole = (
            ref.axes == (0, 1, 2)
            and ref.start == (0, 0, 0)
            and ref.step == (1, 1, 1)
            and ref.shape == value.shape
            and value.data is None
        )
        wanted = any(border)
        if (
            not whole
            or (wanted and any(value.border) and value.around != around)
            or (wanted and around and len(self._readers(value)) > 1)
        ):
            value = self.copy(ref, self.fresh(ref.shape)).value
        if wanted:
            value.border = [max(old, new) for old, new in zip(value.border, border, strict=True)]
            value.around = around
        return value

    def _readers(self, value):
        return self.graph.readers(value.name) if value.name is not None else []

    def reduced(
        self,
        name: str,
        source: Ref,
        axes: Sequence[int],
        parts: Sequence[str | tuple[str, Ref]] = (),
        out: Ref | None = None,
    ) -> Ref:
        """Appends a sum or maximum over ``axes`` (of three), which keep length one; ``parts`` are
        instructions that post-process ACC. Long sums are made axis by axis."""
        begin = self.constant(-np.inf if name == "max" else 0.0)
        axes = sorted(axes, reverse=True)
        lengths = [source.shape[axis] for axis in axes]
        if name == "sum" and ceil(lengths[0] / 4) * np.prod(lengths[1:]) > _ADDITIONS:
            kept = tuple(1 if axis in axes else n for axis, n in enumerate(source.shape))
            lines = [_Line(axis, source.shape[axis]) for axis in axes if source.shape[axis] > 1]
            return self._by_lines(
                source, lines, self.fresh(kept) if out is None else out, list(parts)
            )
        value = self.plain(source)
        while len(axes) > 2:
            shape = tuple(1 if axis == axes[0] else n for axis, n in enumerate(value.shape))
            value = self._windowed(
                name, value, (axes[0], axes[0]), self.fresh(shape), begin, []
            ).value
            axes = axes[1:]
        shape = tuple(1 if axis in axes else n for axis, n in enumerate(value.shape))
        return self._windowed(
            name,
            value,
            (axes[0], axes[-1]),
            self.fresh(shape) if out is None else out,
            begin,
            list(parts),
        )

    def window_sum(
        self,
        source: Ref,
        window: tuple[int, int],
        stride: tuple[int, int],
        padding: tuple[int, int, int, int],
        out: Ref,
        parts: Sequence[str | tuple[str, Ref]],
    ) -> None:
        """Appends sums of a map's windows with zero padding; ``parts`` are instructions that
        post-process ACC. Large windows are summed by rows first."""
        if window[0] * ceil(window[1] / 4) <= _ADDITIONS:
            value = self.plain(source, padding)
            outer, inner = (0, window[0], 1), (1, window[1], 1)
            self._sums(value, out, (*stride, 1), (*padding[:2], 0), outer, inner, parts)
            return
        top, left, bottom, right = padding
        across = _Line(1, window[1], stride[1], (0, left, 0, right))
        down = _Line(0, window[0], stride[0], (top, 0, bottom, 0))
        self._by_lines(source, [line for line in (across, down) if line.works], out, parts)

    def _by_lines(self, source, lines, out, parts):
        """Appends window sums to ``out``, one axis after the other; ``parts`` post-process ACC of
        the last."""
        for line in lines:
            shape = list(source.shape)
            shape[line.axis] = out.shape[line.axis]
            last = line is lines[-1]
            made = out if last else self.fresh(shape)
            source = self._line_sums(source, line, made, parts if last else [])
        return source

    def _line_sums(self, source, line, out, parts):
        """Appends sums along one axis to ``out``; a long axis is summed in blocks first."""
        if out.shape[line.axis] == 1 and not any(line.padding):
            # The divisor next to the root: as few additions as may be to any accumulator.
            part = next(n for n in range(isqrt(line.length), 0, -1) if line.length % n == 0)
            if part > 1 and ceil(line.length / 4) > _ADDITIONS:
                shape, count = list(source.shape), line.length // part
                shape[line.axis] = count
                parted = _Line(line.axis, part, part)
                source = self._line_sums(source, parted, self.fresh(shape), [])
                line = _Line(line.axis, count)
        step = [1, 1, 1]
        step[line.axis] = line.stride
        self._sums(
            self.plain(source, line.padding),
            out,
            tuple(step),
            (*line.padding[:2], 0),
            (line.axis, 1, 1),
            (line.axis, line.length, 1),
            parts,
        )
        return out

    def _sums(self, value, out, step, padding, outer, inner, parts):
        self.add(
            Window,
            out=out,
            function="sum",
            source=value,
            axes=(0, 1, 2),
            step=step,
            padding=padding,
            outer=outer,
            inner=inner,
            start=self.constant(0.0),
            parts=parts,
        )

    def _windowed(self, name, value, axes, out, begin, parts):
        inner, outer = axes
        self.add(
            Window,
            out=out,
            function=name,
            source=value,
            axes=(0, 1, 2),
            step=(1, 1, 1),
            start=begin,
            parts=parts,
            outer=(outer, value.shape[outer] if outer != inner else 1, 1),
            inner=(inner, value.shape[inner], 1),
        )
        return out

    def rounded(self, weights: np.ndarray, results: int) -> np.ndarray:
        """Weights rounded to elements, or to bfloat16 if they are streamed."""
        return (
            from_bf16(weights) if streamed(weights, results, self.params) else to_element(weights)
        )

    def bias(self, bias: np.ndarray | None, channels: int) -> Ref:
        """Reference to a bias, zero if there is none."""
        return (
            self.constant(0.0)
            if bias is None
            else self.held(np.asarray(bias).reshape(1, 1, channels) + 0.0)
        )
