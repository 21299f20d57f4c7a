# SPDX-License-Identifier: BSD-2-Clause
"""Notices: frames between a host and the server of a board (docs/how/link.md, "Served boards").

Their first byte has bit 7 set and is no answer's, so that boards and hosts that know none drop
them.
"""

import enum
import re
import struct
import zlib

from .frames import cobs_decode, frame

__all__ = ["LONGEST", "TOKEN", "Notice", "decode_notice", "encode_notice"]

#: Longest notice, encoded, without its zero.
LONGEST = 254

#: Form of a token: without characters that a shell or the name of a target treats specially.
TOKEN = re.compile(r"[A-Za-z0-9._~-]{8,128}")


class Notice(enum.IntEnum):
    """Kinds of notices: the first byte of the frame."""

    HELLO = 0xF0  # from the host, first of all: a token, or nothing
    REFUSED = 0xF1  # to the host: the reason; then the connection ends
    TIME = 0xF2  # to the host: the board's time in nanoseconds, 8 bytes


def encode_notice(kind: Notice, body: bytes = b"") -> bytes:
    """Encodes a notice as a frame."""
    return frame(bytes([kind]) + body)


def decode_notice(encoded: bytes) -> tuple[Notice, bytes] | None:
    """Decodes kind and body of a notice from a frame (without its zero); ``None`` for any other
    frame."""
    # Cheap for all that is none: the first byte of the contents is no zero, and stands as it is.
    if not 6 <= len(encoded) <= LONGEST or encoded[1] not in set(Notice):
        return None
    contents = cobs_decode(encoded)
    if contents is None or zlib.crc32(contents[:-4]) != struct.unpack("<I", contents[-4:])[0]:
        return None
    return Notice(contents[0]), contents[1:-4]
