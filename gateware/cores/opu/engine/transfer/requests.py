# SPDX-License-Identifier: BSD-2-Clause
"""Request generator: bursts of the memory port from the geometry of a transfer."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .....memory.port import RequestLayout
from .....parts.datapath import without_reset
from ...isa import UNIT
from ...types import SLOT
from ..records import UNIT_BITS

__all__ = ["BEATS_BITS", "BURST", "Requests", "geometry_layout"]

#: Beats of a segment or of a load, less one: at most 2048 slots of 16-bit elements, byte by byte.
BEATS_BITS = 18
#: Beats of a burst; with a beat of one byte 64, since a burst is a multiple of 64 bytes.
BURST = 32


def burst_of(beat_bytes: int) -> int:
    """Number of beats in a burst: :data:`BURST`, or those of 64 bytes if they are more."""
    return max(BURST, UNIT // beat_bytes)


def geometry_layout() -> data.StructLayout:
    """Geometry of a transfer: rows of segments of consecutive beats.

    Members
    -------
    unit : of the first segment; addresses and distances in units of 64 bytes
    beats : of a segment, less one; segments : of a row, less one; rows : less one
    pitch : from segment to segment; row_pitch : from row to row
    write : 1
    pad : the first and last ``border`` rows are one segment of ``beats``;
        rows between have two of ``side`` beats (less one) at a distance of ``pitch``, or are like
        the others if ``solid``
    """
    return data.StructLayout(
        {
            "unit": UNIT_BITS,
            "beats": BEATS_BITS,
            "segments": 7,
            "rows": 10,
            "pitch": 11,
            "row_pitch": 11,
            "write": 1,
            "pad": 1,
            "border": 4,
            "side": 11,
            "solid": 1,
        }
    )


class Requests(wiring.Component):
    """Request generator: one request per cycle, except for ``pad``, which pauses three cycles after
    each row.

    Parameters
    ----------
    beat_bytes, element_bytes : int; the second of ITYPE

    Members
    -------
    start : In, one cycle, while ``free``: ``geometry``
    free : Out, all requests of the last start are in ``request``, or taken
    allow : In, level: requests may be made; ``stop`` : In, level: those not made yet never will be
    request : Out(stream of RequestLayout)
    made : Out, one cycle: a request was put into ``request``; ``made_unit``,
        ``made_beats`` (less one), ``made_write`` are its
    last : Out, with ``made``: it is the last one
    """

    def __init__(self, *, beat_bytes: int, element_bytes: int) -> None:
        self.beat_bytes, self.element_bytes = beat_bytes, element_bytes
        super().__init__(
            {
                "start": In(1),
                "geometry": In(geometry_layout()),
                "free": Out(1),
                "allow": In(1),
                "stop": In(1),
                "request": Out(stream.Signature(RequestLayout())),
                "made": Out(1),
                "made_unit": Out(UNIT_BITS),
                "made_beats": Out(8),
                "made_write": Out(1),
                "last": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        burst = burst_of(self.beat_bytes)
        low = exact_log2(burst)
        step = burst * self.beat_bytes // UNIT
        given, out = self.geometry, self.request
        held = Signal(geometry_layout(), reset_less=True)

        busy = Signal()
        unit = Signal(UNIT_BITS, reset_less=True)  # of the next request
        next_segment, next_row = (
            Signal(UNIT_BITS, reset_less=True),
            Signal(UNIT_BITS, reset_less=True),
        )
        left = Signal(BEATS_BITS, reset_less=True)  # beats of this segment, less one
        segments = Signal(7, reset_less=True)  # of this row, less one
        rows = Signal(10, reset_less=True)  # of this transfer, less one
        rest = Signal(2)  # a row of ``pad`` begins
        ends_segment, ends_row, ends = Signal(), Signal(), Signal()
        m.d.comb += [
            ends_segment.eq(left[low:] == 0),
            ends_row.eq(ends_segment & (segments == 0)),
            ends.eq(ends_row & (rows == 0)),
            self.free.eq(~busy),
            self.made.eq(busy & self.allow & ~self.stop & (rest == 0) & (~out.valid | out.ready)),
            self.made_unit.eq(unit),
            self.made_write.eq(held.write),
            self.last.eq(ends),
            self.made_beats.eq(Mux(ends_segment, left[:low], burst - 1)),
        ]

        # Rows of ``pad``, a step ahead: number of the row that comes next, and whether it belongs
        # to the border.
        row, solid = Signal(10, reset_less=True), Signal(reset_less=True)
        upper, from_below = Signal(reset_less=True), Signal(reset_less=True)
        m.d.sync += [
            upper.eq(row < held.border),
            from_below.eq(rows < held.border),
            solid.eq(upper | from_below | held.solid),
        ]

        payload = without_reset(m, out.payload)
        with m.If(out.ready):
            m.d.sync += out.valid.eq(0)
        with m.If(self.made):
            m.d.sync += [
                out.valid.eq(1),
                payload.address.eq(unit << exact_log2(UNIT)),
                payload.beats.eq(self.made_beats),
                payload.write.eq(held.write),
                unit.eq(unit + step),
                left.eq(Cat(left[:low], left[low:] - 1)),
            ]
            with m.If(ends_segment):
                m.d.sync += [
                    unit.eq(next_segment),
                    next_segment.eq(next_segment + held.pitch),
                    segments.eq(segments - 1),
                    left.eq(held.beats),
                ]
                with m.If(held.pad):
                    m.d.sync += left.eq(held.side)
            with m.If(ends_row):
                m.d.sync += [
                    unit.eq(next_row),
                    next_segment.eq(next_row + held.pitch),
                    next_row.eq(next_row + held.row_pitch),
                    segments.eq(held.segments),
                    rows.eq(rows - 1),
                    row.eq(row + 1),
                ]
                with m.If(held.pad):
                    m.d.sync += rest.eq(3)
            with m.If(ends):
                m.d.sync += busy.eq(0)
        with m.If(rest != 0):
            m.d.sync += rest.eq(rest - 1)
            with m.If(rest == 1):
                m.d.sync += [left.eq(Mux(solid, held.beats, held.side)), segments.eq(~solid)]
        with m.If(self.stop):
            m.d.sync += busy.eq(0)
        with m.If(self.start):
            m.d.sync += [
                busy.eq(1),
                rest.eq(0),
                held.eq(given),
                unit.eq(given.unit),
                left.eq(given.beats),
                segments.eq(given.segments),
                rows.eq(given.rows),
                row.eq(0),
                next_segment.eq(given.unit + given.pitch),
                next_row.eq(given.unit + given.row_pitch),
            ]
        return m


def slot_beats_log2(beat_bytes: int, element_bytes: int) -> int:
    """Base-2 logarithm of the beats per slot."""
    return exact_log2(SLOT * element_bytes // beat_bytes)
