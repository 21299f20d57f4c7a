# SPDX-License-Identifier: BSD-2-Clause
"""Networks with random weights for the compiler's tests: the shapes of well-known small ones, and
random legal graphs."""

import numpy as np
from hypothesis import strategies as st

from quintet.tools.compiler import graph as g

__all__ = [
    "HOST_KINDS",
    "KINDS",
    "NETWORKS",
    "Builder",
    "autoencoder",
    "ds_cnn",
    "graphs",
    "inputs_of",
    "lstm_classifier",
    "mobilenet",
    "resnet8",
]


class Builder:
    """Graph under construction. Each method adds one node and returns the name of its result;
    weights are He-scaled.

    Attributes
    ----------
    graph : Graph; ``here`` : name of the newest tensor
    """

    def __init__(self, name, shape, seed=0):
        self.random = np.random.default_rng(seed)
        self.graph = g.Graph(name)
        self.here = self.input(shape)

    def input(self, shape, name=None):
        name = name or f"input_{len(self.graph.inputs)}"
        self.graph.tensors[name] = g.Tensor(name, tuple(shape))
        self.graph.inputs.append(g.Port(name, name, tuple(range(len(shape))), tuple(shape)))
        return name

    def finish(self, *outputs):
        for name in outputs or (self.here,):
            shape = self.graph.shape(name)
            self.graph.outputs.append(g.Port(name, name, tuple(range(len(shape))), shape))
        return self.graph

    def shape(self, name=None):
        return self.graph.shape(name or self.here)

    def constant(self, values):
        name = f"constant_{len(self.graph.tensors)}"
        values = np.asarray(values, np.float64)
        self.graph.tensors[name] = g.Tensor(name, values.shape, values)
        return name

    def add(self, kind, *inputs, **attributes):
        """A node of class ``kind`` on ``inputs``, or on the newest tensor."""
        inputs = list(inputs or [self.here])
        name = f"{kind.__name__.lower()}_{len(self.graph.nodes)}"
        node = kind(
            name=name, inputs=inputs, output=f"{name}:0", origin=kind.__name__, **attributes
        )
        shape = node.shape_of(*(self.graph.shape(i) for i in inputs))
        self.graph.nodes.append(node)
        self.graph.tensors[node.output] = g.Tensor(node.output, shape)
        self.here = node.output
        return node.output

    def normal(self, *shape, fan_in=None):
        """Random weights of ``shape``; ``fan_in``: summands of a sum of products."""
        return self.random.normal(0, np.sqrt(2 / fan_in) if fan_in else 0.1, shape)

    def act(self, function, source=None, **attributes):
        return self.add(g.Activation, source or self.here, function=function, **attributes)

    def conv(
        self,
        out,
        size,
        source=None,
        stride=(1, 1),
        padding="same",
        groups=1,
        dilation=(1, 1),
        bias=True,
        relu=False,
    ):
        source = source or self.here
        rows, columns, channels = self.shape(source)
        if padding == "same":
            padding = same_padding((rows, columns), size, stride, dilation)
        inner = channels // groups
        weights = self.normal(out, *size, inner, fan_in=size[0] * size[1] * inner)
        self.add(
            g.Conv,
            source,
            weights=weights,
            bias=self.normal(out) if bias else None,
            stride=stride,
            padding=padding,
            groups=groups,
            dilation=dilation,
        )
        return self.act("relu") if relu else self.here

    def dense(self, out, source=None, relu=False, bias=True, steps=False):
        source = source or self.here
        features = self.shape(source)[-1] if steps else int(np.prod(self.shape(source)))
        self.add(
            g.Dense,
            source,
            weights=self.normal(out, features, fan_in=features),
            bias=self.normal(out) if bias else None,
            steps=steps,
        )
        return self.act("relu") if relu else self.here

    def global_average(self, source=None):
        source = source or self.here
        return self.add(g.AveragePool, source, window=self.shape(source)[:2], stride=(1, 1))

    def lstm(self, hidden, source=None, last=False, reverse=False):
        features = self.shape(source)[1]
        return self.add(
            g.Lstm,
            source or self.here,
            weights=self.normal(4 * hidden, features, fan_in=2 * features),
            recurrent=self.normal(4 * hidden, hidden, fan_in=2 * hidden),
            bias=self.normal(4 * hidden),
            initial=self.normal(hidden),
            cell=self.normal(hidden),
            last=last,
            reverse=reverse,
        )

    def gru(self, hidden, source=None, last=False, reverse=False, linear_before_reset=False):
        features = self.shape(source)[1]
        return self.add(
            g.Gru,
            source or self.here,
            weights=self.normal(3 * hidden, features, fan_in=2 * features),
            recurrent=self.normal(3 * hidden, hidden, fan_in=2 * hidden),
            bias=self.normal(2, 3 * hidden),
            initial=self.normal(hidden),
            last=last,
            reverse=reverse,
            linear_before_reset=linear_before_reset,
        )


def same_padding(lengths, size, stride, dilation=(1, 1)):
    """Zeros (top, left, bottom, right) with which ceil(length / stride) windows fit; an odd one
    goes below and right."""
    total = [
        max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
        for n, k, s, d in zip(lengths, size, stride, dilation, strict=True)
    ]
    return (total[0] // 2, total[1] // 2, total[0] - total[0] // 2, total[1] - total[1] // 2)


def resnet8(seed=0, size=32, widths=(16, 32, 64), classes=10):
    """Residual network of three blocks on colour images, as CIFAR's."""
    b = Builder("resnet8", (size, size, 3), seed)
    b.conv(widths[0], (3, 3), relu=True)
    for index, width in enumerate(widths):
        start, stride = b.here, (2, 2) if index else (1, 1)
        b.conv(width, (3, 3), stride=stride, relu=True)
        main = b.conv(width, (3, 3))
        side = b.conv(width, (1, 1), start, stride=stride) if index else start
        b.add(g.Binary, main, side, function="add")
        b.act("relu")
    b.global_average()
    b.dense(classes)
    b.add(g.Softmax)
    return b.finish()


def ds_cnn(seed=0, shape=(49, 10), width=64, blocks=4, classes=12):
    """Depthwise separable convolutions on a spectrogram, as for words spoken."""
    b = Builder("ds_cnn", (*shape, 1), seed)
    b.conv(width, (min(10, shape[0]), min(4, shape[1])), stride=(2, 2), relu=True)
    for _ in range(blocks):
        b.conv(width, (3, 3), groups=width, relu=True)
        b.conv(width, (1, 1), relu=True)
    b.global_average()
    b.dense(classes)
    b.add(g.Softmax)
    return b.finish()


def mobilenet(seed=0, size=96, width=8, classes=2, strides=(1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1)):
    """MobileNet V1: 13 depthwise separable convolutions; ``width`` 8 is the factor 0.25."""
    b = Builder("mobilenet", (size, size, 3), seed)
    b.conv(width, (3, 3), stride=(2, 2), relu=True)
    channels = width
    for index, stride in enumerate(strides):
        b.conv(channels, (3, 3), stride=(stride, stride), groups=channels, relu=True)
        channels = channels * 2 if index == 0 or stride == 2 else channels
        b.conv(channels, (1, 1), relu=True)
    b.global_average()
    b.dense(classes)
    b.add(g.Softmax)
    return b.finish()


def autoencoder(seed=0, features=640, width=128, inner=8, depth=4):
    """Dense layers down to ``inner`` features and back."""
    b = Builder("autoencoder", (features,), seed)
    for out in [width] * depth + [inner] + [width] * depth:
        b.dense(out, relu=True)
    b.dense(features)
    return b.finish()


def lstm_classifier(seed=0, steps=16, features=10, hidden=32, classes=6):
    """One LSTM, its last state into a dense layer."""
    b = Builder("lstm_classifier", (steps, features), seed)
    b.lstm(hidden, last=True)
    b.dense(classes)
    b.add(g.Softmax)
    return b.finish()


#: Name -> (whole network, small variant of it).
NETWORKS = {
    "resnet8": (resnet8, lambda seed=0: resnet8(seed, size=8, widths=(4, 8, 8), classes=5)),
    "ds_cnn": (ds_cnn, lambda seed=0: ds_cnn(seed, shape=(13, 6), width=8, blocks=2, classes=4)),
    "mobilenet": (mobilenet, lambda seed=0: mobilenet(seed, size=16, width=4, strides=(1, 2, 1))),
    "autoencoder": (
        autoencoder,
        lambda seed=0: autoencoder(seed, features=24, width=16, inner=4, depth=2),
    ),
    "lstm_classifier": (
        lstm_classifier,
        lambda seed=0: lstm_classifier(seed, steps=5, features=4, hidden=6, classes=3),
    ),
}


def inputs_of(graph, count=2, seed=0):
    """Random values for every input of a network."""
    random = np.random.default_rng(seed)
    return {
        port.tensor: random.normal(0, 1, (count, *graph.shape(port.tensor)))
        for port in graph.inputs
    }


# Random graphs. Each step: does it fit the newest tensor's shape, and how it is drawn.


def _is_map(shape):
    return len(shape) == 3


def _conv(draw, b, groups_of):
    rows, columns, channels = b.shape()
    size = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    dilation = (draw(st.integers(1, 2)), draw(st.integers(1, 2)))
    padding = tuple(draw(st.integers(0, 2)) for _ in range(4))
    reach = [(k - 1) * d + 1 for k, d in zip(size, dilation, strict=True)]
    if reach[0] > rows + padding[0] + padding[2] or reach[1] > columns + padding[1] + padding[3]:
        size = dilation = (1, 1)
    groups = groups_of(channels)
    b.conv(
        groups * draw(st.integers(1, 3)),
        size,
        stride=(draw(st.integers(1, 2)), draw(st.integers(1, 2))),
        padding=padding,
        groups=groups,
        dilation=dilation,
        bias=draw(st.booleans()),
    )


def _pool(draw, b, kind, **attributes):
    window = tuple(draw(st.integers(1, min(3, length))) for length in b.shape()[:2])
    padding = tuple(draw(st.integers(0, k - 1)) for k in window * 2)
    b.add(
        kind,
        window=window,
        stride=(draw(st.integers(1, 2)), draw(st.integers(1, 2))),
        padding=padding,
        **attributes,
    )


def _binary(draw, b, function):
    shape = b.shape()
    equal = [
        name
        for name, tensor in b.graph.tensors.items()
        if tensor.shape == shape and tensor.data is None
    ]
    other = draw(st.sampled_from([*equal, None]))
    if function == "div" or other is None:
        values = b.normal(*(shape if draw(st.booleans()) else shape[-1:])) * 5
        other = b.constant(np.sign(values) * (1 + np.abs(values)))
    b.add(g.Binary, b.here, other, function=function)


def _concat(draw, b):
    axis = draw(st.integers(0, len(b.shape()) - 1))
    fit = [
        name
        for name, tensor in b.graph.tensors.items()
        if tensor.data is None
        and len(tensor.shape) == len(b.shape())
        and all(
            one == other
            for at, (one, other) in enumerate(zip(tensor.shape, b.shape(), strict=True))
            if at != axis
        )
    ]
    b.add(g.Concat, b.here, draw(st.sampled_from(fit)), axis=axis)


def _reshape(draw, b):
    size = int(np.prod(b.shape()))
    first = draw(st.sampled_from([n for n in range(1, size + 1) if size % n == 0]))
    b.add(g.Reshape, shape=(size,) if draw(st.booleans()) else (first, size // first))


def _pad(draw, b):
    before, after = (tuple(draw(st.integers(0, 1)) for _ in b.shape()) for _ in range(2))
    b.add(g.Pad, before=before, after=after, value=draw(st.sampled_from([0.0, 0.5])))


def _slice(draw, b):
    start = tuple(draw(st.integers(0, (n - 1) // 2)) for n in b.shape())
    b.add(
        g.Slice, start=start, stop=b.shape(), step=tuple(draw(st.integers(1, 2)) for _ in b.shape())
    )


def _matmul(draw, b):
    b.add(g.MatMul, b.here, b.add(g.Transpose, order=(1, 0)))


def _phases(draw, b):
    """A transposed convolution: maps of two phases by rows, each with its phases by columns in its
    channels, joined and seen as a larger map."""
    down, across = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    source, out = b.here, draw(st.integers(1, 3))
    rows, columns, _ = b.shape()
    size = tuple(draw(st.integers(1, min(2, length))) for length in (rows, columns))
    maps = [b.conv(across * out, size, source) for _ in range(down)]
    if down > 1:
        b.add(g.Concat, *maps, axis=1)
    b.add(g.Reshape, shape=(rows * down, columns * across, out))


def _shuffle(draw, b):
    rows, columns, channels = b.shape()
    b.add(g.Reshape, shape=(rows, columns, 2, channels // 2))
    b.add(g.Transpose, order=(0, 1, 3, 2))
    b.add(g.Reshape, shape=(rows, columns, channels))


def _split(draw, b):
    """A convolution whose channels go two ways and meet again."""
    rows, columns, channels = b.shape()
    whole = b.conv(2 * draw(st.integers(1, 3)), (1, 1))
    half = b.shape()[2] // 2
    parts = []
    for first in (0, half):
        parts.append(
            b.add(
                g.Slice,
                whole,
                start=(0, 0, first),
                stop=(rows, columns, first + half),
                step=(1, 1, 1),
            )
        )
    parts[1] = b.act("relu", parts[1])
    b.add(g.Concat, *parts[:: draw(st.sampled_from([1, -1]))], axis=2)


def _rows(draw, b):
    """Columns of a pooled map as steps of a sequence."""
    b.add(g.MaxPool, window=(1, 1), stride=(1, 1))
    rows, columns, channels = b.shape()
    b.add(g.Transpose, order=draw(st.sampled_from([(1, 2, 0), (1, 0, 2)])))
    b.add(g.Reshape, shape=(columns, rows * channels))


def _prelu(draw, b):
    """A leaky relu with a slope for each channel: a x + (1 - a) relu(x)."""
    x, slope = b.here, b.random.uniform(-0.5, 1, b.shape()[-1])
    bent = b.add(g.Binary, x, b.constant(slope), function="mul")
    rest = b.add(g.Binary, b.act("relu", x), b.constant(1 - slope), function="mul")
    b.add(g.Binary, bent, rest, function="add")


def _reversed(draw, b):
    shape, axis = b.shape(), draw(st.integers(0, len(b.shape()) - 1))
    start, stop, step = [0] * len(shape), list(shape), [1] * len(shape)
    start[axis], stop[axis], step[axis] = shape[axis] - 1, -shape[axis] - 1, -1
    b.add(g.Slice, start=tuple(start), stop=tuple(stop), step=tuple(step))


def _top(draw, b):
    axis = draw(st.integers(0, len(b.shape()) - 1))
    count = draw(st.integers(1, b.shape()[axis]))
    largest, indices = draw(st.booleans()), draw(st.booleans())
    b.add(g.TopK, axis=axis, count=count, largest=largest, indices=indices)


def _activation(function, **attributes):
    return (lambda shape: True, lambda draw, b: b.act(function, **attributes))


def _recurrent(draw, b, make, **flags):
    make(
        draw(st.integers(1, 4)),
        last=draw(st.booleans()),
        reverse=draw(st.booleans()),
        **{flag: draw(st.booleans()) for flag in flags},
    )


#: Name of a step -> (whether it fits a shape, adds it). A subset of the names goes to
#: :func:`graphs`.
KINDS = {
    "conv": (_is_map, lambda draw, b: _conv(draw, b, lambda channels: 1)),
    "depthwise": (
        lambda s: _is_map(s) and s[2] > 1,
        lambda draw, b: _conv(draw, b, lambda channels: channels),
    ),
    "grouped": (
        lambda s: _is_map(s) and s[2] % 2 == 0 and s[2] > 2,
        lambda draw, b: _conv(draw, b, lambda channels: 2),
    ),
    "dense": (
        lambda s: True,
        lambda draw, b: b.dense(draw(st.integers(1, 9)), bias=draw(st.booleans())),
    ),
    "dense_steps": (
        lambda s: len(s) == 2,
        lambda draw, b: b.dense(draw(st.integers(1, 5)), steps=True),
    ),
    "matmul": (lambda s: len(s) == 2, _matmul),
    **{
        name: (lambda s: True, lambda draw, b, name=name: _binary(draw, b, name))
        for name in ("add", "sub", "mul", "div")
    },
    "affine": (
        _is_map,
        lambda draw, b: b.add(
            g.Affine, scale=1 + b.normal(b.shape()[-1]), shift=b.normal(b.shape()[-1])
        ),
    ),
    "maxpool": (_is_map, lambda draw, b: _pool(draw, b, g.MaxPool)),
    "averagepool": (
        _is_map,
        lambda draw, b: _pool(draw, b, g.AveragePool, include_padding=draw(st.booleans())),
    ),
    "globalaverage": (_is_map, lambda draw, b: b.global_average()),
    "reduce": (
        lambda s: len(s) > 1,
        lambda draw, b: b.add(
            g.Reduce,
            function=draw(st.sampled_from(["mean", "sum", "max"])),
            axes=(draw(st.integers(0, len(b.shape()) - 1)),),
            keep=draw(st.booleans()),
        ),
    ),
    "softmax": (lambda s: True, lambda draw, b: b.add(g.Softmax, axis=-1, log=draw(st.booleans()))),
    "reshape": (lambda s: True, _reshape),
    "transpose": (
        lambda s: len(s) > 1,
        lambda draw, b: b.add(
            g.Transpose, order=tuple(draw(st.permutations(range(len(b.shape())))))
        ),
    ),
    "concat": (lambda s: True, _concat),
    "pad": (lambda s: True, _pad),
    "slice": (lambda s: True, _slice),
    "lstm": (lambda s: len(s) == 2, lambda draw, b: _recurrent(draw, b, b.lstm)),
    "gru": (
        lambda s: len(s) == 2,
        lambda draw, b: _recurrent(draw, b, b.gru, linear_before_reset=True),
    ),
    "layernorm": (
        lambda s: s[-1] > 1,
        lambda draw, b: b.add(
            g.LayerNorm, scale=1 + b.normal(b.shape()[-1]), shift=b.normal(b.shape()[-1])
        ),
    ),
    "relu": _activation("relu"),
    "leaky": _activation("leaky", alpha=0.1),
    "clip": _activation("clip", low=0.0, high=6.0),
    "sigmoid": _activation("sigmoid"),
    "tanh": _activation("tanh"),
    "hard_sigmoid": _activation("hard_sigmoid", alpha=0.2, beta=0.5),
    "hard_swish": _activation("hard_swish", alpha=1 / 6, beta=0.5),
    "neg": _activation("neg"),
    "abs": _activation("abs"),
    "phases": (_is_map, _phases),
    "split": (_is_map, _split),
    "rows": (_is_map, _rows),
    "prelu": (_is_map, _prelu),
}
#: Steps that go to the host or that the passes rewrite, as :data:`KINDS`. Many have jumps: the same
#: numbers on reference and target, but other ones in floats of another width.
HOST_KINDS = {
    "shuffle": (lambda s: _is_map(s) and s[2] % 2 == 0, _shuffle),
    "reversed": (lambda s: True, _reversed),
    "topk": (lambda s: True, _top),
    "index": (
        lambda s: True,
        lambda draw, b: b.add(
            g.Reduce,
            function=draw(st.sampled_from(sorted(g.INDEX_FUNCTIONS))),
            axes=(draw(st.integers(0, len(b.shape()) - 1)),),
            keep=True,
        ),
    ),
    "product": (
        lambda s: True,
        lambda draw, b: b.add(
            g.Reduce,
            function="prod",
            axes=(draw(st.integers(0, len(b.shape()) - 1)),),
            keep=True,
        ),
    ),
    "host": (
        lambda s: True,
        lambda draw, b: b.act(draw(st.sampled_from("step sign floor ceil round sin cos".split()))),
    ),
}


@st.composite
def graphs(draw, kinds=tuple(KINDS), shapes=None, most=6, elements=600):
    """Random small network: a chain of at most ``most`` steps out of ``kinds``, with side branches
    where a step takes an earlier tensor.

    Parameters
    ----------
    kinds : names out of KINDS and HOST_KINDS
    shapes : strategy of the input's shape; ``None``: a map of at most 7 x 7 x 6,
        a vector or a sequence
    elements : tensors that are larger are not drawn
    """
    if shapes is None:
        few = st.integers(1, 7)
        shapes = st.one_of(
            st.tuples(few, few, st.integers(1, 6)), st.tuples(few), st.tuples(few, few)
        )
    steps = {**KINDS, **HOST_KINDS}
    b = Builder("random", draw(shapes), draw(st.integers(0, 2**32 - 1)))
    for _ in range(draw(st.integers(1, most))):
        fitting = [kind for kind in kinds if steps[kind][0](b.shape())]
        if not fitting or np.prod(b.shape()) > elements:
            break
        steps[draw(st.sampled_from(fitting))][1](draw, b)
    if not b.graph.nodes:
        b.act("relu")
    flowing = [node.output for node in b.graph.nodes[:-1]]
    return b.finish(
        *([draw(st.sampled_from(flowing))] if flowing and draw(st.booleans()) else []), b.here
    )
