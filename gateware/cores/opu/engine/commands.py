# SPDX-License-Identifier: BSD-2-Clause
"""Command layouts of the compute part and of load operations.

Channel counts travel as logarithms: ``ifm_c`` as log2 - 4 (16, 32, 64: 0, 1, 2), ``ofm_c`` as log2
(1..6). All values are legal as the specification's sections 3 and 4 have it; nobody checks them
again.
"""

from amaranth import signed
from amaranth.lib import data, enum
from amaranth.utils import ceil_log2

from ....isa.parameters import Params
from ..types import type_set

__all__ = [
    "ConvKind",
    "bias_load_layout",
    "conv_layout",
    "ifm_load_layout",
    "ker_load_layout",
    "out_layout",
    "post_layout",
]


class ConvKind(enum.Enum, shape=2):
    """How a convolution combines its sums with the stored partial sums (section 4.4)."""

    PLAIN = 0
    BIAS = 1
    ACC = 2


def row_bits(params: Params) -> int:
    """Width of a row number of the kernel ring."""
    return ceil_log2(params["ker_rows"])


def conv_layout(params: Params) -> data.StructLayout:
    """Layout of a ``conv`` command: the tap at ``row`` of the ring, a window at ``h``, ``w`` of an
    ``ifm`` of width ``ifm_w``, and results of ``ofm_h`` x ``ofm_w``."""
    return data.StructLayout(
        {
            "kind": ConvKind,
            "h": 4,
            "w": 4,
            "stride_h": 3,
            "stride_w": 3,
            "ifm_w": 7,
            "ofm_h": 7,
            "ofm_w": 7,
            "ifm_c": 2,
            "ofm_c": 3,
            "row": row_bits(params),
            "ifm_bank": 1,
            "ofm_bank": 1,
            "bias_copy": 1,
            "ifm_shift": signed(8),
            "bias_shift": signed(8),
        }
    )


def post_layout(params: Params) -> data.StructLayout:
    """Layout of a ``store`` command without its addresses: ``ofm`` of ``ofm_h`` x ``ofm_w``, pooled
    to ``out_h`` x ``out_w``."""
    return data.StructLayout(
        {
            "ofm_h": 7,
            "ofm_w": 7,
            "ofm_c": 3,
            "act": 2,
            "order": 2,
            "add_ifm": 1,
            "pool_h": 4,
            "pool_w": 4,
            "pool_h_stride": 3,
            "pool_w_stride": 3,
            "out_h": 7,
            "out_w": 7,
            "ofm_bank": 1,
            "ifm_bank": 1,
            "ifm_w": 7,
            "ifm_c": 2,
        }
    )


def out_layout(params: Params) -> data.StructLayout:
    """Layout of a post-processing result: ``out_lanes`` elements of ITYPE, lane 0 lowest;
    ``last``: the last of its ``store``."""
    return data.StructLayout({"data": type_set(params).ifm * params["out_lanes"], "last": 1})


def _load_layout(beat_bytes, fields):
    return data.StructLayout({"start": 1, **fields, "valid": 1, "data": 8 * beat_bytes})


def ifm_load_layout(params: Params, beat_bytes: int) -> data.StructLayout:
    """Layout of an ``ifm`` load: one cycle of ``start`` with the bank, then the beats of a whole
    tile, line by line."""
    return _load_layout(beat_bytes, {"bank": 1})


def ker_load_layout(params: Params, beat_bytes: int) -> data.StructLayout:
    """Layout of a kernel load: one cycle of ``start`` with the first row of the ring and the
    channels, then the beats of a whole kernel."""
    return _load_layout(beat_bytes, {"row": row_bits(params), "ifm_c": 2, "ofm_c": 3})


def bias_load_layout(params: Params, beat_bytes: int) -> data.StructLayout:
    """Layout of a bias load: one cycle of ``start`` with the copy, then the beats of a bias."""
    return _load_layout(beat_bytes, {"copy": 1, "ofm_c": 3})
