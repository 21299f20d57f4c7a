# SPDX-License-Identifier: BSD-2-Clause
"""Disassembly of program images and lists: text that assembles to the same bytes (specification,
section 3.2). Pure Python."""

import struct
from collections.abc import Callable
from types import SimpleNamespace

from ....isa.parameters import Params
from ....isa.software import Software
from ....isa.table import TableError
from ..image import (
    DESCRIPTOR_BYTES,
    FILL,
    IN,
    LIST_MAGIC,
    OUT,
    ImageError,
    image_bytes,
    list_bytes,
    read_descriptor,
    read_image,
    read_list_header,
    read_step,
    row_words,
)
from .structure import Checker

__all__ = ["listing"]

_LOOP_WORDS = ("start_loop", "start_independent_loop", "end_loop_or_jump_if_needed")


def _signed18(value):
    return value - (value >> 17 << 18)


def _words(data, base=0):
    """Words of ``data``, by offset from ``base``."""

    def word(offset):
        if base + offset + 4 > len(data):
            raise TableError(
                f"the file ends at byte {len(data)}, expected a word at {base + offset:#x}"
            )
        return struct.unpack_from("<I", data, base + offset)[0]

    return word


def listing(
    software: Software, data: bytes, params: Params | None, text: Callable[..., str]
) -> str:
    """Assembly text of an image or list.

    Raises
    ------
    TableError
        ``data`` is neither, or not laid out as the assembler does it.
    """
    try:
        if _words(data)(0) == LIST_MAGIC:
            lines, again = _list(software.isa, data, text)
        else:
            image = read_image(_words(data))
            lines, again = _program(software.isa, image, text), image_bytes(image)
    except ImageError as error:
        raise TableError(
            f"word {error.word:#010x} at offset {error.offset:#x} is refused (fault "
            f"{error.fault}), expected a program "
            "image (CHRY) or list (CHRL)"
        ) from None
    if again != data:
        where = next(
            (k for k, (a, b) in enumerate(zip(again, data, strict=False)) if a != b),
            min(len(again), len(data)),
        )
        raise TableError(f"byte {where:#x} is not as the assembler lays out an image or list")
    return "".join(line + "\n" for line in lines)


# Programs


def _program(isa, image, text):
    lines = []
    needs = [f"contexts={image.contexts}"] * bool(image.contexts) + ["acc_frac=17"] * image.wide
    if needs:
        lines.append(".needs " + " ".join(needs))
    for k, (count, _) in image.loops.items():
        lines.append(f".loop d{k} {count} $d{k}")
    for k, unit in image.units.items():
        terms = "".join(f" d{loop}:{_signed18(value)}" for loop, value in unit.coefficients.items())
        lines.append(
            f".apu a{k} {unit.address} {_signed18(unit.stride_x)} "
            f"{_signed18(unit.stride_y)}{terms} $a{k}"
        )
    nested, depth = _is_nested(isa, image), 0
    for word in image.words:
        decoded = isa.decode(word)
        raw = decoded.instruction is not None and (
            not nested
            and decoded.instruction.mnemonic in _LOOP_WORDS
            or _undeclared(decoded.values, image)
        )
        line = f".word {word:#07x}" if raw else text(word, struct.pack("<I", word))
        depth -= line.startswith("end_loop")
        lines.append("  " * depth + line)
        depth += line.startswith("start_")
    return lines


def _undeclared(values, image):
    return ("loop" in values and values["loop"] not in image.loops) or (
        "apu" in values and values["apu"] not in image.units
    )


class _NotNested(Exception):
    """Error: loops are not properly nested, so that the program has no text."""


def _is_nested(isa, image):
    """Whether loop starts and ends nest as the assembler requires; otherwise they are printed as
    raw words."""

    def fail(place, message, expected=""):
        raise _NotNested

    items = []
    for word in image.words:
        decoded = isa.decode(word)
        known = decoded.fault is None and not _undeclared(decoded.values, image)
        items.append(
            SimpleNamespace(
                instruction=decoded.instruction if known else None,
                values=decoded.values,
                raw=False,
                place=None,
            )
        )
    recorded = {k: body for k, (_, body) in image.loops.items()}
    try:
        counted = Checker(items, {}, {}, {}, True, fail, lambda place, message: None).bodies
        if {k: counted.get(k, 0) for k in recorded} == recorded:
            return True
    except _NotNested:
        pass
    if any(recorded.values()):
        raise TableError("loop records do not match the program's starts and ends")
    return False


# Lists


def _list(isa, data, text):
    steps, size = read_list_header(_words(data))
    entries = [read_step(_words(data), k, size) for k in range(steps)]
    names, lines = {}, []
    for entry in entries:
        if entry.image not in names:
            image = read_image(_words(data, entry.image))
            names[entry.image] = f"p{len(names)}", image
            lines += [f".program {names[entry.image][0]}", *_program(isa, image, text)]
    again = []
    for entry in entries:
        name, image = names[entry.image]
        line = f".step {name}" + " prefetch" * entry.prefetch + " defer" * entry.defer
        if entry.rebase and not entry.mask:
            raise TableError("a step rebases no address unit")
        if entry.mask:
            units = ",".join(f"a{k}" for k in range(32) if entry.mask >> k & 1)
            line += f" rebase={_signed18(entry.rebase)} apus={units}"
        lists = [_descriptors(data, offset) for offset in (entry.in_list, entry.out_list)]
        lines += [
            line,
            *(_transfer(d, k == 1) for k, descriptors in enumerate(lists) for d in descriptors),
        ]
        again.append((image_bytes(image), entry, *lists))
    return lines, list_bytes(again)


def _descriptors(data, offset):
    found = []
    while offset and (descriptor := read_descriptor(_words(data, offset))) is not None:
        found.append(descriptor)
        offset += DESCRIPTOR_BYTES
    return found


def _transfer(d, out_list):
    if (d.op == OUT) != out_list:
        raise TableError("a transfer stands in the other list than the assembler puts it into")
    options = ""
    if d.op == FILL:
        if d.pitch:
            raise TableError("a fill has a pitch")
        head = f".fill {d.main:#x}"
    else:
        head = f".{'in' if d.op == IN else 'out'} {d.format} {d.main:#x}"
        if d.pitch != 4 * row_words(d.format, d.cols):
            options += f" pitch={d.pitch}"
    if d.mem_pitch != d.cols:
        options += f" mem_pitch={d.mem_pitch}"
    if d.mem_step != 1:
        options += f" mem_step={d.mem_step}"
    return f"{head} {d.mem} {d.rows} {d.cols}{options}"
