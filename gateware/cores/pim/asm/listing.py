# SPDX-License-Identifier: BSD-2-Clause
"""Disassembler of PIM's program images: its text assembles to the identical image
(specification, section 3.5)."""

from collections.abc import Callable

import numpy as np

from ....isa.parameters import Params
from ....isa.software import Software
from ..image.fields import AUTO
from ..image.image import CoreProgram, Group, Image, narrow_words, weights_from, words_of
from ..image.reading import TableFault, Tables, read_tables
from ..isa import ISA
from ..model.core import zero_masks
from ..operands import SELECTS
from ..storage import MODE_NAMES, STORAGES
from .linking import bad_words

__all__ = ["core_lines", "fields_of", "image_of", "listing", "undefined"]

_DEFINED = np.isin(np.arange(64), [i.opcode for i in ISA.instructions])
_LINE = 24  # inline values in a line


def image_of(data: bytes, params: Params | None = None) -> tuple[Image, Tables]:
    """Reads a program image: ``(Image, entries)``. Raises :class:`TableFault`."""
    tables = read_tables(data, params)
    rows, cols = tables.xb_rows, tables.xb_cols
    cores = []
    for entry in tables.cores:
        groups = []
        for g in entry.groups:
            weights = bias = None
            if g.weights:
                weights = weights_from(data[g.weights :], g.rows, g.cols, rows, cols)[:, : g.cols]
            if g.has_bias:
                bias = np.frombuffer(data, "<i4", g.cols, g.bias)
            groups.append(Group(g.rows, g.cols, g.arrays, g.mbiw, g.shift, g.round, weights, bias))
        code = data[entry.code : entry.code + entry.code_bytes]
        cores.append(
            CoreProgram(
                code,
                entry.count,
                entry.mode,
                entry.wait_mode,
                entry.ibiw,
                entry.obiw,
                entry.fi,
                entry.fo,
                groups,
            )
        )
    return Image(cores, rows, cols, tables.gmem_base, tables.gmem_size), tables


def listing(
    software: Software,
    data: bytes,
    params: Params | None = None,
    text: Callable[..., str] | None = None,
) -> str:
    """Implements the hook ``Software.listing``: returns the text of a program image.

    Weights that do not fit their group's ``mbiw``, an image laid out otherwise than the assembler
    does, and code that does not end with its last instruction have no text that gives them back: a
    comment at the top says so.

    Raises
    ------
    TableError
        ``data`` is no program image.
    """
    from ....isa.table import TableError

    try:
        image, _ = image_of(data, params)
    except TableFault as fault:
        raise TableError(str(fault)) from None
    lines = []
    if image.data() != data:
        lines.append("; not laid out as the assembler does: this text gives another image")
    if (image.xb_rows, image.xb_cols) != (64, 64):
        lines.append(f".arrays {image.xb_rows}, {image.xb_cols}")
    if image.gmem_base or image.gmem_size:
        lines.append(f".gmem {image.gmem_base:#x}, {image.gmem_size:#x}")
    for number, core in enumerate(image.cores):
        lines.append(f".core {number}")
        lines += _head(core, image)
        lines += core_lines(core, number, len(image.cores), params)
    return "\n".join(lines) + "\n"


def _head(core, image):
    lines = []
    if core.mode:
        lines.append(f".mode {MODE_NAMES[core.mode]}")
    if core.wait_mode:
        lines.append(".waitmode count")
    if (core.ibiw, core.obiw) != (8, 8):
        lines.append(f".width {core.ibiw}, {core.obiw}")
    if (core.fi, core.fo) != (AUTO, AUTO):
        lines.append(
            ".actfmt " + ", ".join("auto" if f == AUTO else str(f) for f in (core.fi, core.fo))
        )
    free = set()
    for n, g in enumerate(core.groups):
        text = f".group {n}, rows={g.rows}, cols={g.cols}"
        lowest = [k for k in range(64) if k not in free][: len(g.arrays)]
        if list(g.arrays) != lowest:
            text += ", arrays=" + ",".join(map(str, g.arrays))
        free.update(g.arrays)
        for name, default in (("mbiw", 8), ("shift", 0), ("round", 1)):
            if getattr(g, name) != default:
                text += f", {name}={getattr(g, name)}"
        lines.append(text)
        most = 1 << g.mbiw - 1
        if g.weights is not None and (g.weights.min() < -most or g.weights.max() >= most):
            lines.append(f"; a weight does not fit mbiw = {g.mbiw}: the assembler refuses it")
        for name, values in (("weights", g.weights), ("bias", g.bias)):
            flat = [] if values is None else values.ravel().tolist()
            lines += [
                f".{name} {', '.join(map(str, flat[k : k + _LINE]))}"
                for k in range(0, len(flat), _LINE)
            ]
    return lines


# Instructions


def _offset(high):
    if not high:
        return ""
    select = high & 7
    return f", @{high >> 3}:{_LETTERS[select]}" if select else f", offset={high & 0xFFFF_FFFF:#x}"


def _plain(high):
    return f", {high >> 3}" if high else ""


_LETTERS = ["".join(letter for k, letter in enumerate(SELECTS) if n >> k & 1) for n in range(8)]
_NAMES = {i.opcode: i.mnemonic for i in ISA.instructions}
#: Formatter of an instruction's fields by opcode.
_MACHINE: dict[int, Callable[[int, int, int, int, int], str]] = {}


def _form(opcodes, function):
    _MACHINE.update((op, function(_NAMES[op])) for op in opcodes)


_form((0,), lambda m: lambda a, b, c, d, h: m)
_form((1,), lambda m: lambda a, b, c, d, h: f"{m} ${a}, {h}")
_form((2,), lambda m: lambda a, b, c, d, h: f"{m} ${a}, ${b}{_plain(h)}")
_form((3, 4, 5), lambda m: lambda a, b, c, d, h: f"{m} ${a}, ${b}, ${c}")
_form((6, 7), lambda m: lambda a, b, c, d, h: f"{m} ${a}, ${b}, {h}")
_form((8,), lambda m: lambda a, b, c, d, h: f"{m} {a or 32}, {b or 32}")
_form((9,), lambda m: lambda a, b, c, d, h: f"{m} ${a}, ${b}, {c or 32}, {d >> 10}, {d & 1023}")
_form(
    (10, 11, 12, 13, 14, 15, 16, 23, 24),
    lambda m: lambda a, b, c, d, h: f"{m} ${a}, ${b}, ${c}, {d}{_offset(h)}",
)
_form((17,), lambda m: lambda a, b, c, d, h: f"{m} ${a}, ${b}, ${c}, {d}{_plain(h)}")
_form((18, 19, 20, 25, 26, 28), lambda m: lambda a, b, c, d, h: f"{m} ${a}, ${b}, {d}{_offset(h)}")
_form((22,), lambda m: lambda a, b, c, d, h: f"{m} ${a}, ${b}, ${c}, {d}")
_form(
    (27,),
    lambda m: (
        lambda a, b, c, d, h: (
            f"{m} ${a}, {(b | c << 5) - 256 * ((b | c << 5) >> 7)}, {d}{_plain(h)}"
        )
    ),
)
_form((29, 30), lambda m: lambda a, b, c, d, h: f"{m} ${a}, {b | c << 5}, {d}{_plain(h)}")
_form((31, 32), lambda m: lambda a, b, c, d, h: f"{m} {a}, {b | c << 5}")


def fields_of(words: np.ndarray) -> tuple[list[int], ...]:
    """Splits each word into six lists: opcode, the fields at bits 6, 11, 16 and 21, and the signed
    high half."""
    fields = [
        ((words >> np.uint64(lo)) & np.uint64((1 << n) - 1)).tolist()
        for lo, n in ((0, 6), (6, 5), (11, 5), (16, 5), (21, 11))
    ]
    return (*fields, (words >> np.uint64(32)).astype(np.uint32).view(np.int32).tolist())


def undefined(words: np.ndarray) -> np.ndarray:
    """Mask of the words whose bits are not a legal instruction."""
    op = (words & np.uint64(63)).astype(np.int64)
    return ~_DEFINED[op] | (words & zero_masks()[op] != 0)


def _refused(words, core, number, cores, params):
    """Words that the assembler would refuse as text: ``(mask, {index: reason})``."""
    op = (words & np.uint64(63)).astype(np.int64)
    why = {}
    bad = ~_DEFINED[op]
    for k in np.flatnonzero(bad):
        why[k] = "illegal_opcode"
    field = ~bad & (words & zero_masks()[op] != 0)
    for k in np.flatnonzero(field):
        why[k] = "illegal_field"
    bad |= field
    first, second = words >> np.uint64(6) & np.uint64(1), words >> np.uint64(11) & np.uint64(1)
    odd = ~bad & (((op == 2) | (op == 25)) & (second != 0) | (op == 26) & (first != 0))
    for k in np.flatnonzero(odd):
        why[k] = "odd_pair"
    bad |= odd
    groups = dict(enumerate(core.groups))
    for mask, sentence in bad_words(words, number, groups, cores):
        for k in np.flatnonzero(mask & ~bad):
            why.setdefault(k, sentence(k))
        bad |= mask
    if params is not None:
        for k in np.flatnonzero(~bad & np.isin(op, (8, 19, 20))):
            fault = ISA.decode(int(words[k]), params).fault
            if fault is not None:
                why[k], bad[k] = fault, True
    return bad, why


def core_lines(
    core: CoreProgram, number: int, cores: int, params: Params | None = None
) -> list[str]:
    """Lines of one core's instructions; ``cores``: number of cores."""
    words, offsets = words_of(core.code, core.mode, core.count)
    bad, why = _refused(words, core, number, cores, params)
    if core.mode == 2:
        _, fits = narrow_words(words)
        usual = np.where(fits, 4, 8)
        for k in np.flatnonzero(~bad & (np.diff(offsets) != usual)):
            why[k], bad[k] = "not as it is assembled", True
    # Undefined opcodes are replaced below.
    table = [_MACHINE.get(op, _MACHINE[0]) for op in range(64)]
    lines = [table[op](a, b, c, d, h) for op, a, b, c, d, h in zip(*fields_of(words), strict=True)]
    for k in np.flatnonzero(bad):
        raw = int.from_bytes(core.code[offsets[k] : offsets[k + 1]], STORAGES[core.mode].order)
        digits = 2 * int(offsets[k + 1] - offsets[k])
        lines[k] = f".word 0x{raw:0{digits}x}  ; {why[k]}"
    end = int(offsets[len(words)])
    if len(words) < core.count or end < len(core.code):
        lines.append(
            f"; the code ends otherwise: {core.count} instructions, {len(core.code)} bytes"
        )
    return lines
