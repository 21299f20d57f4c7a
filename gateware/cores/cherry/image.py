# SPDX-License-Identifier: BSD-2-Clause
"""Formats of Cherry's program images, program lists and DMA descriptors in main memory
(specification, sections 3.3, 3.4, 7.2).

One reader serves model, listing and tests: it asks for words by their offset and refuses the first
wrong one. Pure Python.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...isa.parameters import Params

__all__ = [
    "BITS",
    "DESCRIPTOR_BYTES",
    "END",
    "FILL",
    "FORMATS",
    "IN",
    "IMAGE_MAGIC",
    "LIST_MAGIC",
    "OUT",
    "Descriptor",
    "ImageError",
    "ProgramImage",
    "Step",
    "Unit",
    "image_bytes",
    "list_bytes",
    "read_descriptor",
    "read_image",
    "read_list_header",
    "read_step",
    "relocated",
    "row_words",
]

IMAGE_MAGIC, LIST_MAGIC = 0x5952_4843, 0x4C52_4843
VERSION = 1
HEADER_WORDS, ENTRY_WORDS, DESCRIPTOR_BYTES = 8, 8, 32
#: Bits of an element in main memory, by format.
FORMATS = ("fp32", "bf16", "packed", "raw")
BITS = {"fp32": 32, "bf16": 16, "packed": 18, "raw": 32}

_LOW18 = (1 << 18) - 1
#: Operations of descriptors.
END, IN, OUT, FILL = range(4)


class ImageError(Exception):
    """Error in a word of an image: ``fault`` by name, the word's ``offset`` and the ``word``."""

    def __init__(self, fault: str, offset: int, word: int) -> None:
        super().__init__(f"{fault}: word {word:#010x} at offset {offset:#x}")
        self.fault, self.offset, self.word = fault, offset, word


@dataclass
class Unit:
    """Record of an address unit; ``coefficients``: loop -> elements per iteration. All values
    modulo 2^18."""

    address: int
    stride_x: int
    stride_y: int
    coefficients: dict[int, int] = field(default_factory=dict)


@dataclass
class ProgramImage:
    """Program image: its requirements, records and instruction words.

    ``loops``: index -> (iterations, body length); ``units``: index -> :class:`Unit`; ``size``:
    words of the image as read.
    """

    contexts: int = 0
    special: bool = False
    axes: bool = False
    wide: bool = False
    loops: dict[int, tuple[int, int]] = field(default_factory=dict)
    units: dict[int, Unit] = field(default_factory=dict)
    words: list[int] = field(default_factory=list)

    @property
    def code_word(self) -> int:
        """Word index of the first instruction."""
        return (
            HEADER_WORDS
            + 2 * len(self.loops)
            + sum(4 + len(u.coefficients) for u in self.units.values())
        )

    @property
    def size(self) -> int:
        """Size of the image in words."""
        return self.code_word + len(self.words)


@dataclass
class Step:
    """Entry of a program list: offsets in bytes from the list's start (0 = none)."""

    image: int
    in_list: int = 0
    out_list: int = 0
    prefetch: bool = False
    defer: bool = False
    rebase: int = 0
    mask: int = 0


@dataclass(frozen=True)
class Descriptor:
    """DMA descriptor: a transfer of ``rows`` x ``cols`` elements. For a fill, ``main`` is the
    pattern."""

    op: int
    format: str = "fp32"
    main: int = 0
    mem: int = 0
    rows: int = 1
    cols: int = 1
    pitch: int = 0
    mem_pitch: int = 0
    mem_step: int = 1

    def to_bytes(self) -> bytes:
        """Encodes the descriptor in its 32 bytes."""
        code = FORMATS.index(self.format) if self.op in (IN, OUT) else 0
        return struct.pack(
            "<IIIHHiiiI",
            self.op | code << 8,
            self.main,
            self.mem,
            self.cols,
            self.rows,
            self.pitch,
            self.mem_pitch,
            self.mem_step,
            0,
        )


def row_words(fmt: str, cols: int) -> int:
    """Number of words of one row in main memory."""
    return -(-cols * BITS[fmt] // 32)


# Writing


def image_bytes(image: ProgramImage) -> bytes:
    """Encodes a :class:`ProgramImage`."""
    words = [
        IMAGE_MAGIC,
        VERSION | image.size << 16,
        image.contexts | image.special << 8 | image.axes << 9 | image.wide << 10,
        len(image.words) | len(image.units) << 16 | sum(1 << k for k in image.loops) << 24,
        0,
        0,
        0,
        0,
    ]
    for _, record in sorted(image.loops.items()):
        words += record
    for index, unit in sorted(image.units.items()):
        words += [
            index | sum(1 << k for k in unit.coefficients) << 8,
            unit.address & _LOW18,
            unit.stride_x & _LOW18,
            unit.stride_y & _LOW18,
            *(c & _LOW18 for _, c in sorted(unit.coefficients.items())),
        ]
    words += image.words
    return struct.pack(f"<{len(words)}I", *words)


def list_bytes(
    steps: Sequence[tuple[bytes, Step, Sequence[Descriptor], Sequence[Descriptor]]],
) -> bytes:
    """Encodes a program list: its entries, each step's in list and out list, then the images in
    order of first use.

    ``steps``: list of (image bytes, Step without offsets, in descriptors, out descriptors); equal
    images lie there once.
    """
    offset = 4 * HEADER_WORDS + 4 * ENTRY_WORDS * len(steps)
    lists, images, entries, found = [], [], [], {}
    for _, step, *both in steps:
        for name, descriptors in zip(("in_list", "out_list"), both, strict=True):
            if descriptors:
                setattr(step, name, offset)
                lists.append(b"".join(d.to_bytes() for d in descriptors) + bytes(DESCRIPTOR_BYTES))
                offset += len(lists[-1])
    for data, step, *_ in steps:
        if data not in found:
            found[data] = offset
            images.append(data)
            offset += len(data)
        step.image = found[data]
        entries.append(
            struct.pack(
                "<8I",
                step.image,
                step.in_list,
                step.out_list,
                step.prefetch | step.defer << 1,
                step.rebase & _LOW18,
                step.mask,
                0,
                0,
            )
        )
    header = struct.pack("<8I", LIST_MAGIC, VERSION | len(steps) << 16, offset, 0, 0, 0, 0, 0)
    return header + b"".join(entries) + b"".join(lists) + b"".join(images)


# Reading. ``word(offset)`` gives a word; what it raises passes through.


def _check(condition, fault, offset, word):
    if not condition:
        raise ImageError(fault, offset, word)


def _magic(word, magic):
    first = word(0)
    _check(first == magic, "image", 0, first)


def read_image(
    word: Callable[[int], int], params: Params | None = None, limit: int = 0
) -> ProgramImage:
    """Reads the :class:`ProgramImage` from the words ``word(offset)``, with all checks in order.

    ``params``: of the build, or ``None``: nothing is checked against it. ``limit``: bytes that it
    may take; 0: any.

    Raises
    ------
    ImageError
    """
    _magic(word, IMAGE_MAGIC)
    second = word(4)
    size = second >> 16
    _check(second & 0xFFFF == VERSION and size >= HEADER_WORDS, "image", 4, second)
    _check(not limit or 4 * size <= limit, "capacity", 4, second)
    flags = word(8)
    _check(not flags >> 11, "image", 8, flags)
    image = ProgramImage(
        flags & 0xFF, bool(flags >> 8 & 1), bool(flags >> 9 & 1), bool(flags >> 10 & 1)
    )
    if params is not None:
        _check(image.contexts <= params["contexts"], "capacity", 8, flags)
        _check(
            not (image.special and not params["sfu_lanes"])
            and not (image.axes and not params["reduce_axes"])
            and image.wide == (params["acc_frac"] == 17),
            "feature",
            8,
            flags,
        )
    counts = word(12)
    instructions, units, mask = counts & 0xFFFF, counts >> 16 & 0x3F, counts >> 24
    _check(not counts >> 22 & 3 and units <= 32, "image", 12, counts)
    if params is not None:
        _check(instructions <= params["imem"], "capacity", 12, counts)
    for offset in range(16, 32, 4):
        reserved = word(offset)
        _check(not reserved, "image", offset, reserved)
    offset = 4 * HEADER_WORDS

    def take(bits=18):
        nonlocal offset
        _check(offset < 4 * size, "image", 4, second)
        value = word(offset)
        _check(not value >> bits, "image", offset, value)
        offset += 4
        return value

    for k in range(8):
        if mask >> k & 1:
            count = take()
            image.loops[k] = count, take()
    last = -1
    for _ in range(units):
        at, record = offset, take(16)
        index, loops = record & 0x1F, record >> 8
        _check(not record & 0xE0 and index > last, "image", at, record)
        last = index
        address, stride_x, stride_y = take(), take(), take()
        image.units[index] = Unit(
            address, stride_x, stride_y, {k: take() for k in range(8) if loops >> k & 1}
        )
    image.words = [take() for _ in range(instructions)]
    _check(offset == 4 * size, "image", 4, second)
    return image


def read_list_header(word: Callable[[int], int], limit: int = 0) -> tuple[int, int]:
    """Reads a program list's header: (number of steps, bytes of the list). Raises
    :class:`ImageError`."""
    _magic(word, LIST_MAGIC)
    second = word(4)
    steps = second >> 16
    _check(second & 0xFFFF == VERSION and steps, "image", 4, second)
    size = word(8)
    _check(not limit or size <= limit, "capacity", 8, size)
    _check(size >= 4 * HEADER_WORDS + 4 * ENTRY_WORDS * steps, "image", 8, size)
    for offset in range(12, 32, 4):
        reserved = word(offset)
        _check(not reserved, "image", offset, reserved)
    return steps, size


def read_step(word: Callable[[int], int], index: int, size: int) -> Step:
    """Reads entry ``index`` of a list of ``size`` bytes, a :class:`Step`. Raises
    :class:`ImageError`."""
    base = 4 * (HEADER_WORDS + ENTRY_WORDS * index)
    values = []
    for k in range(ENTRY_WORDS):
        value = word(base + 4 * k)
        if k == 0:
            good = not value & 3 and value and value < size
        elif k < 3:
            good = not value & 3 and value < size
        else:
            good = not value >> (2, 18, 32, 0, 0)[k - 3]
        _check(good, "image", base + 4 * k, value)
        values.append(value)
    image, in_list, out_list, flags, rebase, mask, *_ = values
    return Step(image, in_list, out_list, bool(flags & 1), bool(flags >> 1), rebase, mask)


def read_descriptor(word: Callable[[int], int]) -> Descriptor | None:
    """Reads a :class:`Descriptor` from eight words; ``None`` at the end of a list. Raises
    :class:`ImageError` (fault descriptor)."""
    words = [word(4 * k) for k in range(8)]
    op, code = words[0] & 0xFF, words[0] >> 8 & 0xFF
    _check(not words[0] >> 16 and op <= FILL, "descriptor", 0, words[0])
    if op == END:
        return None
    _check(code < len(FORMATS) and (op != FILL or not code), "descriptor", 0, words[0])
    _check(not words[1] >> 18 if op == FILL else not words[1] & 3, "descriptor", 4, words[1])
    _check(not words[2] >> 18, "descriptor", 8, words[2])
    cols, rows = words[3] & 0xFFFF, words[3] >> 16
    _check(cols and rows, "descriptor", 12, words[3])
    _check(op == FILL or not words[4] & 3, "descriptor", 16, words[4])
    _check(not words[7], "descriptor", 28, words[7])
    pitch, mem_pitch, mem_step = (w - (w >> 31 << 32) for w in words[4:7])
    return Descriptor(op, FORMATS[code], words[1], words[2], rows, cols, pitch, mem_pitch, mem_step)


def relocated(data: bytes, move: Callable[[int], int]) -> bytes:
    """A program list whose transfers have other addresses in main memory: ``move(address)``."""
    moved = bytearray(data)

    def words(base):
        return lambda offset: struct.unpack_from("<I", data, base + offset)[0]

    steps, size = read_list_header(words(0))
    for index in range(steps):
        entry = read_step(words(0), index, size)
        for at in filter(None, (entry.in_list, entry.out_list)):
            while (descriptor := read_descriptor(words(at))) is not None:
                if descriptor.op != FILL:
                    struct.pack_into("<I", moved, at + 4, move(descriptor.main))
                at += DESCRIPTOR_BYTES
    return bytes(moved)
