# SPDX-License-Identifier: BSD-2-Clause
"""Elementwise functions as instruction chains on tiles."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .kernel_graph import Ref, Value
from .reference.arithmetic import to_element

if TYPE_CHECKING:
    from ...graph import Activation

__all__ = ["Constants", "affine", "function"]


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
