# SPDX-License-Identifier: BSD-2-Clause
"""Random ONNX models: a model under construction, with weights and biases that compilers leave out,
merge or saturate. Its steps are in ``random_steps.py`` and ``random_layers.py``."""

import random

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["LATER", "STEPS", "Maker", "is_map", "is_sequence", "step"]

#: Elements of a tensor, at most; a step that makes a larger one is taken back.
MOST_ELEMENTS = 800
SIDES = (1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11)
CHANNELS = (1, 1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 17, 33)
#: Opsets to draw from: axes of reductions are attributes up to 17; Attention comes with 23, SwiGLU
#: with 28, for which onnxruntime has no kernels.
OPSETS = (13, 17, 21, 24, 24, 24, 28)
#: Domains of operators that are not ONNX's own, and their versions.
DOMAINS = {"ai.onnx.ml": 3, "qonnx.custom_op.general": 1, "onnx.brevitas": 1}
#: Name of a step -> (least opset, whether it fits a shape, function of a :class:`Maker` and the
#: name of its newest tensor that adds nodes and returns the name of the result, how often it is
#: drawn, least seed).
STEPS = {}
#: Seeds from here on draw the steps that were added after seeds had been pinned in tests, too.
LATER = 30_000_000


def step(fits=lambda shape: True, opset=13, often=3, seed=0):
    """Registers a step by the name of its function. Steps that hosts do are drawn less often."""

    def register(function):
        STEPS[function.__name__.lstrip("_")] = (opset, fits, function, often, seed)
        return function

    return register


def is_map(shape):
    return len(shape) == 4 and shape[0] == 1


def is_sequence(shape):
    return len(shape) == 3 and shape[0] == 1


class Undo(Exception):
    """A step does not fit after all."""


class Maker:
    """ONNX model under construction, from the random numbers of a seed.

    Attributes
    ----------
    chance, numbers : random number generators
    nodes, constants, shapes : of the model; ``shapes`` has its tensors that flow
    here : name of the newest tensor
    used : names of the steps
    """

    def __init__(self, seed):
        self.seed = seed
        self.chance = random.Random(f"model {seed}")
        self.numbers = np.random.default_rng(seed)
        self.nodes, self.constants, self.shapes = [], {}, {}
        self.inputs, self.kept, self.used, self.plain = [], [], [], True
        self.opset = self.chance.choice(OPSETS)
        self.types = {}
        self.count = 0
        self.shared = {}
        shape = self._first_shape()
        while np.prod(shape) > MOST_ELEMENTS:
            shape = self._first_shape()
        self.here = self.input(shape)

    # Names, nodes and constants

    def name(self, text):
        self.count += 1
        return f"{text}_{self.count}"

    def input(self, shape):
        name = f"x{len(self.inputs)}"
        self.inputs.append(name)
        self.shapes[name] = tuple(shape)
        return name

    def _first_shape(self):
        side, channels = self.chance.choice(SIDES), self.chance.choice(CHANNELS)
        kind = self.chance.random()
        if kind < 0.5:
            return 1, min(channels, 17), side, self.chance.choice(SIDES)
        if kind < 0.75:
            return 1, side, channels
        if kind < 0.9:
            return 1, self.chance.choice((1, 2, 5, 8, 16, 17, 33, 64, 65))
        return self.chance.choice((2, 3)), channels

    @property
    def shape(self):
        return self.shapes[self.here]

    def constant(self, values, text="c"):
        """A constant: floats, or integers as they are."""
        values = np.asarray(values)
        if values.dtype.kind == "f":
            values = values.astype(np.float32)
        name = self.name(text)
        self.constants[name] = values
        return name

    def emit(self, operator, inputs, count=1, domain="", shape=None, **attributes):
        """Adds a node and returns the name of its result, or the names of its ``count`` results;
        ``shape``: of the result, for operators without shape inference."""
        attributes = {key: value for key, value in attributes.items() if value is not None}
        outputs = [self.name(operator.lower()) for _ in range(count)]
        name = self.name("n")
        node = helper.make_node(operator, inputs, outputs, name, domain=domain, **attributes)
        if shape is None:
            found = self._inferred(node)
        else:
            found = shape if count > 1 else [shape]
        self.nodes.append(node)
        for output, one in zip(outputs, found, strict=True):
            if one is None or 0 in one or np.prod(one) > MOST_ELEMENTS:
                raise Undo
            self.shapes[output] = tuple(one)
        return outputs[0] if count == 1 else outputs

    def opsets(self):
        domains = {node.domain for node in self.nodes} & DOMAINS.keys()
        return [
            helper.make_opsetid("", self.opset),
            *(helper.make_opsetid(name, DOMAINS[name]) for name in sorted(domains)),
        ]

    def _inferred(self, node):
        def info(name):
            kind = self.types.get(name, TensorProto.FLOAT)
            return helper.make_tensor_value_info(name, kind, self.shapes[name])

        names = dict.fromkeys(name for name in node.input if name)
        graph = helper.make_graph(
            [node],
            "one",
            [info(name) for name in names if name in self.shapes],
            [onnx.ValueInfoProto(name=name) for name in node.output],
            [
                numpy_helper.from_array(self.constants[name], name)
                for name in names
                if name in self.constants
            ],
        )
        opsets = [helper.make_opsetid("", self.opset)]
        if node.domain:
            opsets.append(helper.make_opsetid(node.domain, DOMAINS[node.domain]))
        model = helper.make_model(graph, opset_imports=opsets)
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        found = []
        for output in model.graph.output:
            kind = output.type.tensor_type
            self.types[output.name] = kind.elem_type or TensorProto.FLOAT
            sizes = [dim.dim_value for dim in kind.shape.dim]
            found.append(sizes if kind.HasField("shape") else None)
        return found

    # Draws

    def one_of(self, *values):
        return self.chance.choice(values)

    def maybe(self, share=0.5):
        return self.chance.random() < share

    def axis(self, shape=None, first=0):
        """Any axis of a shape from ``first`` on, sometimes counted from the end."""
        count = len(self.shape if shape is None else shape)
        at = self.chance.randrange(min(first, count - 1), count)
        return at - count if self.maybe(0.3) else at

    def values(self, *shape, spread=1.0):
        """Real numbers: random, or of one of the kinds that compilers treat by themselves."""
        kind = self.chance.random()
        if kind < 0.6:
            return self.numbers.normal(0, spread, shape)
        if kind < 0.7:
            return np.full(shape, self.one_of(0.0, 1.0, -1.0, spread))
        if kind < 0.8:
            return self.numbers.choice([-1.0, 0.0, 1.0], shape) * spread
        if kind < 0.9:
            return self.numbers.normal(0, spread, shape) * 10 ** self.numbers.uniform(-4, 3, shape)
        return np.zeros(shape)

    def weights(self, *shape, fan_in, out=0, inner=1):
        """Name of weights of ``shape`` for sums of ``fan_in`` products; ``out``, ``inner``: their
        axes of channels. Weights of the same shape are shared at times."""
        if shape in self.shared and self.maybe(0.15):
            return self.shared[shape]
        data = self.numbers.normal(0, np.sqrt(2 / max(fan_in, 1)), shape)
        for _ in range(self.one_of(0, 0, 1, 1, 2)):
            data = self._odd(data, out, inner)
        self.shared[shape] = self.constant(data, "w")
        return self.shared[shape]

    def _odd(self, data, out, inner):
        """Weights with zeros, equal channels, or scales that are far apart."""
        axes = list(range(data.ndim))
        kinds = ("taps", "in", "out", "each", "few", "all", "same", "rows", "scales", "signs")
        kind = self.chance.choice((*kinds, "scales", "taps", "out"))
        kept = {"taps": [at for at in axes if at not in (out, inner)], "in": [inner]}
        kept |= {"out": [out], "each": axes, "few": axes, "scales": [out]}
        mask = [data.shape[at] if at in kept.get(kind, ()) else 1 for at in axes]
        if kind == "scales":
            return data * 10 ** self.numbers.uniform(-5, 3, mask)
        if kind == "all":
            return data * (0 if self.maybe() else 1)
        if kind == "same":
            return np.full(data.shape, self.one_of(1.0, -1.0, 0.1, 1e-3))
        if kind == "rows":
            return np.repeat(data.take([0], out), data.shape[out], out)
        if kind == "signs":
            return np.sign(data)
        return data * (self.numbers.random(mask) < (0.1 if kind == "few" else 0.5))

    def bias(self, out):
        """Name of a bias, or an empty name: small, large, of some channels, or next to where sums
        saturate."""
        kind = self.chance.random()
        if kind < 0.25:
            return ""
        data = self.numbers.normal(0, 0.3, out)
        if kind < 0.4:
            data = data * 10 ** self.numbers.uniform(-4, 3, out)
        elif kind < 0.5:
            data = data * 0
        elif kind < 0.6:
            data = data * self.numbers.integers(0, 2, out)
        elif kind < 0.7:
            data = np.sign(data) * self.one_of(1e-6, 10.0, 300.0)
        return self.constant(data, "b")

    def fitting(self, accepts):
        """Earlier tensors that flow and whose shapes are accepted."""
        return [
            name
            for name, shape in self.shapes.items()
            if accepts(shape) and self.types.get(name, TensorProto.FLOAT) == TensorProto.FLOAT
        ]

    def partner(self, x, share=0.6):
        """A second operand for ``x``: an earlier tensor, itself, or a constant."""
        shape = self.shapes[x]

        def accepts(other):
            try:
                return np.broadcast_shapes(shape, other) == shape and len(other) == len(shape)
            except ValueError:
                return False

        if self.maybe(share):
            return self.chance.choice(self.fitting(accepts))
        sizes = [n if self.maybe() else 1 for n in shape]
        sizes = self.one_of(sizes, list(shape), [], [1] * len(shape))
        return self.constant(self.values(*sizes, spread=self.one_of(1.0, 1.0, 20.0)))

    # Whole models

    def run(self, most):
        """Adds at most ``most`` steps. The first ones of a seed are always the same."""
        for _ in range(most):
            fitting = {
                name: often
                for name, (opset, fits, _, often, least) in STEPS.items()
                if opset <= self.opset and least <= self.seed and fits(self.shape)
            }
            self.add(self.chance.choices([*fitting], [*fitting.values()])[0])

    def add(self, name):
        """Adds one step; returns whether it could."""
        before = len(self.nodes), dict(self.shapes), dict(self.constants), list(self.inputs)
        try:
            here = STEPS[name][2](self, self.here)
        except (Undo, onnx.shape_inference.InferenceError) as error:
            nodes, self.shapes, self.constants, self.inputs = before
            del self.nodes[nodes:]
            self.shared = {k: v for k, v in self.shared.items() if v in self.constants}
            self.failed = error
            return False
        self.used.append(name)
        self.here = here
        return True

    def finish(self):
        """The model, with some of its inner tensors, inputs or constants as outputs as well."""
        if not self.nodes or self.here in self.inputs:
            self.here = self.emit("Relu", [self.here])
        outputs = [self.here]
        made = [name for node in self.nodes for name in node.output if name != self.here]
        made = [name for name in made if self.types.get(name, 1) == TensorProto.FLOAT]
        if made and self.maybe(0.35):
            outputs.append(self.chance.choice(made))
        if self.maybe(0.04):
            outputs.append(self.emit("Identity", [self.inputs[0]]))
        if self.maybe(0.03):
            outputs.append(self.emit("Identity", [self.constant(self.values(2, 3))], shape=(2, 3)))
        if self.maybe(0.1):
            outputs.reverse()

        def info(name):
            kind = self.types.get(name, TensorProto.FLOAT)
            return helper.make_tensor_value_info(name, kind, self.shapes[name])

        graph = helper.make_graph(
            self.nodes,
            "random",
            [info(name) for name in self.inputs],
            [info(name) for name in outputs],
            [numpy_helper.from_array(data, name) for name, data in self.constants.items()],
        )
        version = 8 if self.opset < 21 else 10
        return helper.make_model(graph, opset_imports=self.opsets(), ir_version=version)
