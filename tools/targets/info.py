# SPDX-License-Identifier: BSD-2-Clause
"""Reads the info ROM of a board (docs/contracts.md, section 4)."""
import json
import zlib

from .base import TargetInfo

__all__ = ["parse_info", "read_info"]

#: The text of any board is a few hundred bytes; more is a damaged header.
LONGEST_TEXT = 1 << 16


def parse_info(header, text, kind):
    """:class:`TargetInfo` of an ``InfoHeader`` and its compressed text; raises ``ValueError``."""
    try:
        values = json.loads(zlib.decompress(text))
        return TargetInfo(
            kind=kind, board=values.get("board") or header.board, isa=values.get("isa") or None,
            preset=values.get("preset") or None, params=dict(values.get("params") or {}),
            clock_hz=int(values.get("clock_hz") or header.clock_hz), memory_size=header.memory_size,
            memory=dict(values.get("memory") or {}), link=values.get("link"), version=values.get("version"))
    except (zlib.error, ValueError, AttributeError, TypeError) as error:
        raise ValueError(f"its info text is damaged ({error})") from None


def read_info(client, kind, name):
    """Identify the board behind ``client``: ``(TargetInfo, InfoHeader)``; raises ``LinkError``."""
    from ..link.errors import LinkError
    header = client.identify()
    try:
        if header.info_size > LONGEST_TEXT:
            raise ValueError(f"its info text would have {header.info_size} bytes")
        return parse_info(header, client.read(header.info_address, header.info_size), kind), header
    except ValueError as error:
        raise LinkError(f"{name}: {error}") from None
