# SPDX-License-Identifier: BSD-2-Clause
"""Reads the info ROM of a board (docs/contracts.md, section 4)."""
import json
import struct
import zlib
from dataclasses import dataclass

from .base import TargetInfo

__all__ = ["Header", "parse_header", "parse_info", "read_info"]

MAGIC = b"QNTT"
WORDS = 16
#: The text of any board is a few hundred bytes; more is a damaged header.
LONGEST_TEXT = 1 << 16


@dataclass(frozen=True)
class Header:
    """The sixteen words that *identify* answers with."""
    protocol: int
    tag: str
    params_hash: int
    memory_base: int
    memory_size: int
    control_base: int
    control_size: int
    soc_base: int
    text_address: int
    text_length: int
    clock_hz: int
    board: str


def parse_header(data):
    """:class:`Header` of ``data`` (at least 64 bytes); raises ``ValueError``."""
    if len(data) < 4 * WORDS or data[:4] != MAGIC:
        raise ValueError("this is no quintet board (its header does not begin with QNTT)")
    words = struct.unpack(f"<{WORDS}I", bytes(data[:4 * WORDS]))
    if words[1] >> 16 < WORDS:
        raise ValueError(f"its header has {words[1] >> 16} words; expected at least {WORDS}")
    tag = data[8:12].decode("ascii", "replace") if words[2] else ""
    board = bytes(data[48:64]).rstrip(b"\0").decode("ascii", "replace")
    return Header(words[1] & 0xFFFF, tag, words[3], *words[4:12], board)


def parse_info(header, text, kind, link=None):
    """:class:`TargetInfo` of a header and its compressed text; raises ``ValueError``."""
    try:
        values = json.loads(zlib.decompress(text))
        return TargetInfo(
            kind=kind, board=values.get("board", header.board), isa=values.get("isa") or None,
            preset=values.get("preset") or None, params=values.get("params") or {},
            clock_hz=int(values.get("clock_hz") or header.clock_hz), memory_size=header.memory_size,
            memory=values.get("memory") or {}, link=values.get("link"), version=values.get("version"))
    except (zlib.error, ValueError, AttributeError, TypeError) as error:
        raise ValueError(f"its info text is damaged ({error})") from None


def read_info(client, kind, name):
    """Identify the board behind ``client``: ``(TargetInfo, Header)``; raises ``LinkError``."""
    from ..link.errors import LinkError
    try:
        header = parse_header(bytes(client.identify()))
        if header.text_length > LONGEST_TEXT:
            raise ValueError(f"its info text would have {header.text_length} bytes")
        return parse_info(header, client.read(header.text_address, header.text_length), kind), header
    except ValueError as error:
        raise LinkError(f"{name}: {error}") from None
