# SPDX-License-Identifier: BSD-2-Clause
"""Layers of random ONNX models: with weights, windows, normalisations, states and heads."""

import numpy as np

from tests.tools.compiler.random_models import is_map, is_sequence, step


def _spatial(shape):
    return len(shape) in (3, 4) and shape[0] == 1


def _window(m, shape, largest=3, strides=(1, 1, 2, 3), dilations=(1, 1, 1, 2)):
    """Attributes of a window that fits a map, and its size."""
    sides = shape[2:]
    size = [m.chance.randint(1, largest) for _ in sides]
    dilation = [m.chance.choice(dilations) for _ in sides]
    reach = [(k - 1) * d + 1 for k, d in zip(size, dilation, strict=True)]
    strides = [m.chance.choice(strides) for _ in sides]
    # Otherwise the padding would be negative, which evaluators take for different things.
    whole = all(s <= r <= n for s, r, n in zip(strides, reach, sides, strict=True))
    attributes = {"strides": strides, "dilations": dilation}
    if whole and m.maybe(0.3):
        attributes["auto_pad"] = m.one_of("SAME_UPPER", "SAME_LOWER")
        return attributes, size
    before, after = ([m.chance.randint(0, max(min(2, r - 1), 0)) for r in reach] for _ in range(2))
    for at, (n, r) in enumerate(zip(sides, reach, strict=True)):
        if n + before[at] + after[at] < r:
            size[at] = dilation[at] = 1
            before[at] = after[at] = 0
    attributes["pads"] = [*before, *after]
    return attributes, size


def _groups(m, channels):
    return m.one_of(
        1, 1, channels, m.one_of(*[n for n in range(1, channels + 1) if channels % n == 0])
    )


@step(_spatial)
def _conv(m, x):
    shape = m.shapes[x]
    attributes, size = _window(m, shape)
    groups = _groups(m, shape[1])
    out = groups * m.chance.randint(1, 3) if groups > 1 else m.one_of(1, 2, 3, 4, 8, 9, 16, 17)
    weights = m.weights(out, shape[1] // groups, *size, fan_in=shape[1] // groups * np.prod(size))
    operands = [x, weights, *filter(None, [m.bias(out)])]
    x = m.emit("Conv", operands, group=groups, **attributes)
    return m.emit(m.one_of("Relu", "LeakyRelu"), [x]) if m.maybe(0.3) else x


@step(_spatial)
def _conv_again(m, x):
    """A convolution as large as the map, or of a single element, or a chain of two."""
    shape, way = m.shapes[x], m.chance.randrange(3)
    size = list(shape[2:]) if way == 0 and np.prod(shape[2:]) < 40 else [1] * len(shape[2:])
    out = m.one_of(1, 3, 8, 16)
    weights = m.weights(out, shape[1], *size, fan_in=shape[1] * np.prod(size))
    x = m.emit("Conv", [x, weights, *filter(None, [m.bias(out)])])
    if way == 2:
        weights = m.weights(out, 1, *size, fan_in=1)
        x = m.emit("Conv", [x, weights, *filter(None, [m.bias(out)])], group=out)
    return x


@step(_spatial)
def _conv_transpose(m, x):
    shape = m.shapes[x]
    sides = shape[2:]
    size = [m.chance.randint(1, 3) for _ in sides]
    groups, each = m.one_of(1, 1, 1, shape[1]), m.one_of(1, 2, 3)
    strides = [m.one_of(1, 2, 2, 3) for _ in sides]
    attributes = {"group": groups, "strides": strides}
    way = m.chance.random()
    if way < 0.4:
        attributes["pads"] = [m.chance.randint(0, min(1, k - 1)) for k in size * 2]
    elif way < 0.6:
        attributes["output_padding"] = [m.chance.randrange(s) for s in strides]
    elif way < 0.75:
        attributes["dilations"] = [m.one_of(1, 2) for _ in sides]
    weights = m.weights(shape[1], each, *size, fan_in=shape[1], out=1, inner=0)
    operands = [x, weights, *filter(None, [m.bias(each * groups)])]
    return m.emit("ConvTranspose", operands, **attributes)


@step(_spatial)
def _pool(m, x):
    attributes, size = _window(m, m.shapes[x])
    kind = m.one_of("MaxPool", "AveragePool")
    if kind == "AveragePool":
        attributes.pop("dilations")
        attributes["count_include_pad"] = m.one_of(0, 1)
        if "pads" in attributes:
            half = len(size)
            pads = attributes["pads"]
            attributes["pads"] = [min(p, size[at % half] - 1) for at, p in enumerate(pads)]
    if "pads" in attributes:
        attributes["ceil_mode"] = m.one_of(0, 0, 1)
    return m.emit(kind, [x], kernel_shape=size, **attributes)


@step(_spatial)
def _global_pool(m, x):
    return m.emit(m.one_of("GlobalAveragePool", "GlobalMaxPool"), [x])


@step(_spatial)
def _resize(m, x):
    sides = m.shapes[x][2:]
    mode = m.one_of("nearest", "nearest", "linear", "linear", "cubic")
    places = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
    attributes = {"mode": mode, "coordinate_transformation_mode": m.one_of(*places)}
    if mode == "nearest":
        kinds = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
        attributes["nearest_mode"] = m.one_of(*kinds)
    if m.maybe(0.7):
        scales = [m.one_of(1.0, 2.0, 2.0, 3.0, 1.5, 0.5) for _ in sides]
        scales = [1.0 if int(n * s) < 1 else s for n, s in zip(sides, scales, strict=True)]
        return m.emit("Resize", [x, "", m.constant(np.array([1.0, 1.0, *scales]))], **attributes)
    sizes = [*m.shapes[x][:2], *(m.chance.randint(1, 2 * n + 1) for n in sides)]
    return m.emit("Resize", [x, "", "", m.constant(np.array(sizes))], **attributes)


# Products


@step()
def _gemm(m, x):
    """A dense layer on all features, as Gemm or MatMul."""
    if len(m.shapes[x]) != 2:
        x = m.emit("Flatten", [x])
    features = m.shapes[x][1]
    out = m.one_of(1, 2, 3, 5, 8, 9, 17, 33)
    if m.maybe(0.3):
        weights = m.weights(features, out, fan_in=features, out=1, inner=0)
        return m.emit("MatMul", [x, weights])
    turned = m.one_of(0, 1)
    shape = (out, features) if turned else (features, out)
    weights = m.weights(*shape, fan_in=features, out=1 - turned, inner=turned)
    operands = [x, weights, *filter(None, [m.bias(out)])]
    factors = {"alpha": m.one_of(1.0, 1.0, 0.5, -2.0), "beta": m.one_of(1.0, 1.0, 0.25, 0.0)}
    x = m.emit("Gemm", operands, transB=turned, **factors)
    return m.emit("Relu", [x]) if m.maybe(0.3) else x


@step(lambda s: len(s) > 1)
def _matmul(m, x):
    """A product of the last axis with a constant on either side, and a bias."""
    shape = m.shapes[x]
    if m.maybe(0.25) and len(shape) > 2:
        left = m.weights(m.one_of(1, 2, 5), shape[-2], fan_in=shape[-2])
        return m.emit("MatMul", [left, x])
    out = m.one_of(1, 2, 4, 8, 9, 17)
    x = m.emit("MatMul", [x, m.weights(shape[-1], out, fan_in=shape[-1], out=1, inner=0)])
    bias = m.bias(out)
    return m.emit("Add", [x, bias]) if bias else x


@step(lambda s: len(s) > 2)
def _product(m, x):
    """A product of two tensors that flow."""
    shape = m.shapes[x]
    order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]

    def accepts(other):
        return len(other) == len(shape) and other[:-2] == shape[:-2] and other[-1] == shape[-1]

    other = m.emit("Transpose", [m.chance.choice(m.fitting(accepts))], perm=order)
    return m.emit("MatMul", [x, other] if m.maybe(0.7) else [other, x])


# Normalisations


@step(lambda s: len(s) > 1 and s[0] == 1)
def _batch_normalization(m, x):
    channels = m.shapes[x][1]
    scale, shift, mean = (m.constant(m.values(channels)) for _ in range(3))
    variance = m.constant(np.abs(m.values(channels)) + m.one_of(0.1, 1e-5))
    return m.emit("BatchNormalization", [x, scale, shift, mean, variance])


@step(_spatial, often=1)
def _instance_normalization(m, x):
    scale, shift = (m.constant(m.values(m.shapes[x][1])) for _ in range(2))
    return m.emit("InstanceNormalization", [x, scale, shift], epsilon=m.one_of(1e-5, 1e-2))


@step(_spatial, opset=21, often=1)
def _group_normalization(m, x):
    channels = m.shapes[x][1]
    groups = m.one_of(*[n for n in range(1, channels + 1) if channels % n == 0])
    scale, shift = (m.constant(m.values(channels)) for _ in range(2))
    return m.emit("GroupNormalization", [x, scale, shift], shape=m.shapes[x], num_groups=groups)


@step(lambda s: len(s) > 1, opset=17, often=1)
def _layer_normalization(m, x):
    axis = m.axis(first=1)
    sizes = m.shapes[x][axis:]
    scale, shift = (m.constant(m.values(*sizes)) for _ in range(2))
    return m.emit("LayerNormalization", [x, scale, *[shift][: m.one_of(0, 1)]], axis=axis)


@step(lambda s: len(s) > 1, opset=23, often=1)
def _rms_normalization(m, x):
    axis = m.axis(first=1)
    return m.emit("RMSNormalization", [x, m.constant(m.values(*m.shapes[x][axis:]))], axis=axis)


@step(is_map, often=1)
def _mean_variance_normalization(m, x):
    return m.emit("MeanVarianceNormalization", [x], axes=m.one_of([0, 2, 3], [1, 2, 3], [3]))


# Sequences


@step(is_sequence)
def _recurrent(m, x):
    """A recurrent layer; its states are constants, inputs of the network, or left out."""
    kind, (_, steps, features) = m.one_of("LSTM", "GRU", "RNN"), m.shapes[x]
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    direction = m.one_of("forward", "forward", "reverse", "bidirectional")
    both, hidden = (2 if direction == "bidirectional" else 1), m.one_of(1, 2, 3, 5, 8)
    attributes = {"hidden_size": hidden, "direction": direction}
    if kind == "GRU":
        attributes["linear_before_reset"] = m.one_of(0, 1)
    if kind == "RNN" and m.maybe(0.4):
        attributes["activations"] = [m.one_of("Relu", "Tanh")] * both
    if m.maybe(0.15):
        attributes["clip"] = 1.0
    x = m.emit("Transpose", [x], perm=[1, 0, 2])
    wide = gates * hidden
    operands = [
        x,
        m.weights(both, wide, features, fan_in=2 * features, out=1, inner=2),
        m.weights(both, wide, hidden, fan_in=2 * hidden, out=1, inner=2),
        m.constant(m.values(both, 2 * wide, spread=0.3)) if m.maybe(0.8) else "",
        "",
    ]
    way = m.chance.random()
    for _ in range(2 if kind == "LSTM" else 1):
        if way < 0.25:
            operands.append(m.constant(m.values(both, 1, hidden, spread=0.5)))
        elif way < 0.4:
            operands.append(m.input((both, 1, hidden)))
    if kind == "LSTM" and m.maybe(0.1):
        operands += [""] * (7 - len(operands))
        operands.append(m.constant(m.values(both, 3 * hidden, spread=0.3)))
    while not operands[-1]:
        operands.pop()
    results = m.emit(kind, operands, 3 if kind == "LSTM" else 2, **attributes)
    if m.maybe(0.35):
        return m.emit("Transpose", [results[-1 if m.maybe(0.3) else 1]], perm=[1, 0, 2])
    whole = m.emit("Transpose", [results[0]], perm=[2, 0, 1, 3])
    return m.emit("Reshape", [whole, m.constant(np.array([1, steps, both * hidden]))])


def _heads(m, features):
    return m.one_of(*[n for n in (1, 2, 4) if features % n == 0])


@step(is_sequence, opset=23)
def _attention(m, x):
    _, steps, features = m.shapes[x]
    heads = _heads(m, features)
    operands = [x]
    for _ in range(2):
        operands.append(
            m.emit("MatMul", [x, m.weights(features, features, fan_in=features, out=1, inner=0)])
            if m.maybe(0.7)
            else x
        )
    if m.maybe(0.3):
        way = m.chance.random()
        mask = m.numbers.random((steps, steps)) < 0.7
        mask = mask | np.eye(steps, dtype=bool)
        operands.append(m.constant(mask if way < 0.5 else np.where(mask, 0.0, -np.inf)))
    attributes = {"q_num_heads": heads, "kv_num_heads": heads}
    attributes["is_causal"] = m.one_of(0, 0, 1) if len(operands) == 3 else 0
    attributes["softcap"] = m.one_of(None, None, 2.0)
    return m.emit("Attention", operands, **attributes)


@step(lambda s: is_sequence(s) and s[2] % 2 == 0, opset=23)
def _rotary(m, x):
    _, steps, features = m.shapes[x]
    heads = m.one_of(*[n for n in (1, 2, 4) if features % (2 * n) == 0])
    angles = np.outer(np.arange(steps), np.linspace(1, 0.1, features // heads // 2))[None]
    tables = [m.constant(function(angles)) for function in (np.cos, np.sin)]
    interleaved = m.one_of(0, 1)
    return m.emit(
        "RotaryEmbedding", [x, *tables], shape=m.shapes[x], num_heads=heads, interleaved=interleaved
    )


# Quantised layers


def _quantise(m, x):
    """The integers of a tensor, and its scale and zero point."""
    scale = m.constant(m.one_of(0.02, 0.05, 0.125))
    zero = m.constant(m.one_of(np.int8(0), np.int8(-128), np.uint8(128), np.uint8(0), np.int8(9)))
    return m.emit("QuantizeLinear", [x, scale, zero]), scale, zero


def _integers(m, *shape):
    """Integer weights, with zeros and extremes."""
    data = m.numbers.integers(-127, 128, shape)
    if m.maybe(0.3):
        data = data * m.numbers.integers(0, 2, (shape[0], *[1] * (len(shape) - 1)))
    if m.maybe(0.2):
        data = m.numbers.choice([-128, 127, 0], shape)
    return data.astype(np.int8)


@step(_spatial)
def _quantised_conv(m, x):
    """A convolution of a QDQ model, of integer operators, or with dynamic scales."""
    shape, way = m.shapes[x], m.one_of("qdq", "qdq", "qlinear", "integer")
    attributes, size = _window(m, shape)
    groups = m.one_of(1, 1, shape[1])
    out = groups * m.chance.randint(1, 2) if groups > 1 else m.one_of(1, 3, 8)
    data = _integers(m, out, shape[1] // groups, *size)
    attributes["group"] = groups
    scales = m.numbers.uniform(0.001, 0.02, out) if m.maybe() else np.float32(0.01)
    zeros = np.zeros(np.shape(scales), np.int8)
    if way == "integer":
        x, scale, zero = m.emit("DynamicQuantizeLinear", [x], 3)
        total = m.emit("ConvInteger", [x, m.constant(data), zero], **attributes)
        factor = m.emit("Mul", [scale, m.constant(0.01)])
        return m.emit("Mul", [m.emit("Cast", [total], to=1), factor])
    source, scale, zero = _quantise(m, x)
    bias = m.constant(m.numbers.integers(-3000, 3000, out).astype(np.int32))
    products = m.constants[scale] * np.asarray(scales, np.float32)
    if way == "qdq":
        weights = [m.constant(data), m.constant(scales), m.constant(zeros)]
        axis = {"axis": 0} if np.ndim(scales) else {}
        weights = m.emit("DequantizeLinear", weights, shape=data.shape, **axis)
        operands = [m.emit("DequantizeLinear", [source, scale, zero]), weights]
        if m.maybe():
            bias = [bias, m.constant(products)]
            operands.append(m.emit("DequantizeLinear", bias, shape=(out,), **axis))
        return _requantised(m, m.emit("Conv", operands, **attributes))
    last = m.constant(np.float32(0.1)), m.constant(m.constants[zero])
    weights = [m.constant(data), m.constant(scales), m.constant(zeros)]
    operands = [source, scale, zero, *weights, *last, *[bias][: m.one_of(0, 1)]]
    made = m.emit("QLinearConv", operands, **attributes)
    return m.emit("DequantizeLinear", [made, *last])


def _requantised(m, x):
    if m.maybe(0.3):
        x = m.emit("Relu", [x])
    made, scale, zero = _quantise(m, x)
    return m.emit("DequantizeLinear", [made, scale, zero])


@step(lambda s: len(s) > 1)
def _quantised_product(m, x):
    features, out, way = m.shapes[x][-1], m.one_of(1, 3, 9), m.one_of("qlinear", "integer", "qdq")
    weights = m.constant(_integers(m, features, out))
    if way == "integer":
        x, scale, zero = m.emit("DynamicQuantizeLinear", [x], 3)
        total = m.emit("MatMulInteger", [x, weights, zero])
        factor = m.emit("Mul", [scale, m.constant(0.01)])
        return m.emit("Mul", [m.emit("Cast", [total], to=1), factor])
    source, scale, zero = _quantise(m, x)
    grid = [m.constant(0.01), m.constant(np.int8(0))]
    if way == "qdq":
        weights = m.emit("DequantizeLinear", [weights, *grid], shape=(features, out))
        x = m.emit("DequantizeLinear", [source, scale, zero])
        return _requantised(m, m.emit("MatMul", [x, weights]))
    last = m.constant(np.float32(0.1)), m.constant(m.constants[zero])
    made = m.emit("QLinearMatMul", [source, scale, zero, weights, *grid, *last])
    return m.emit("DequantizeLinear", [made, *last])
