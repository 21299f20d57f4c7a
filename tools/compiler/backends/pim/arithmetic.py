# SPDX-License-Identifier: BSD-2-Clause
"""Arithmetic of PIM: widths and shifts of each node; sigmoid and tanh by table lookup, which
requires certain scales of source and result (docs/isa/pim.md, section 4.3)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...graph import Activation, Binary, Concat, Conv, Dense, Graph, Gru, Lstm, MatMul, Node
from ...quantised import Arithmetic
from .rows.functions import is_function

__all__ = [
    "SUM_BITS",
    "TABLES",
    "arithmetic",
    "elements_together",
    "places_before",
    "run_table",
    "saturated",
    "table_steps",
]

#: Function -> instruction.
TABLES = {"sigmoid": "vsigm", "tanh": "vtanh"}
_TANH = np.floor(np.tanh(np.arange(514) / 64) * 65536 + 0.5).astype(np.int64)
#: Bits of a sum.
SUM_BITS = 32
#: Products that one sum has at most: beyond that, first factors lose more than 8 places of 16, and
#: partial sums take fewer cycles, too.
_WHOLE = 512
#: Elements of a partial sum of products, at most: their first factors lose 6 places of 16.
_PARTIAL = 128


def saturated(values: np.ndarray, bits: int) -> np.ndarray:
    """Integers, those out of the range of ``bits`` at its end."""
    return np.clip(values, -(1 << bits - 1), (1 << bits - 1) - 1)


def arithmetic(graph: Graph, node: Node, widths: tuple[int, ...]) -> Arithmetic:
    """Integer arithmetic of a node of a legalised graph; ``widths``: those of activations, the
    preferred one first."""
    common: dict[str, Any] = {
        "bits": widths[0],
        "reads": widths,
        "out_bits": widths,
        "weight_bits": 8,
        "bias_bits": 32,
        "shifts": (0, 47),
        "clips": True,
    }
    if isinstance(node, Conv | Dense):
        return Arithmetic(**common)
    if isinstance(node, Lstm | Gru):
        sums, result = table_steps(16)
        return Arithmetic(**{**common, "out_bits": (16,)}, source_step=sums, result_step=result)
    if isinstance(node, Activation) and node.function in TABLES:
        source, result = table_steps(widths[0])
        return Arithmetic(
            **{
                **common,
                "weight_bits": None,
                "reads": widths[:1],
                "out_bits": widths[:1],
            },
            source_step=source,
            result_step=result,
        )
    if isinstance(node, MatMul):
        before = places_before(graph.shape(node.inputs[0])[-1], widths[0])
        return Arithmetic(**{**common, "weight_bits": None, "shifts": (before, 30 + before)})
    if isinstance(node, Binary) and node.function == "mul":
        return Arithmetic(**{**common, "weight_bits": None, "shifts": (0, 30)})
    if is_function(node):
        return Arithmetic(**{**common, "weight_bits": None})
    return Arithmetic(
        **{**common, "weight_bits": None},
        equal_scales=isinstance(node, Binary | Concat),
        same_scale=not isinstance(node, Binary | Concat),
    )


def table_steps(bits: int) -> tuple[float, float]:
    """Scales that the table instructions require for tensors of ``bits``, which select the number
    formats: (scale of the source, scale of the result)."""
    return 2.0 ** -max(bits - 4, 0), 2.0 ** -(bits - 1)


def run_table(function: str, x: np.ndarray, bits: int) -> np.ndarray:
    """Integer reference of the table instruction for ``x`` of ``bits``, int64."""
    read, given = max(bits - 4, 0), bits - 1
    x = np.asarray(x, np.int64)
    places = (16 if function == "tanh" else 15) - read
    u = np.abs(x) << places if places >= 0 else np.abs(x) >> -places
    at = np.minimum(u >> 10, 512)
    t = np.where(
        u >= 1 << 19, 65536, _TANH[at] + ((_TANH[at + 1] - _TANH[at]) * (u & 1023) + 512 >> 10)
    )
    if function == "tanh":
        size = t << given - 16 if given >= 16 else t + (1 << 15 - given) >> 16 - given
        y = np.where(x < 0, -size, size)
    else:
        y = (65536 + np.where(x < 0, -t, t) << given) + 65536 >> 17
    return saturated(y, bits)


def places_before(inner: int, bits: int) -> int:
    """Right shift of the first operand's elements before multiplication, so that a sum of ``inner``
    products cannot overflow; ``bits``: width of an element."""
    return max(0, 2 * bits - 2 + int(inner - 1).bit_length() - (SUM_BITS - 1))


def elements_together(
    node: MatMul, inner: int, sizes: tuple[int, int], params: Mapping[str, Any]
) -> int:
    """Number of products that one sum of a matrix product has: all ``inner``, or, where they are
    too many or local memory does not take them, those of a partial sum; ``sizes``: bytes of an
    element of the operands and of the result."""
    size, out_size = sizes
    # The row, a column (as it comes, too, if it must be moved), and two constants that round the
    # row; a sum with two constants, two results, and words on the way to constants.
    rounded = places_before(inner, 8 * size) > 0
    vectors = 2 + (not node.turned) + 2 * rounded
    taken = vectors * inner * size + 12 + 2 * out_size + 4 + 4 * rounded
    if inner <= _WHOLE and taken <= params["lmem_bytes"]:
        return inner
    # Five vectors of 16 bits in half of local memory.
    return min(_PARTIAL, 1 << (params["lmem_bytes"] // 20).bit_length() - 1)
