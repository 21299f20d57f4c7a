# SPDX-License-Identifier: BSD-2-Clause
"""A transformer over characters whose layers integer cores compute: its sizes, its weights, and its
forward and backward pass in numpy.

A layer is multi-query attention and a perceptron, each added to its input. The heads of a layer
have queries of their own and share keys and values. Attention weights are
``relu(query . key + bias)``, with a bias for each head and distance, instead of a softmax: a place
of the cache that holds zeros then counts for nothing, so that there is neither a mask nor a
position among the inputs. Nothing is normalised; the layers' last weights begin small instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

__all__ = ["Sizes", "Weights", "backward", "forward", "initial_weights", "loss_of"]

#: Name -> float32 array; matrices are [inputs, outputs].
Weights: TypeAlias = dict[str, np.ndarray]


@dataclass(frozen=True)
class Sizes:
    """Sizes of the network.

    Attributes
    ----------
    characters : of the vocabulary
    width : values of a character between the layers
    layers : each attention and perceptron
    heads : queries of a layer
    head : values of a query, key or value
    window : characters that a layer attends to, the present one among them
    hidden : values inside a perceptron
    """

    characters: int
    width: int = 96
    layers: int = 2
    heads: int = 3
    head: int = 32
    window: int = 64
    hidden: int = 384

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of every array of weights, by name."""
        shapes: dict[str, tuple[int, ...]] = {"embed": (self.characters, self.width)}
        matrices = {
            "query": (self.width, self.heads * self.head),
            "key": (self.width, self.head),
            "value": (self.width, self.head),
            "joined": (self.heads * self.head, self.width),
            "up": (self.width, self.hidden),
            "down": (self.hidden, self.width),
        }
        for layer in range(self.layers):
            for name, shape in matrices.items():
                shapes[f"{name}{layer}"] = shape
                shapes[f"{name}{layer}.bias"] = shape[1:]
            shapes[f"distance{layer}"] = (self.heads, self.window)
        shapes["scores"] = (self.width, self.characters)
        shapes["scores.bias"] = (self.characters,)
        return shapes


def initial_weights(sizes: Sizes, rng: np.random.Generator) -> Weights:
    """Random weights from which training begins."""
    weights: Weights = {}
    for name, shape in sizes.shapes().items():
        if name.endswith(".bias"):
            weights[name] = np.zeros(shape, np.float32)
            continue
        spread = 1 / np.sqrt(shape[0])
        if name == "embed":
            spread = 0.5
        elif name.startswith("distance"):
            # Near characters count more from the start.
            near = np.exp((np.arange(sizes.window) + 1 - sizes.window) / 4)
            weights[name] = np.tile(np.float32(0.5) * near.astype(np.float32), (sizes.heads, 1))
            continue
        elif name.startswith(("joined", "down")):
            spread *= 0.1
        elif name.startswith("query"):
            spread *= 1 / np.sqrt(sizes.head)
        weights[name] = rng.normal(0, spread, shape).astype(np.float32)
    return weights


def _places(steps: int, window: int) -> tuple[np.ndarray, np.ndarray]:
    """For each pair of a query and a key: the key's place in the cache, and whether it is there."""
    back = np.arange(steps)[:, None] - np.arange(steps)[None, :]
    seen = (back >= 0) & (back < window)
    return np.where(seen, window - 1 - back, 0), seen.astype(np.float32)


def forward(
    sizes: Sizes, weights: Mapping[str, np.ndarray], numbers: np.ndarray
) -> dict[str, np.ndarray]:
    """Forward pass over whole texts: values by name, the last of them ``scores`` [texts, steps,
    characters]. ``numbers``: characters [texts, steps], behind caches of zeros."""
    texts, steps = numbers.shape
    places, seen = _places(steps, sizes.window)
    found = {"numbers": numbers, "x0": weights["embed"][numbers]}
    x = found["x0"]
    for layer in range(sizes.layers):

        def dense(name, values, layer=layer):
            return values @ weights[f"{name}{layer}"] + weights[f"{name}{layer}.bias"]

        query = dense("query", x).reshape(texts, steps, sizes.heads, sizes.head)
        query = np.ascontiguousarray(query.transpose(0, 2, 1, 3))
        key, value = dense("key", x), dense("value", x)
        flat = query.reshape(texts, -1, sizes.head)
        scores = (flat @ key.transpose(0, 2, 1)).reshape(texts, sizes.heads, steps, steps)
        scores += weights[f"distance{layer}"][:, places]
        attention = np.maximum(scores, 0) * seen
        mixed = attention.reshape(texts, -1, steps) @ value
        mixed = mixed.reshape(texts, sizes.heads, steps, sizes.head).transpose(0, 2, 1, 3)
        mixed = np.ascontiguousarray(mixed).reshape(texts, steps, -1)
        middle = x + dense("joined", mixed)
        hidden = np.maximum(dense("up", middle), 0)
        for name, values in {
            "query": query,
            "key": key,
            "value": value,
            "attention": attention,
            "mixed": mixed,
            "middle": middle,
            "hidden": hidden,
        }.items():
            found[f"{name}{layer}"] = values
        x = middle + dense("down", hidden)
        found[f"x{layer + 1}"] = x
    found["scores"] = x @ weights["scores"] + weights["scores.bias"]
    return found


def loss_of(scores: np.ndarray, wanted: np.ndarray) -> tuple[float, np.ndarray]:
    """Mean cross-entropy in nats a character, and its gradient by the scores."""
    shifted = scores - scores.max(axis=-1, keepdims=True)
    powers = np.exp(shifted)
    total = powers.sum(axis=-1, keepdims=True)
    gradient = powers / total
    picked = np.take_along_axis(shifted, wanted[..., None], -1) - np.log(total)
    np.put_along_axis(
        gradient, wanted[..., None], np.take_along_axis(gradient, wanted[..., None], -1) - 1, -1
    )
    return -float(picked.mean()), gradient / np.float32(wanted.size)


def backward(
    sizes: Sizes,
    weights: Mapping[str, np.ndarray],
    found: Mapping[str, np.ndarray],
    gradient: np.ndarray,
) -> Weights:
    """Gradients of all weights. ``found``: of :func:`forward`; ``gradient``: by the scores."""
    numbers = found["numbers"]
    texts, steps = numbers.shape
    places, seen = _places(steps, sizes.window)
    slopes: Weights = {}

    def dense(name, values, slope):
        """Notes the gradients of a dense layer and returns that of its input."""
        rows = slope.reshape(-1, slope.shape[-1])
        slopes[name] = values.reshape(-1, values.shape[-1]).T @ rows
        slopes[f"{name}.bias"] = rows.sum(axis=0)
        return slope @ weights[name].T

    last = found[f"x{sizes.layers}"]
    slope = dense("scores", last, gradient)
    for layer in reversed(range(sizes.layers)):
        here = {name: found[f"{name}{layer}"] for name in _KEPT}
        x = found[f"x{layer}"]
        inner = dense(f"down{layer}", here["hidden"], slope) * (here["hidden"] > 0)
        slope = slope + dense(f"up{layer}", here["middle"], inner)
        mixed = dense(f"joined{layer}", here["mixed"], slope)
        mixed = mixed.reshape(texts, steps, sizes.heads, sizes.head).transpose(0, 2, 1, 3)
        mixed = np.ascontiguousarray(mixed).reshape(texts, -1, sizes.head)
        attention = here["attention"].reshape(texts, -1, steps)
        value = attention.transpose(0, 2, 1) @ mixed
        inner = (mixed @ here["value"].transpose(0, 2, 1)) * (attention > 0)
        pairs = inner.reshape(texts, sizes.heads, steps, steps).sum(axis=0) * seen
        slopes[f"distance{layer}"] = np.stack(
            [
                np.bincount(places.ravel(), head.ravel(), sizes.window).astype(np.float32)
                for head in pairs
            ]
        )
        query = here["query"].reshape(texts, -1, sizes.head)
        key = inner.transpose(0, 2, 1) @ query
        query = (inner @ here["key"]).reshape(texts, sizes.heads, steps, sizes.head)
        query = np.ascontiguousarray(query.transpose(0, 2, 1, 3)).reshape(texts, steps, -1)
        for name, own in (("query", query), ("key", key), ("value", value)):
            slope = slope + dense(f"{name}{layer}", x, own)
    # As a product, since adding row by row is slow.
    chosen = np.zeros((numbers.size, sizes.characters), np.float32)
    chosen[np.arange(numbers.size), numbers.ravel()] = 1
    slopes["embed"] = chosen.T @ slope.reshape(-1, sizes.width)
    return slopes


#: Values of a layer that the backward pass reads.
_KEPT = ("query", "key", "value", "attention", "mixed", "middle", "hidden")
