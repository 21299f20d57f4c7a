# SPDX-License-Identifier: BSD-2-Clause
"""Sizes derived from shapes: byte ranges, buffer lines, pooled shapes (specification, 4.5, 4.8,
8.1). Pure Python."""

from collections.abc import Sequence

from .isa import UNIT
from .params import KERNEL_VOLUME, LINE
from .types import SLOT

__all__ = [
    "bias_span",
    "ifm_lines",
    "ifm_span",
    "isa_address",
    "ker_rows",
    "ker_span",
    "kernel_legal",
    "ofm_lines",
    "pad_bytes",
    "pad_span",
    "pooled",
    "store_span",
]


def isa_address(region: int, unit: int) -> int:
    """ISA address of unit ``unit`` (64 bytes) of ``region``."""
    return region << 28 | unit * UNIT


# Bytes from the first to the last that an instruction may touch (4.8); ``size`` is bytes per
# element.


def _map_span(rows, columns, channels, mem_w, size):
    return (((rows - 1) * mem_w + columns - 1) * SLOT + channels) * size


def ifm_span(shape: Sequence[int], mem_w: int, size: int) -> int:
    """Byte range of ``ld.ifm`` of ``shape`` (rows, columns, channels) from a map ``mem_w`` slots
    wide."""
    rows, columns, channels = shape
    return _map_span(rows, columns, channels, mem_w, size)


def ker_span(taps: int, ofm_c: int, ifm_c: int, size: int) -> int:
    """Byte range of ``ld.ker``, all of which is read."""
    return taps * ofm_c * ifm_c * size


def bias_span(ofm_c: int, size: int) -> int:
    """Byte range of ``ld.bias``, all of which is read."""
    return ofm_c * size


def store_span(rows: int, columns: int, channels: int, mem_w: int, size: int) -> int:
    """Byte range of a ``store`` of ``rows`` x ``columns`` into a map ``mem_w`` slots wide."""
    return _map_span(rows, columns, channels, mem_w, size)


def pad_span(mem_h: int, mem_w: int, width: int, size: int) -> int:
    """Byte range of ``pad``: the whole map, or empty if ``width`` is 0."""
    return mem_h * mem_w * SLOT * size if width else 0


def pad_bytes(mem_h: int, mem_w: int, width: int, size: int) -> int:
    """Number of bytes that ``pad`` zeroes."""
    inside = max(mem_h - 2 * width, 0) * max(mem_w - 2 * width, 0)
    return (mem_h * mem_w - inside) * SLOT * size


def pooled(rows: int, columns: int, pool: Sequence[int]) -> tuple[int, int]:
    """Rows and columns after pooling by ``pool`` = (rows, columns, row stride, column stride); the
    window fits."""
    return (rows - pool[0]) // pool[2] + 1, (columns - pool[1]) // pool[3] + 1


# What a shape takes of the buffers of a build (8.1)


def ifm_lines(shape: Sequence[int]) -> int:
    """Lines of ``ifm`` that ``shape`` (rows, columns, channels) needs."""
    return shape[0] * shape[1] * (shape[2] // LINE)


def ofm_lines(shape: Sequence[int], po: int) -> int:
    """Lines of ``ofm`` that ``shape`` needs."""
    return shape[0] * shape[1] * -(-shape[2] // po)


def ker_rows(taps: int, ofm_c: int, ifm_c: int, pi: int, po: int) -> int:
    """Rows of the kernel memory that a kernel needs."""
    return taps * (ifm_c // pi) * -(-ofm_c // po)


def kernel_legal(taps: int, ofm_c: int, ifm_c: int) -> bool:
    """Whether a kernel satisfies the volume rule of ``ld.ker`` (4.3)."""
    return taps * max(ifm_c * ofm_c, KERNEL_VOLUME // 36) <= KERNEL_VOLUME
