# SPDX-License-Identifier: BSD-2-Clause
"""Row generator of DMA: checks the rows of a descriptor and turns them into burst requests (section
7.2)."""

from amaranth import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .....memory.port import RequestLayout
from .convert import Format

__all__ = ["BURST", "DescriptorLayout", "FAULTS", "MoverOp", "RecordLayout", "Rows"]

#: Words of a burst, at most.
BURST = 64
#: Fault codes that a descriptor may end with (specification, section 6).
FAULTS = {"window": 5, "bus": 6, "dma_range": 21}


class MoverOp(enum.Enum, shape=2):
    """Operation codes of descriptors."""

    NONE = 0
    IN = 1
    OUT = 2
    FILL = 3


class DescriptorLayout(data.StructLayout):
    """Checked descriptor: ``op`` 1 to 3; ``main`` and ``pitch`` multiples of 4 (for a fill,
    ``main`` is the pattern); ``cols`` and ``rows`` at least 1; MEM addresses and strides modulo
    2^18."""

    def __init__(self) -> None:
        super().__init__(
            {
                "op": MoverOp,
                "format": Format,
                "main": unsigned(32),
                "mem": unsigned(18),
                "cols": unsigned(16),
                "rows": unsigned(16),
                "pitch": unsigned(32),
                "mem_pitch": unsigned(18),
                "mem_step": unsigned(18),
            }
        )


class RecordLayout(data.StructLayout):
    """Record of an issued request: ``address`` of its first word (in words), ``words`` less one."""

    def __init__(self) -> None:
        super().__init__({"address": unsigned(30), "words": unsigned(6)})


class Rows(wiring.Component):
    """Row generator: checks rows a few ahead of the data, and requests their words in bursts.

    A row whose elements all lie in MEM without passing 2^18 is found in three cycles; any other is
    looked at element by element.

    Parameters
    ----------
    log_mem, beat_bytes : int
    memory_size : int, bytes of main memory

    Members
    -------
    start : In, with ``descriptor`` (stable from then on); ``window_base``, ``window_limit`` : In
    halt : In, no further request; ``done`` follows
    ahead : In, rows may be approved; ``approve`` : Out, one cycle: the next row is good,
        its elements may move
    request : Out(stream of RequestLayout); ``record`` : Out, RecordLayout, of the same request
    done : Out, level: no request is to come; ``error`` : Out, fault code or 0; ``detail`` :
        Out, 32 bits. Until ``start``
    """

    def __init__(self, *, log_mem: int, beat_bytes: int, memory_size: int) -> None:
        self._log_mem, self._beat_bytes, self._memory_size = log_mem, beat_bytes, memory_size
        super().__init__(
            {
                "start": In(1),
                "descriptor": In(DescriptorLayout()),
                "window_base": In(32),
                "window_limit": In(32),
                "halt": In(1),
                "ahead": In(1),
                "approve": Out(1),
                "request": Out(stream.Signature(RequestLayout())),
                "record": Out(RecordLayout()),
                "done": Out(1, init=1),
                "error": Out(5),
                "detail": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        d, log_mem = self.descriptor, self._log_mem
        fill = d.op == MoverOp.FILL
        main, mem, rows = Signal(32), Signal(18), Signal(16)
        words = Signal(17)  # of a row
        cols = d.cols
        width = Signal(17)
        with m.Switch(d.format):
            with m.Case(Format.BF16):
                m.d.comb += width.eq((cols + 1) >> 1)
            with m.Case(Format.PACKED):
                m.d.comb += width.eq(((cols << 3) + cols + 15) >> 4)
            with m.Default():
                m.d.comb += width.eq(cols)

        # (cols - 1) * mem_step by shifts and additions; the step's sign is that of two's
        # complement.
        factor, multiple, span = Signal(16), Signal(36), Signal(36)
        end, last = Signal(33), Signal(36)
        below, past, over, beyond, inside = (
            Signal(name=n) for n in ("below", "past", "over", "beyond", "inside")
        )
        next_word = Signal(30)  # of main memory, of the next burst
        at, left = (
            Signal(18),
            Signal(17),
        )  # an element's address; elements, or words of the row, still to come
        offered = Signal()  # a request waits: it stays
        m.d.sync += offered.eq(self.request.valid & ~self.request.ready)
        bus, window = FAULTS["bus"], FAULTS["window"]

        with m.FSM():
            with m.State("IDLE"):
                with m.If(self.start):
                    m.d.sync += [self.done.eq(0), self.error.eq(0)]
                    m.next = "BEGIN"
            with m.State("BEGIN"):
                m.d.sync += [
                    main.eq(d.main),
                    mem.eq(d.mem),
                    rows.eq(d.rows),
                    words.eq(width),
                    factor.eq(cols - 1),
                    span.eq(0),
                    multiple.eq(Cat(d.mem_step, d.mem_step[-1].replicate(18))),
                ]
                m.next = "SPAN"
            with m.State("SPAN"):
                m.d.sync += [factor.eq(factor >> 1), multiple.eq(multiple << 1)]
                with m.If(factor[0]):
                    m.d.sync += span.eq(span + multiple)
                with m.If(factor == 0):
                    m.next = "ENDS"
            with m.State("ENDS"):
                m.d.sync += [end.eq(main + (words << 2)), last.eq(mem + span)]
                m.next = "COMPARE"
            with m.State("COMPARE"):
                m.d.sync += [
                    below.eq(main < self.window_base),
                    past.eq(main >= self.window_limit),
                    over.eq(end > self.window_limit),
                    beyond.eq(end > self._memory_size),
                    inside.eq(~mem[log_mem:].any() & ~last[log_mem:].any()),
                    at.eq(mem),
                    left.eq(cols),
                ]
                m.next = "DECIDE"
            with m.State("DECIDE"):
                with m.If(self.halt):
                    m.next = "DONE"
                with m.Elif(~fill & (below | past)):
                    m.d.sync += [self.error.eq(window), self.detail.eq(main)]
                    m.next = "DONE"
                with m.Elif(~fill & over):
                    m.d.sync += [self.error.eq(window), self.detail.eq(self.window_limit)]
                    m.next = "DONE"
                with m.Elif(~fill & beyond):
                    m.d.sync += [
                        self.error.eq(bus),
                        self.detail.eq(Mux(main < self._memory_size, self._memory_size, main)),
                    ]
                    m.next = "DONE"
                with m.Elif(~inside):
                    m.next = "SCAN"
                with m.Elif(self.ahead):
                    m.d.comb += self.approve.eq(1)
                    m.d.sync += [left.eq(words), next_word.eq(main[2:])]
                    m.next = "ASK"
            with m.State("SCAN"):
                m.d.sync += [at.eq(at + d.mem_step), left.eq(left - 1)]
                with m.If(self.halt):
                    m.next = "DONE"
                with m.Elif(at[log_mem:].any()):
                    m.d.sync += [self.error.eq(FAULTS["dma_range"]), self.detail.eq(at)]
                    m.next = "DONE"
                with m.Elif(left == 1):
                    m.d.sync += inside.eq(1)
                    m.next = "DECIDE"
            with m.State("ASK"):
                more = left > BURST
                self._request(m, next_word, left)
                with m.If(fill | (self.halt & ~offered)):
                    m.next = "NEXT"
                with m.Else():
                    m.d.comb += self.request.valid.eq(1)
                    with m.If(self.request.ready):
                        m.d.sync += [next_word.eq(next_word + BURST), left.eq(left - BURST)]
                        with m.If(~more):
                            m.next = "NEXT"
            with m.State("NEXT"):
                m.d.sync += [main.eq(main + d.pitch), mem.eq(mem + d.mem_pitch), rows.eq(rows - 1)]
                m.next = "ENDS"
                with m.If(rows == 1):
                    m.next = "DONE"
            with m.State("DONE"):
                m.d.sync += self.done.eq(1)
                m.next = "IDLE"
        return m

    def _request(self, m, word, left):
        """Builds the request of the burst that begins with ``word``."""
        log = exact_log2(self._beat_bytes)
        number = Signal(7)
        request = self.request.payload
        m.d.comb += [
            number.eq(Mux(left > BURST, BURST, left)),
            self.record.address.eq(word),
            self.record.words.eq(number - 1),
            request.address.eq(word << 2 if log <= 2 else word[log - 2 :] << log),
            request.write.eq(self.descriptor.op == MoverOp.OUT),
        ]
        if log <= 2:
            m.d.comb += request.beats.eq((number << 2 - log) - 1)
        else:
            per_beat = 1 << log - 2
            m.d.comb += request.beats.eq(((word[: log - 2] + number + per_beat - 1) >> log - 2) - 1)
