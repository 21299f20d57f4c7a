# SPDX-License-Identifier: BSD-2-Clause
"""Steps of random ONNX models: elementwise functions, movements of elements, reductions, choices
and quantisers."""

import numpy as np
from onnx import TensorProto

from tests.tools.compiler.random_models import LATER, Undo, is_map, step

#: Functions of one operand that are defined everywhere -> attributes and their choices, opset.
FUNCTIONS = {
    "Abs": ({}, 13),
    "Asinh": ({}, 13),
    "Atan": ({}, 13),
    "Ceil": ({}, 13),
    "Celu": ({"alpha": (1.0, 0.4)}, 13),
    "Cos": ({}, 13),
    "Dropout": ({}, 13),
    "Elu": ({"alpha": (1.0, 0.3)}, 13),
    "Erf": ({}, 13),
    "Floor": ({}, 13),
    "Gelu": ({"approximate": ("none", "tanh")}, 20),
    "HardSigmoid": ({"alpha": (0.2, 1.0), "beta": (0.5, 0.0)}, 13),
    "HardSwish": ({}, 14),
    "Hardmax": ({"axis": (-1,)}, 13),
    "Identity": ({}, 13),
    "LeakyRelu": ({"alpha": (0.01, 0.125, 0.5, 1.0, 0.0, -0.5, 2.0)}, 13),
    "Mish": ({}, 18),
    "Neg": ({}, 13),
    "Relu": ({}, 13),
    "Round": ({}, 13),
    "Selu": ({}, 13),
    "Shrink": ({"lambd": (0.5, 0.0), "bias": (0.0, 0.25)}, 13),
    "Sigmoid": ({}, 13),
    "Sign": ({}, 13),
    "Sin": ({}, 13),
    "Softplus": ({}, 13),
    "Softsign": ({}, 13),
    "Swish": ({"alpha": (1.0, 0.5)}, 24),
    "Tanh": ({}, 13),
    "ThresholdedRelu": ({"alpha": (1.0, 0.0)}, 13),
}
#: Functions with a domain of their own -> functions that come before them.
BOUNDED = {
    "Acos": ("Tanh",),
    "Acosh": ("Abs", "+1"),
    "Asin": ("Tanh",),
    "Atanh": ("Tanh", "*0.9"),
    "Cosh": ("Tanh",),
    "Exp": ("Tanh",),
    "Log": ("Abs", "+1"),
    "Reciprocal": ("Abs", "+1"),
    "Sinh": ("Tanh",),
    "Sqrt": ("Relu",),
    "Tan": ("Tanh",),
}


@step()
def _function(m, x):
    fitting = [name for name, (_, opset) in FUNCTIONS.items() if opset <= m.opset]
    name = m.chance.choice((*fitting, "Relu", "Relu", "LeakyRelu", "Tanh"))
    attributes = {key: m.one_of(*values, None) for key, values in FUNCTIONS[name][0].items()}
    return m.emit(name, [x], **attributes)


@step(opset=28)
def _gated(m, x):
    operands = [x, m.chance.choice(m.fitting(lambda shape: shape == m.shapes[x]))]
    m.chance.shuffle(operands)
    return m.emit("SwiGLU", operands, alpha=m.one_of(None, 0.5))


@step(often=1)
def _bounded(m, x):
    name = m.chance.choice(sorted(BOUNDED))
    for before in BOUNDED[name]:
        if before[0] in "+*":
            operator = {"+": "Add", "*": "Mul"}[before[0]]
            x = m.emit(operator, [x, m.constant(float(before[1:]))])
        else:
            x = m.emit(before, [x])
    return m.emit(name, [x])


@step()
def _clip(m, x):
    low, high = sorted(m.chance.choice((-3.0, -1.0, 0.0, 0.5, 1.0, 6.0, 100.0)) for _ in range(2))
    low, high = (m.constant(value) if m.maybe(0.8) else "" for value in (low, high))
    return m.emit("Clip", [x, low, high] if high else [x, low] if low else [x])


@step()
def _prelu(m, x):
    shape = m.shapes[x]
    sizes = m.one_of([], [shape[1] if len(shape) > 1 else 1, *[1] * (len(shape) - 2)], shape[1:])
    if m.maybe(0.2):
        return m.emit("PRelu", [x, m.emit("Sigmoid", [x])])
    return m.emit("PRelu", [x, m.constant(m.values(*sizes, spread=0.5))])


@step(often=1)
def _power(m, x):
    power = m.one_of(-1.0, 0.5, 1.0, 2.0, 3.0, 4.0, 1.5)
    if power in (-1.0, 0.5, 1.5):
        x = m.emit("Add", [m.emit("Abs", [x]), m.constant(1.0)])
    return m.emit("Pow", [x, m.constant(power)])


@step()
def _arithmetic(m, x):
    operator, other = m.one_of("Add", "Add", "Sub", "Mul", "Mul", "Div"), m.partner(x)
    if operator == "Div":
        if other in m.constants:
            data = m.constants[other]
            other = m.constant(np.where(data >= 0, 1, -1) * (0.5 + np.abs(data)))
        else:
            other = m.emit("Add", [m.emit("Abs", [other]), m.constant(0.5)])
    operands = [x, other] if m.maybe(0.7) else [other, x]
    return m.emit(operator, operands)


@step()
def _several(m, x):
    operands = [x, *(m.partner(x) for _ in range(m.one_of(0, 1, 1, 2)))]
    m.chance.shuffle(operands)
    return m.emit(m.one_of("Max", "Min", "Mean", "Sum"), operands)


@step(often=1)
def _compared(m, x):
    """Comparisons, and a choice by them."""
    other = m.partner(x, 0.4)
    operator = m.one_of("Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal")
    choice = m.emit(operator, [x, other])
    if m.maybe(0.2):
        choice = m.emit("Not", [choice])
    if m.maybe(0.2):
        choice = m.emit("And", [choice, m.emit("Less", [other, x])])
    if m.maybe(0.2):
        return m.emit("Cast", [choice], to=TensorProto.FLOAT)
    return m.emit("Where", [choice, x, m.partner(x)])


@step(often=1)
def _masked(m, x):
    """A choice by a constant condition."""
    shape = [n if m.maybe(0.7) else 1 for n in m.shapes[x]]
    mask = m.constant(m.numbers.random(shape) < m.one_of(0.0, 0.5, 0.5, 1.0))
    operands = [x, m.partner(x)]
    m.chance.shuffle(operands)
    return m.emit("Where", [mask, *operands])


@step(often=1)
def _cast(m, x):
    if m.opset >= 15 and m.maybe():
        return m.emit("CastLike", [x, m.constant(1.0)])
    return m.emit("Cast", [x], to=TensorProto.FLOAT)


# Movements


@step()
def _concat(m, x):
    shape, axis = m.shapes[x], m.axis(first=1)
    if not shape:
        raise Undo
    at = axis % len(shape)

    def accepts(other):
        return len(other) == len(shape) and all(
            a == b for place, (a, b) in enumerate(zip(shape, other, strict=True)) if place != at
        )

    operands = [x, *(m.chance.choice(m.fitting(accepts)) for _ in range(m.one_of(0, 1, 1, 2)))]
    if m.maybe(0.2):
        sizes = list(shape)
        sizes[at] = m.one_of(1, 2)
        operands.append(m.constant(m.values(*sizes)))
    m.chance.shuffle(operands)
    return m.emit("Concat", operands, axis=axis)


@step(lambda s: max(s[1:], default=1) > 1)
def _split(m, x):
    """Parts that go on together, or of which some end."""
    axis = m.chance.choice([at for at, n in enumerate(m.shapes[x]) if n > 1 and at])
    length = m.shapes[x][axis]
    first = m.chance.randrange(1, length)
    parts = m.emit("Split", [x, m.constant(np.array([first, length - first]))], 2, axis=axis)
    way = m.chance.random()
    if way < 0.3:
        return parts[m.one_of(0, 1)]
    if way < 0.6:
        parts[0] = m.emit(m.one_of("Relu", "Neg", "Sigmoid"), [parts[0]])
    if first * 2 == length and m.maybe(0.4):
        return m.emit(m.one_of("Add", "Mul", "Sub"), parts)
    return m.emit("Concat", parts[:: m.one_of(1, -1)], axis=axis)


@step(lambda s: max(s[1:], default=1) > 1)
def _slice(m, x):
    shape, axes = m.shapes[x], []
    starts, stops, steps = [], [], []
    for at in m.chance.sample(range(1, len(shape)), min(len(shape) - 1, m.one_of(1, 1, 2))):
        stride = m.one_of(1, 1, 2, 3, -1, -2)
        start = m.chance.randrange(shape[at])
        stop = m.chance.randint(start + 1, shape[at] + 2)
        if stride < 0:
            start, stop = shape[at] - 1, m.chance.randint(-shape[at] - 3, -2)
        for values, value in ((axes, at), (starts, start), (stops, stop), (steps, stride)):
            values.append(value)
    operands = [m.constant(np.array(values)) for values in (starts, stops, axes, steps)]
    return m.emit("Slice", [x, *operands])


@step(often=1)
def _gather(m, x):
    axis = m.axis(first=1)
    length = m.shapes[x][axis]
    places = [m.chance.randrange(-length, length) for _ in range(m.one_of(1, 2, 3, 5))]
    index = np.array(m.one_of(places, places, places[0]), np.int64)
    return m.emit("Gather", [x, m.constant(index)], axis=axis)


@step()
def _reshape(m, x):
    shape = list(m.shapes[x])
    rest = int(np.prod(shape[1:]))
    way = m.chance.randrange(5)
    if way == 0:
        return m.emit("Flatten", [x], axis=m.one_of(0, 1, 1, min(2, len(shape))))
    if way == 1 and len(shape) > 1:
        name = m.emit("Unsqueeze", [x, m.constant(np.array([m.one_of(1, -1)]))])
        if len(m.shapes[name]) > 4:
            raise Undo
        return name
    if way == 2 and 1 in shape[1:]:
        return m.emit("Squeeze", [x, m.constant(np.array([shape.index(1, 1)]))])
    if way == 3:
        # The numbers of the shape come from the tensor itself.
        sizes = m.emit("Shape", [x])
        m.types[sizes] = TensorProto.INT64
        first = m.emit("Gather", [sizes, m.constant(np.array([0]))])
        tail = m.emit("Div", [m.emit("Size", [x]), m.emit("Squeeze", [first])])
        tail = m.emit("Unsqueeze", [tail, m.constant(np.array([0]))])
        sizes = m.emit("Concat", [first, tail], axis=0)
        return m.emit("Reshape", [x, sizes], shape=(shape[0], rest))
    if not shape:
        raise Undo
    first = m.chance.choice([n for n in range(1, rest + 1) if rest % n == 0])
    second = m.chance.choice([n for n in range(1, rest // first + 1) if rest // first % n == 0])
    sizes = m.one_of(
        [shape[0], first, second, -1],
        [shape[0], first, -1],
        [0, -1],
        [shape[0], first, second, -1],
    )
    return m.emit("Reshape", [x, m.constant(np.array(sizes))])


@step(lambda s: len(s) > 2, often=1)
def _transpose(m, x):
    order = list(range(1, len(m.shapes[x])))
    m.chance.shuffle(order)
    return m.emit("Transpose", [x], perm=[0, *order])


@step(often=1)
def _expand(m, x):
    shape = m.shapes[x]
    if m.maybe():
        repeats = [1, *(m.one_of(1, 1, 2, 3) for _ in shape[1:])]
        return m.emit("Tile", [x, m.constant(np.array(repeats))])
    sizes = [n if n > 1 or not at else m.one_of(1, 2, 4) for at, n in enumerate(shape)]
    return m.emit("Expand", [x, m.constant(np.array(sizes))])


@step()
def _pad(m, x):
    modes = ("constant", "constant", "edge", "reflect", "wrap")
    shape, mode = m.shapes[x], m.chance.choice(modes)
    if mode == "wrap" and m.opset < 19:
        mode = "edge"
    before, after = ([0] * len(shape) for _ in range(2))
    for at in range(max(len(shape) - 2, 1), len(shape)):
        most = min(3, shape[at] - 1 if mode == "reflect" else shape[at])
        before[at], after[at] = m.chance.randint(0, most), m.chance.randint(0, most)
    operands = [x, m.constant(np.array([*before, *after]))]
    if mode == "constant" and m.maybe():
        operands.append(m.constant(m.one_of(0.0, 0.5, -4.0, 1e-6)))
    return m.emit("Pad", operands, mode=mode)


@step(lambda s: is_map(s) and s[1] % 4 == 0)
def _depth_to_space(m, x):
    return m.emit("DepthToSpace", [x], blocksize=2, mode=m.one_of("DCR", "CRD"))


@step(lambda s: is_map(s) and s[2] % 2 == s[3] % 2 == 0)
def _space_to_depth(m, x):
    return m.emit("SpaceToDepth", [x], blocksize=2)


# Reductions


@step(lambda s: len(s) > 1)
def _reduce(m, x):
    kinds = "Mean Mean Sum Max Max Min L1 L2 SumSquare Prod LogSum LogSumExp".split()
    kind = m.chance.choice(kinds)
    count = len(m.shapes[x])
    axes = sorted(m.chance.sample(range(1, count), m.chance.randint(1, count - 1)))
    if kind == "LogSum":
        x = m.emit("Add", [m.emit("Abs", [x]), m.constant(0.5)])
    keep = int(m.maybe(0.7))
    if m.opset >= 18 or kind == "Sum":
        return m.emit(f"Reduce{kind}", [x, m.constant(np.array(axes))], keepdims=keep)
    return m.emit(f"Reduce{kind}", [x], axes=axes, keepdims=keep)


@step(lambda s: len(s) > 1, often=2, seed=LATER)
def _einsum(m, x):
    """A sum over axes with an operand of its own: the tensor, or a constant, of any order of
    axes."""
    letters = "abcd"[: len(m.shapes[x])]
    other = m.chance.sample(letters, m.chance.randint(1, len(letters)))
    shape = [m.shapes[x][letters.index(letter)] for letter in other]
    free = m.maybe()
    if free:
        other, shape = [*other, "z"], [*shape, m.one_of(2, 3, 8)]
    # The first axis of the tensor stays where it is, as every step expects.
    most = [*letters[1:], *("z" * free)]
    kept = m.chance.sample(most, m.chance.randint(1, len(most)))
    equation = f"{letters},{''.join(other)}->a{''.join(kept)}"
    return m.emit("Einsum", [x, m.constant(m.values(*shape))], equation=equation)


@step(lambda s: len(s) > 1, often=1, seed=LATER)
def _running_sum(m, x):
    axis = m.constant(np.array(m.axis(first=1)))
    flags = {"exclusive": m.one_of(0, 1), "reverse": m.one_of(0, 1)}
    return m.emit("CumSum", [x, axis], **flags)


@step(is_map, often=1, seed=LATER)
def _local_response(m, x):
    attributes = {
        "size": m.one_of(1, 3, 5),
        "alpha": m.one_of(1e-4, 0.1),
        "bias": m.one_of(1.0, 2.0),
    }
    return m.emit("LRN", [x], **attributes)


@step(lambda s: len(s) > 1, often=1)
def _softmax(m, x):
    return m.emit(m.one_of("Softmax", "Softmax", "LogSoftmax"), [x], axis=m.axis(first=1))


@step(lambda s: len(s) > 1, often=1)
def _index(m, x):
    """The place of an extreme: as numbers, or as a table's rows."""
    axis = m.axis(first=1)
    place = m.emit(
        m.one_of("ArgMax", "ArgMin"),
        [x],
        axis=axis,
        keepdims=int(m.maybe(0.7)),
        select_last_index=m.one_of(0, 1),
    )
    way = m.chance.random()
    depth = m.shapes[x][axis]
    if way < 0.3 and len(m.shapes[place]) < 4:
        table = m.constant(m.values(depth, 3))
        return m.emit("Gather", [table, place], axis=0)
    if way < 0.5 and len(m.shapes[place]) < 4:
        ends = m.constant(np.float32([0, m.one_of(1, 3)]))
        return m.emit("OneHot", [place, m.constant(np.array(depth)), ends], axis=-1)
    return m.emit("Cast", [place], to=TensorProto.FLOAT)


@step(lambda s: len(s) > 1, often=1)
def _top(m, x):
    axis = m.axis(first=1)
    count = m.constant(np.array([m.chance.randint(1, m.shapes[x][axis])]))
    values, places = m.emit("TopK", [x, count], 2, axis=axis, largest=m.one_of(0, 1))
    if m.maybe(0.3):
        return m.emit("Cast", [places], to=TensorProto.FLOAT)
    return values


@step(lambda s: len(s) > 1, often=1)
def _lp(m, x):
    return m.emit("LpNormalization", [x], axis=m.axis(first=1), p=m.one_of(1, 2))


# Quantisers


def _scale(m):
    return m.constant(m.one_of(0.01, 0.03125, 0.1, 1.0, 1e-3))


@step()
def _quantised(m, x):
    """QuantizeLinear and DequantizeLinear, at times beside factors or terms."""
    x = _affine(m, x)
    zero = m.one_of(np.int8(0), np.int8(-128), np.uint8(128), np.uint8(0), np.int8(17))
    operands = [_scale(m), m.constant(zero)]
    x = m.emit("DequantizeLinear", [m.emit("QuantizeLinear", [x, *operands]), *operands])
    return _affine(m, x)


def _affine(m, x):
    """A factor or a term of each channel, or of all; or the tensor as it is."""
    if m.maybe():
        return x
    shape = m.shapes[x]
    sizes = (shape[1], 1, 1) if is_map(shape) else shape[-1:]
    other = m.constant(m.values(*m.one_of((), sizes), spread=m.one_of(1.0, 3.0)))
    operands = [x, other] if m.maybe(0.7) else [other, x]
    return m.emit(m.one_of("Add", "Sub", "Mul"), operands)


@step(often=1)
def _qonnx(m, x):
    m.plain = False
    shape, mode = m.shapes[x], m.one_of("ROUND", "FLOOR", "CEIL", "HALF_UP")
    way = m.chance.random()
    if way < 0.15:
        domain = "qonnx.custom_op.general"
        return m.emit("BipolarQuant", [x, _scale(m)], domain=domain, shape=shape)
    zero = m.constant(m.one_of(0.0, 0.0, 3.0))
    flags = {"signed": m.one_of(0, 1), "rounding_mode": mode}
    bits = m.constant(float(m.one_of(2, 3, 4, 8, 8, 8, 16)))
    if way < 0.35:
        domain = m.one_of("qonnx.custom_op.general", "onnx.brevitas")
        del flags["signed"]
        operands = [x, _scale(m), zero, m.constant(8.0), m.constant(float(m.one_of(4, 8)))]
        return m.emit("Trunc", operands, domain=domain, shape=shape, **flags)
    domain, name = m.one_of(
        ("qonnx.custom_op.general", "Quant"),
        ("qonnx.custom_op.general", "IntQuant"),
        ("onnx.brevitas", "Quant"),
    )
    flags["narrow"] = m.one_of(0, 1)
    return m.emit(name, [x, _scale(m), zero, bits], domain=domain, shape=shape, **flags)


# Of scikit-learn's converters


@step(lambda s: len(s) == 2, often=1)
def _learning(m, x):
    features, domain = m.shapes[x][1], "ai.onnx.ml"
    way = m.chance.randrange(4)
    if way == 0:
        offset, scale = ([float(v) for v in m.values(features)] for _ in range(2))
        return m.emit("Scaler", [x], domain=domain, shape=(m.shapes[x]), offset=offset, scale=scale)
    if way == 1:
        return m.emit("Normalizer", [x], domain=domain, shape=m.shapes[x], norm="L1")
    out = m.one_of(2, 3, 7)
    attributes = {
        "coefficients": [float(v) for v in m.values(out * features)],
        "intercepts": [float(v) for v in m.values(out)],
    }
    shape = (m.shapes[x][0], out)
    if way == 2:
        attributes["targets"] = out
        return m.emit("LinearRegressor", [x], domain=domain, shape=shape, **attributes)
    label, scores = m.emit(
        "LinearClassifier",
        [x],
        2,
        domain=domain,
        shape=[shape[:1], shape],
        classlabels_ints=list(range(out)),
        post_transform=m.one_of("NONE", "SOFTMAX", "LOGISTIC"),
        **attributes,
    )
    m.types[label] = TensorProto.INT64
    if m.maybe():
        return scores
    names = m.constant(np.arange(out))
    size = (1, m.shapes[x][0])
    label = m.emit("ArrayFeatureExtractor", [names, label], domain=domain, shape=size)
    m.types[label] = TensorProto.INT64
    return m.emit("Cast", [label], to=TensorProto.FLOAT)
