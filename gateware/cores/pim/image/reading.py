# SPDX-License-Identifier: BSD-2-Clause
"""Reader of program images, with every check of LOAD (specification, sections 3.6 and 6, fault
TABLE).

Order of the checks: the header's fields as they lie, then core by core its entry's fields and,
entry by entry, the fields of its groups. A length that makes an offset run out of the image is
blamed on the length (``code bytes``, ``number of groups``); reserved bytes on the first byte of
their field.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from ....isa.parameters import Params
from .fields import AUTO, CORE_ENTRY, GROUP_ENTRY, HEADER, MAGIC, MOST_ARRAYS, VERSION

__all__ = ["CoreEntry", "GroupEntry", "Tables", "TableFault", "read_tables"]


class TableFault(ValueError):
    """Error in a field of the image; ``detail`` is its offset in the image."""

    def __init__(self, detail: int, message: str) -> None:
        super().__init__(message)
        self.detail = detail


@dataclass
class GroupEntry:
    """A group's entry as read. ``weights`` and ``bias`` are offsets in the image; ``bias_at`` is
    the index of its first bias word."""

    rows: int
    cols: int
    mbiw: int
    shift: int
    round: int
    has_bias: int
    arrays: tuple[int, ...]
    weights: int
    bias: int
    bias_at: int


@dataclass
class CoreEntry:
    """A core's entry in the image's tables."""

    code: int
    count: int
    code_bytes: int
    mode: int
    wait_mode: int
    ibiw: int
    obiw: int
    fi: int
    fo: int
    groups: list[GroupEntry] = field(default_factory=list)


@dataclass
class Tables:
    """Tables of a program image: the geometry of its arrays, GMem, and its cores."""

    size: int
    xb_rows: int
    xb_cols: int
    gmem_base: int
    gmem_size: int
    cores: list[CoreEntry]


class _Reader:
    def __init__(self, data, params, most):
        self.data, self.params, self.most = data, params, most
        self.size = len(data)

    def limit(self, name, otherwise):
        return otherwise if self.params is None else self.params[name]

    def need(self, good, at, message):
        if not good:
            raise TableFault(at, f"{message} (offset {at:#x} of the image)")

    def inside(self, offset, size):
        return offset + size <= self.size

    def header(self):
        need = self.need
        need(len(self.data) >= HEADER, 0, "the image's header is not inside the memory window")
        magic, version, header, size, cores, spare, table, rows, cols, base, gmem, rest = (
            struct.unpack_from("<4sHHIHHIHHII32s", self.data)
        )
        need(magic == MAGIC, 0x00, f"no program image, expected it to begin with {MAGIC.decode()}")
        need(version == VERSION, 0x04, f"version {version} of the image, expected {VERSION}")
        need(header == HEADER, 0x06, f"a header of {header} bytes, expected {HEADER}")
        need(size <= self.most, 0x08, f"an image of {size} bytes, expected at most {self.most}")
        self.size = size
        most = self.limit("cores", 1024)
        need(1 <= cores <= most, 0x0C, f"{cores} core entries, expected 1 to {most}")
        need(not spare, 0x0E, "reserved bytes are not zero")
        need(
            table % 64 == 0 and self.inside(table, CORE_ENTRY * cores),
            0x10,
            f"core table at {table:#x}, expected a multiple of 64 inside the image",
        )
        for at, name, value in ((0x14, "xb_rows", rows), (0x16, "xb_cols", cols)):
            need(
                value and value == self.limit(name, value),
                at,
                f"{name} = {value}, expected {self.limit(name, 64)}",
            )
        need(not any(rest), 0x20, "reserved bytes are not zero")
        tables = Tables(size, rows, cols, base, gmem, [])
        for k in range(cores):
            tables.cores.append(self.core(table + CORE_ENTRY * k, f"core {k}", rows, cols))
        return tables

    def core(self, at, who, xb_rows, xb_cols):
        def need(good, offset, message):
            self.need(good, at + offset, f"{who}: {message}")

        code, count, size, mode, wait, ibiw, obiw, table, groups, fi, fo, rest = struct.unpack_from(
            "<3I4BIHBB8s", self.data, at
        )
        need(
            code % 8 == 0 and code <= self.size,
            0x00,
            f"code at {code:#x}, expected a multiple of 8 inside the image",
        )
        need(
            size % 4 == 0
            and self.inside(code, size)
            and (mode not in (0, 1) or size == (8, 4)[mode] * count),
            0x08,
            f"{size} bytes of code for {count} instructions in mode {mode}",
        )
        need(mode <= 2, 0x0C, f"mode {mode}, expected 0 to 2")
        need(wait <= 1, 0x0D, f"wait mode {wait}, expected 0 or 1")
        for offset, name, value in ((0x0E, "ibiw", ibiw), (0x0F, "obiw", obiw)):
            need(
                1 <= value <= self.limit("max_biw", 32),
                offset,
                f"{name} = {value}, expected 1 to {self.limit('max_biw', 32)}",
            )
        need(
            table % 64 == 0 and table <= self.size,
            0x10,
            f"group table at {table:#x}, expected a multiple of 64 inside the image",
        )
        need(
            groups <= self.limit("groups", 1024) and self.inside(table, GROUP_ENTRY * groups),
            0x14,
            f"{groups} groups, expected at most {self.limit('groups', 1024)}, all inside the image",
        )
        for offset, name, value in ((0x16, "fi", fi), (0x17, "fo", fo)):
            need(
                value <= 31 or value == AUTO,
                offset,
                f"{name} = {value}, expected 0 to 31, or {AUTO}",
            )
        need(not any(rest), 0x18, "reserved bytes are not zero")
        entry, biases = CoreEntry(code, count, size, mode, wait, ibiw, obiw, fi, fo), 0
        for n in range(groups):
            group = self.group(
                table + GROUP_ENTRY * n, f"{who}, group {n}", xb_rows, xb_cols, biases
            )
            biases += group.cols if group.has_bias else 0
            entry.groups.append(group)
        return entry

    def group(self, at, who, xb_rows, xb_cols, biases):
        def need(good, offset, message):
            self.need(good, at + offset, f"{who}: {message}")

        rows, cols, mbiw, shift, flags, number, weights, bias, *ids, rest = struct.unpack_from(
            "<HH4BII16H16s", self.data, at
        )
        need(1 <= rows <= 1024, 0x00, f"{rows} rows, expected 1 to 1024")
        need(1 <= cols <= 1024, 0x02, f"{cols} columns, expected 1 to 1024")
        need(1 <= mbiw <= 8, 0x04, f"mbiw = {mbiw}, expected 1 to 8")
        need(shift <= 47, 0x05, f"shift = {shift}, expected 0 to 47")
        need(flags <= 3, 0x06, "reserved bits are not zero")
        tiles = -(-cols // xb_cols)
        wanted = -(-rows // xb_rows) * tiles
        need(
            number == wanted and number <= MOST_ARRAYS,
            0x07,
            f"{number} arrays, expected {wanted} for {rows} x {cols}, and at most {MOST_ARRAYS}",
        )
        need(
            weights % 8 == 0 and (not weights or self.inside(weights, rows * tiles * xb_cols)),
            0x08,
            f"weights at {weights:#x}, expected a multiple of 8, all of them inside the image",
        )
        if flags & 2:
            most = self.limit("bias_words", 4096)
            need(
                bias % 8 == 0 and self.inside(bias, 4 * cols),
                0x0C,
                f"bias at {bias:#x}, expected a multiple of 8, all of it inside the image",
            )
            need(biases + cols <= most, 0x0C, f"{biases + cols} biases, expected at most {most}")
        for k, array in enumerate(ids):
            if k >= number:
                need(array == 0, 0x10 + 2 * k, "an unused array id is not zero")
            else:
                need(
                    array < self.limit("arrays", 64),
                    0x10 + 2 * k,
                    f"array {array}, expected 0 to {self.limit('arrays', 64) - 1}",
                )
                need(array not in ids[:k], 0x10 + 2 * k, f"array {array} stands twice")
        need(not any(rest), 0x30, "reserved bytes are not zero")
        return GroupEntry(
            rows,
            cols,
            mbiw,
            shift,
            flags & 1,
            flags >> 1,
            tuple(ids[:number]),
            weights,
            bias,
            biases,
        )


def read_tables(
    data: bytes | memoryview, params: Params | None = None, most: int | None = None
) -> Tables:
    """Reads and checks the tables of an image.

    Parameters
    ----------
    data : bytes or memoryview
        From the image's first byte to the end of the window, or the whole file.
    params : dict, optional
        Build parameters; ``None``: the most that any build could hold.
    most : int, optional
        Most bytes the image may have (program length, window); by default all of ``data``.

    Returns
    -------
    Tables

    Raises
    ------
    TableFault
        The first wrong field.
    """
    return _Reader(data, params, len(data) if most is None else min(most, len(data))).header()
