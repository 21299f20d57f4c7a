# SPDX-License-Identifier: BSD-2-Clause
"""Reader of a board's info ROM (docs/how/contracts.md, section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...gateware.info import InfoError, parse_header, parse_info
from .base import TargetInfo

if TYPE_CHECKING:
    from ...gateware.info import Info
    from ..link.client import LinkClient

__all__ = ["read_info", "target_info"]

#: The text of any board is a few hundred bytes; more is a damaged header.
LONGEST_TEXT = 1 << 16


def target_info(header: Info, values: Mapping[str, Any], kind: str) -> TargetInfo:
    """Builds the :class:`TargetInfo` from a header and its info text; raises ``InfoError`` if the
    text is damaged."""
    try:
        return TargetInfo(
            kind=kind,
            board=values.get("board") or header.board,
            isa=values.get("isa") or None,
            preset=values.get("preset") or None,
            params=dict(values.get("params") or {}),
            clock_hz=int(values.get("clock_hz") or header.clock_hz),
            memory_size=header.memory_size,
            memory=dict(values.get("memory") or {}),
            link=values.get("link"),
            version=values.get("version"),
            run_list=bool(values.get("run_list")),
            boot=bool(values.get("boot")),
        )
    except (AttributeError, TypeError, ValueError) as error:
        raise InfoError(f"info text is damaged: {error}") from None


def read_info(client: LinkClient, kind: str, name: str) -> tuple[TargetInfo, Info]:
    """Identifies the board behind ``client``: ``(TargetInfo, gateware.info.Info)``; raises
    ``LinkError``."""
    from ..link.errors import LinkError

    try:
        header = parse_header(client.identify())
        if header.info_length > LONGEST_TEXT:
            raise InfoError(f"info text would have {header.info_length} bytes")
        return target_info(
            header, parse_info(client.read(header.info_address, header.info_length)), kind
        ), header
    except InfoError as error:
        raise LinkError(f"{name}: {error}") from None
