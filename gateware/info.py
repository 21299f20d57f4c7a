# SPDX-License-Identifier: BSD-2-Clause
"""Contents of the info ROM, by which a host identifies a board and its core (docs/how/contracts.md,
section 4). Pure Python."""

import json
import struct
import zlib
from dataclasses import dataclass
from typing import Any

from .link.protocol import VERSION as PROTOCOL_VERSION

__all__ = [
    "CONTROL_BASE",
    "CONTROL_SIZE",
    "INFO_BASE",
    "MEMORY_BASE",
    "PROTOCOL_VERSION",
    "RUN_LIST_BASE",
    "SOC_BASE",
    "Info",
    "InfoError",
    "info_rom",
    "parse_header",
    "parse_info",
]

MEMORY_BASE = 0x0000_0000
CONTROL_BASE = 0x8000_0000
CONTROL_SIZE = 0x1000
SOC_BASE = 0x8001_0000
#: Registers of the walker of lists of runs, where a build has one.
RUN_LIST_BASE = 0x8001_0100
INFO_BASE = 0x8002_0000
HEADER_WORDS = 16
MAGIC = b"QNTT"


class InfoError(ValueError):
    """Error: the data are not an info ROM, or one that this version cannot read."""


@dataclass(frozen=True)
class Info:
    """Fields of the header; ``tag`` is ``None`` without a core."""

    protocol: int
    tag: str | None
    params_hash: int
    memory_base: int
    memory_size: int
    control_base: int
    control_size: int
    soc_base: int
    info_address: int
    info_length: int
    clock_hz: int
    board: str


def info_rom(
    *,
    text: dict[str, Any],
    tag: str | None,
    params_hash: int,
    memory_size: int,
    clock_hz: int,
    board: str,
) -> bytes:
    """Builds the ROM's contents: header and compressed text.

    Parameters
    ----------
    text : dict
        What the JSON says.
    tag : str or None
        Four ASCII characters of the core; ``None`` without one.
    params_hash, memory_size, clock_hz : int
    board : str
        At most 16 ASCII characters.

    Returns
    -------
    bytes
    """
    if not board.isascii() or not 0 < len(board) <= 16:
        raise ValueError(f"Board name must be 1 to 16 ASCII characters, not {board!r}")
    packed = zlib.compress(json.dumps(text, sort_keys=True, separators=(",", ":")).encode(), 9)
    header = struct.pack(
        "<4sHH4s9I16s",
        MAGIC,
        PROTOCOL_VERSION,
        HEADER_WORDS,
        (tag or "\0\0\0\0").encode(),
        params_hash,
        MEMORY_BASE,
        memory_size,
        CONTROL_BASE if tag else 0,
        CONTROL_SIZE if tag else 0,
        SOC_BASE,
        INFO_BASE + 4 * HEADER_WORDS,
        len(packed),
        clock_hz,
        board.encode(),
    )
    return header + packed + bytes(-len(packed) % 4)


def parse_header(data: bytes) -> Info:
    """Parses the fixed-size header of an info ROM into an :class:`Info`.

    Raises
    ------
    InfoError
        Too short, or not a header.
    """
    if len(data) < 4 * HEADER_WORDS:
        raise InfoError(f"info header has {len(data)} bytes, not {4 * HEADER_WORDS}")
    magic, protocol, words, tag, *numbers, board = struct.unpack_from("<4sHH4s9I16s", data)
    if magic != MAGIC or words < HEADER_WORDS:
        raise InfoError("this is not the info header of a quintet board")
    (
        hash_,
        memory_base,
        memory_size,
        control_base,
        control_size,
        soc_base,
        address,
        length,
        clock,
    ) = numbers
    return Info(
        protocol,
        tag.decode("ascii", "replace") if any(tag) else None,
        hash_,
        memory_base,
        memory_size,
        control_base,
        control_size,
        soc_base,
        address,
        length,
        clock,
        board.rstrip(b"\0").decode("ascii", "replace"),
    )


def parse_info(packed: bytes) -> dict[str, Any]:
    """Decodes the dict in the compressed text.

    Raises
    ------
    InfoError
        Damaged.
    """
    try:
        return json.loads(zlib.decompress(packed))
    except (zlib.error, ValueError) as error:
        raise InfoError(f"info text is damaged: {error}") from None
