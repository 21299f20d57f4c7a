# SPDX-License-Identifier: BSD-2-Clause
"""Load datapath: distributes beats from memory to the buffers (section 4.3)."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .....isa.parameters import Params
from .....memory.port import MemoryPort
from .....parts.datapath import without_reset
from ..commands import bias_load_layout, ifm_load_layout, ker_load_layout, row_bits
from ..records import NUMBER_BITS, PC_BITS, DMAKind
from .requests import BEATS_BITS

__all__ = ["Loads", "load_layout"]

#: Loads whose requests are made and whose data are to come.
DEPTH = 4
#: log2 of the beats of the longest tap (64 x 64 weights of two bytes, byte by byte).
TAP_BITS = 13
#: Cycles after the last beat after which a buffer gives what was loaded.
_SETTLE = 4


def load_layout(params: Params) -> data.StructLayout:
    """Layout of a load in flight: its beats minus one (in total, and for a kernel's tap), and its
    buffer's parameters."""
    return data.StructLayout(
        {
            "kind": DMAKind,
            "pc": PC_BITS,
            "word": 32,
            "number": NUMBER_BITS,
            "beats": BEATS_BITS,
            "tap": TAP_BITS,
            "bank": 1,
            "row": row_bits(params),
            "ifm_c": 2,
            "ofm_c": 3,
        }
    )


class Loads(wiring.Component):
    """Load datapath: accepts every beat at once; one idle cycle between two loads.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    beat_bytes, bias_bytes : int

    Members
    -------
    expect : In(stream of :func:`load_layout`), in the order of the requests
    stop : In, level: swallow what comes
    r : In(stream), read data of the memory port
    ifm, ker, bias : Out, the load interfaces of the compute part (:mod:`..commands`)
    now : Out, the load whose data come, if ``active``; following : Out, the next one,
        if ``waiting``
    loading : Out: of a ``ld.ker``, ``number`` and how many taps have come (``valid`` while they do)
    done : Out, one cycle: a load is complete and can be read
    bytes : Out, bytes that came in this cycle
    """

    def __init__(self, *, params: Params, beat_bytes: int, bias_bytes: int) -> None:
        self.params, self.beat_bytes, self.bias_bytes = params, beat_bytes, bias_bytes
        super().__init__(
            {
                "expect": In(stream.Signature(load_layout(params))),
                "stop": In(1),
                "r": In(MemoryPort(beat_bytes).members["r"].signature),
                "ifm": Out(ifm_load_layout(params, beat_bytes)),
                "ker": Out(ker_load_layout(params, beat_bytes)),
                "bias": Out(bias_load_layout(params, beat_bytes)),
                "now": Out(load_layout(params)),
                "active": Out(1),
                "following": Out(load_layout(params)),
                "waiting": Out(1),
                "loading": Out(data.StructLayout({"valid": 1, "number": NUMBER_BITS, "taps": 6})),
                "done": Out(1),
                "bytes": Out(range(beat_bytes + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue = queue = fifo.SyncFIFOBuffered(
            width=load_layout(self.params).size, depth=DEPTH
        )
        m.d.comb += [
            queue.w_data.eq(self.expect.payload),
            queue.w_en.eq(self.expect.valid),
            self.expect.ready.eq(queue.w_rdy),
        ]
        now, active, r = without_reset(m, self.now), self.active, self.r
        left = Signal(BEATS_BITS, reset_less=True)
        final = Signal(reset_less=True)  # the beat to come is the last one
        begin, beat, ends = Signal(), Signal(), Signal()
        m.d.comb += [
            begin.eq(~active & queue.r_rdy & ~self.stop),
            queue.r_en.eq(begin),
            r.ready.eq(active | self.stop),
            beat.eq(r.valid & active & ~self.stop),
            ends.eq(beat & final),
        ]
        following = data.View(load_layout(self.params), queue.r_data)
        m.d.comb += [self.following.eq(following), self.waiting.eq(queue.r_rdy)]
        with m.If(begin):
            m.d.sync += [
                now.eq(following),
                active.eq(1),
                left.eq(following.beats),
                final.eq(following.beats == 0),
            ]
        with m.Elif(beat):
            m.d.sync += [left.eq(left - 1), final.eq(left == 1), active.eq(~ends)]

        # Towards the buffers, a cycle later
        word = Signal(8 * self.beat_bytes, reset_less=True)
        m.d.sync += word.eq(r.payload.data)
        for kind, face in (
            (DMAKind.IFM, self.ifm),
            (DMAKind.KER, self.ker),
            (DMAKind.BIAS, self.bias),
        ):
            valid, start = (
                Signal(name=f"valid_{kind.name.lower()}"),
                Signal(name=f"start_{kind.name.lower()}"),
            )
            m.d.sync += [
                valid.eq(beat & (now.kind == kind)),
                start.eq(begin & (following.kind == kind)),
            ]
            m.d.comb += [face.valid.eq(valid), face.start.eq(start), face.data.eq(word)]
        m.d.comb += [
            self.ifm.bank.eq(now.bank),
            self.ker.row.eq(now.row),
            self.ker.ifm_c.eq(now.ifm_c),
            self.ker.ofm_c.eq(now.ofm_c),
            self.bias.copy.eq(now.bank),
            self.bias.ofm_c.eq(now.ofm_c),
        ]

        # Progress. Beats of a tap are a power of two, so its last is told by the low bits of what
        # is left.
        tap_ends = Signal()
        m.d.comb += tap_ends.eq(beat & ((left[:TAP_BITS] & now.tap) == 0))
        taps, late, opened = Signal(6), Signal(_SETTLE), Signal(_SETTLE)
        m.d.sync += [
            late.eq(Cat(tap_ends & (now.kind == DMAKind.KER), late)),
            opened.eq(Cat(begin & (following.kind == DMAKind.KER), opened)),
        ]
        running = Signal()
        with m.If(opened[-1]):
            m.d.sync += [taps.eq(0), self.loading.number.eq(now.number), running.eq(1)]
        with m.Elif(late[-1]):
            m.d.sync += taps.eq(taps + 1)
        m.d.comb += [self.loading.valid.eq(running), self.loading.taps.eq(taps)]
        over = Signal(_SETTLE)
        m.d.sync += [over.eq(Cat(ends, over)), self.done.eq(over[-1])]
        with m.If(over[-1]):
            m.d.sync += running.eq(0)

        # Bytes that the program asked for: a bias may end inside a beat.
        whole = self.beat_bytes
        gain = Signal(range(whole + 1))
        m.d.comb += gain.eq(whole)
        for channels_log in range(1, exact_log2(whole) + 1):
            if (self.bias_bytes << channels_log) < whole:
                with m.If((now.kind == DMAKind.BIAS) & (now.ofm_c == channels_log)):
                    m.d.comb += gain.eq(self.bias_bytes << channels_log)
        m.d.sync += self.bytes.eq(Mux(beat, gain, 0))
        return m
