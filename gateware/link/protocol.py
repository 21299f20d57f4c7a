# SPDX-License-Identifier: BSD-2-Clause
"""Numbers of the link protocol (docs/link.md), for gateware and host alike. Pure Python."""
import enum

__all__ = ["ANSWER", "INFO_ADDRESS", "INFO_BYTES", "MAX_DATA", "OVERHEAD", "VERSION", "Operation", "Status"]

#: Version of the protocol, for word 1 of the info header.
VERSION = 1

#: Set in the first byte of an answer.
ANSWER = 0x80

#: Where the info ROM lies, and how much of it identify asks for.
INFO_ADDRESS = 0x8002_0000
INFO_BYTES = 64

#: Most data bytes of a write request.
MAX_DATA = 512

#: Bytes of a request around its data: operation, session (2), sequence, address (4), CRC (4).
OVERHEAD = 12


class Operation(enum.IntEnum):
    IDENTIFY = 0
    READ = 1
    WRITE = 2
    CHECKSUM = 3


class Status(enum.IntEnum):
    OK = 0
    BUS_ERROR = 1
    SEQUENCE = 2
    SESSION = 3
    BAD_REQUEST = 4
