# SPDX-License-Identifier: BSD-2-Clause
"""Memory port, the interface between cores and main memory (docs/how/contracts.md, section 2)."""

from amaranth import unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arguments import check_integer

__all__ = ["MAX_BEATS", "MemoryPort", "ReadLayout", "RequestLayout", "WriteLayout"]

#: Largest number of beats of one request.
MAX_BEATS = 256


class RequestLayout(data.StructLayout):
    """Request of a burst: address, direction and number of beats.

    Members
    -------
    address : unsigned(32), byte address of the first beat; a multiple of the beat's size
    beats : unsigned(8), number of beats less one (0 = 1 beat, 255 = 256 beats)
    write : unsigned(1)
    """

    def __init__(self):
        super().__init__({"address": unsigned(32), "beats": unsigned(8), "write": unsigned(1)})


class WriteLayout(data.StructLayout):
    """Write beat: ``data`` (little-endian bytes) and ``mask``, one bit per byte, 1 = write this
    byte."""

    def __init__(self, beat_bytes: int) -> None:
        super().__init__({"data": unsigned(8 * beat_bytes), "mask": unsigned(beat_bytes)})


class ReadLayout(data.StructLayout):
    """Read beat: ``data``, ``error``, and ``last`` on the last beat of its request."""

    def __init__(self, beat_bytes: int) -> None:
        super().__init__(
            {"data": unsigned(8 * beat_bytes), "error": unsigned(1), "last": unsigned(1)}
        )


class MemoryPort(wiring.Signature):
    """Memory port, seen from the requester (core, DMA, bus bridge).

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat: a power of two from 1 to 16 for real backings; test memories may have any.

    Members
    -------
    req : Out, stream of :class:`RequestLayout`
    w : Out, stream of :class:`WriteLayout`
    r : In, stream of :class:`ReadLayout`
    ack : In, stream of ``error`` (1 bit), one a write request
    """

    def __init__(self, beat_bytes: int) -> None:
        check_integer("Beat size", beat_bytes, 1, 128, unit="bytes")
        self._beat_bytes = beat_bytes
        super().__init__(
            {
                "req": Out(stream.Signature(RequestLayout())),
                "w": Out(stream.Signature(WriteLayout(beat_bytes))),
                "r": In(stream.Signature(ReadLayout(beat_bytes))),
                "ack": In(stream.Signature(data.StructLayout({"error": unsigned(1)}))),
            }
        )

    @property
    def beat_bytes(self) -> int:
        """Bytes of a beat."""
        return self._beat_bytes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemoryPort) and self._beat_bytes == other._beat_bytes

    def __repr__(self) -> str:
        return f"MemoryPort({self._beat_bytes})"
