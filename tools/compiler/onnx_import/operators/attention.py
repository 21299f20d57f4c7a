# SPDX-License-Identifier: BSD-2-Clause
"""Translators of Attention and RotaryEmbedding (opset 23 and later), as matrix products, a softmax
and a constant mask."""

from math import prod, sqrt

import numpy as np

from ..errors import Refused
from ..step import HIDDEN, Constant, View, operator
from .chain import Chain
from .linear import product

_OUTPUTS = ("Y", "present_key", "present_value", "qk_matmul_output")


@operator("Attention")
def _attention(step):
    """Translates Attention: softmax(Q K' scale + mask) V for every head."""
    chain = Chain(step)
    heads = (step.attribute("q_num_heads"), step.attribute("kv_num_heads"))
    joined = len(step.view(0, "Q").lengths) == 3
    query, key, value = (
        _in_heads(step, at, name, heads[min(at, 1)]) for at, name in enumerate("QKV")
    )
    key, value, past = _with_past(step, chain, key, value)
    present = [key, value]
    scale = float(step.attribute("scale", 0) or 1 / sqrt(query.lengths[3]))
    key, value = (_repeated_heads(step, chain, one, query.lengths[1]) for one in (key, value))
    scaled = chain.times("scaled", query, scale)
    scores = product(step, scaled, key.permuted((0, 1, 3, 2)), None, "scores")
    exposed = [scores]
    softcap = float(step.attribute("softcap", 0.0))
    if softcap:
        bent = chain.act("bent", chain.times("capping", scores, 1 / softcap), "tanh")
        scores = chain.times("capped", bent, softcap)
    exposed.append(scores)
    mask, allowed = _mask(step, scores.lengths, past)
    if mask is not None:
        scores = chain.plus("masked", scores, mask)
    exposed.append(scores)
    weights = chain.softmax("weights", scores, 3)
    if not (sees := allowed.any(axis=-1, keepdims=True)).all():
        weights = chain.of_two("seeing", "mul", weights, Constant(sees.astype(np.float64)))
    exposed.append(weights)
    result = product(step, weights, value, None if joined else step.output, "product")
    mode = step.attribute("qk_matmul_output_mode", 0)
    if mode == 2 and not allowed.all() and step.outputs[3:4] and step.outputs[3] in step.used:
        raise Refused(
            "qk_matmul_output_mode = 2: expected 0, 1 or 3 with a mask, which is minus infinity"
        )
    if joined:
        batch, count, rows, columns = result.lengths
        result = step.draft.seen(result.permuted((0, 2, 1, 3)), (batch, rows, count * columns))
    return [result, *present, exposed[mode]][: len(step.outputs)]


def _in_heads(step, at, name, heads):
    """Reshapes an operand to (batch, heads, steps, features)."""
    view = step.flowing(at, name)
    if len(view.lengths) == 4:
        return view
    if len(view.lengths) != 3 or not heads or view.lengths[2] % heads:
        raise Refused(
            f"{name} of shape {view.lengths} for {heads} heads: expected four axes, or three with "
            f"features for every head"
        )
    batch, steps, features = view.lengths
    split = step.draft.seen(view, (batch, steps, heads, features // heads))
    return split.permuted((0, 2, 1, 3))


def _with_past(step, chain, key, value):
    """Prepends the keys and values of earlier steps, and returns the number of those steps."""
    if step.operand(4) is None:
        return key, value, 0
    past = [
        step.fixed(at, name) if isinstance(step.operand(at), Constant) else step.flowing(at, name)
        for at, name in ((4, "past_key"), (5, "past_value"))
    ]
    joined = [
        chain.join(part, [old, new], 2)
        for part, old, new in zip(("keys", "values"), past, (key, value), strict=True)
    ]
    return *joined, past[0].lengths[2]


def _repeated_heads(step, chain, view, heads):
    """Repeats every key or value head for the query heads that share it."""
    own = view.lengths[1]
    if own == heads:
        return view
    if heads % own:
        raise Refused(f"{heads} heads of queries for {own} of keys: expected a multiple")
    batch, _, rows, columns = view.lengths
    return chain.take("heads", view, 1, [head // (heads // own) for head in range(heads)])


def _mask(step, lengths, past):
    """The mask that is added to the scores (``None``, a constant or an activation), and an array
    that broadcasts to the scores: whether each query may attend to each key."""
    _, _, rows, columns = lengths
    allowed, added = _allowed(step, rows, columns, past), np.zeros((1, 1, 1, 1))
    given = step.operand(3)
    if isinstance(given, Constant):
        data = _wide(given.data, columns)
        if data.dtype.kind == "b":
            allowed = allowed & data
        else:
            allowed = allowed & ~np.isneginf(data)
            added = np.where(np.isneginf(data), 0.0, data)
    total = _short(np.where(allowed, np.maximum(added, HIDDEN), HIDDEN))
    if not isinstance(given, View):
        return (total if total.data.any() else None), allowed
    view = step.flowing(3, "attn_mask")
    missing = columns - view.lengths[-1]
    if missing:
        fill = Constant(np.full((*view.lengths[:-1], missing), HIDDEN))
        view = Chain(step).join("mask", [view, fill], len(view.lengths) - 1)
        allowed = allowed & (np.arange(columns) < columns - missing)
    if not total.data.any():
        return view, allowed
    return Chain(step).of_two("bias", "add", view, total), allowed


def _allowed(step, rows, columns, past):
    """Keys to which each query may attend, by the attributes and the number of valid keys."""
    valid = step.numbers(6, "nonpad_kv_seqlen")
    offset = np.full((1, 1, 1, 1), past)
    if valid is not None and not past:
        offset = np.reshape(valid, (-1, 1, 1, 1)) - rows
    ahead = np.arange(columns)[None, :] - np.arange(rows)[:, None] - offset
    allowed = np.ones((1, 1, rows, columns), bool)
    if step.attribute("is_causal", 0):
        allowed = allowed & (ahead <= 0)
    left, right = (step.attribute(f"{side}_window_size", -1) for side in ("left", "right"))
    if left >= 0:
        allowed = allowed & (-ahead <= left)
    if right >= 0:
        allowed = allowed & (ahead <= right)
    if valid is not None:
        allowed = allowed & (np.arange(columns) < np.reshape(valid, (-1, 1, 1, 1)))
    return allowed


def _short(data):
    """Removes leading axes of length one from a constant."""
    while data.ndim > 2 and data.shape[0] == 1:
        data = data[0]
    return Constant(data)


def _wide(mask, columns):
    """Extends a mask to all columns; missing columns are masked out."""
    missing = columns - mask.shape[-1]
    if not missing:
        return mask
    fill = False if mask.dtype.kind == "b" else -np.inf
    widths = [(0, 0)] * (mask.ndim - 1) + [(0, missing)]
    return np.pad(mask, widths, constant_values=fill)


@operator("RotaryEmbedding")
def _rotary(step):
    """Translates RotaryEmbedding: rotates pairs of features by the angle of their position, x1 cos
    - x2 sin and x1 sin + x2 cos."""
    chain, x = Chain(step), step.flowing(0, "X")
    shape = x.lengths
    if len(shape) == 4:
        x = x.permuted((0, 2, 1, 3))
    else:
        heads = step.attribute("num_heads", 0)
        if len(shape) != 3 or not heads or shape[2] % heads:
            raise Refused(
                f"X of shape {shape} and num_heads = {heads}: expected four axes, or "
                "three and a divisor of the features"
            )
        x = step.draft.seen(x, (*shape[:2], heads, shape[2] // heads))
    batch, rows, heads, features = x.lengths
    turned = step.attribute("rotary_embedding_dim", 0) or features
    half = turned // 2
    cosine, sine = (
        _angles(step, chain, at, name, rows, half) for at, name in ((1, "cos"), (2, "sin"))
    )
    if step.attribute("interleaved", 0):
        cuts = [(0, turned, 2), (1, turned, 2)]
    else:
        cuts = [(0, half, 1), (half, turned, 1)]
    first, second = (chain.cut(f"half_{at}", x, {3: cut}) for at, cut in enumerate(cuts))
    real = chain.of_two(
        "real",
        "sub",
        chain.of_two("cos_first", "mul", first, cosine),
        chain.of_two("sin_second", "mul", second, sine),
    )
    imaginary = chain.of_two(
        "imaginary",
        "add",
        chain.of_two("sin_first", "mul", first, sine),
        chain.of_two("cos_second", "mul", second, cosine),
    )
    if step.attribute("interleaved", 0):
        pair = [step.draft.seen(one, (*one.lengths, 1)) for one in (real, imaginary)]
        result = step.draft.seen(chain.join("pairs", pair, 4), (batch, rows, heads, turned))
    else:
        result = chain.join("halves", [real, imaginary], 3)
    if turned < features:
        rest = chain.cut("rest", x, {3: (turned, features, 1)})
        result = chain.join("whole", [result, rest], 3)
    return result.permuted((0, 2, 1, 3)) if len(shape) == 4 else step.draft.seen(result, shape)


def _angles(step, chain, at, name, rows, half):
    """Cosines or sines of the position angles, as (batch, steps, 1, pairs)."""
    given, places = step.operand(at), step.operand(3)
    if isinstance(places, View):
        raise Refused("position_ids depend on the network's inputs: expected a constant")
    if isinstance(given, Constant):
        data = step.finite(f"{name}_cache", step.fixed(at, f"{name}_cache").data)
        data = data if places is None else data[places.data]
        if data.shape[-1] != half:
            raise Refused(f"{name}_cache of shape {data.shape} for {half} pairs")
        return Constant(np.expand_dims(data, -2))
    view = step.flowing(at, f"{name}_cache")
    if places is not None:
        wanted = (*places.data.shape, view.lengths[-1])
        taken = chain.take(f"{name}_taken", view, 0, [int(place) for place in places.data.ravel()])
        view = step.draft.seen(taken, wanted)
    if view.lengths[-1] != half or prod(view.lengths) % (rows * half):
        raise Refused(f"{name}_cache of shape {view.lengths} for {half} pairs")
    return step.draft.seen(view, (*view.lengths[:-1], 1, half))
