# SPDX-License-Identifier: BSD-2-Clause
"""Decoder: configuration registers, the checks of section 6, and entries of the two queues.

A configuration instruction takes a cycle, a convolution two, a transfer five: its array is looked
up in the region table, added up and compared step by step. Products come from :mod:`.derived`,
which is given time to follow a change of the configuration.
"""

from types import SimpleNamespace

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .....isa.parameters import Params
from .....shell.layouts import fields_of
from ...isa import BIAS, IFM, ISA, KER, OFM, REGIONS
from ..entries import SPAN_BITS, TRANSFERS, fill_entries, span_of
from ..records import NUMBER_BITS, PC_BITS, UNIT_BITS, conv_entry, dma_entry
from ..scoreboard import Scoreboard
from .derived import Derived, config_layout
from .fetch import word_layout_of_fetch
from .lookahead import look_ahead
from .regions import LIMIT_BITS

__all__ = ["Decode"]

_CODE = ISA.fault_codes
#: Registers that must be set: bits of the detail of ``undef_reg``.
_SETS = {"@shape.ifm": 1, "@shape.ofm": 2, "@shape.ker": 4, "@mem.ifm": 8, "@mem.ofm": 16}
_NEEDS_SET = {"ld.ifm": 1 | 8, "ld.ker": 1 | 2 | 4, "ld.bias": 2, "store": 16, "pad": 16}
_NEEDS_VALID = {
    "conv": IFM | KER,
    "conv.bias": IFM | KER | BIAS,
    "conv.acc": IFM | KER | OFM,
    "store": OFM,
}
_MAKES_VALID = {
    "ld.ifm": IFM,
    "ld.ker": KER,
    "ld.bias": BIAS,
    "conv": OFM,
    "conv.bias": OFM,
    "conv.acc": OFM,
}
_RANGES = 9


class Decode(wiring.Component):
    """Decoder: processes words in program order; stops at ``end``, at a fault of the program, and
    at ``stop``.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    start : In, one cycle; ``program`` : In, where it begins, in units of 64 bytes
    words, spent, outside : In, of :class:`~.fetch.Fetch`
    window_base, window_limit : In, in units of 64 bytes
    region : Out; region_base, region_limit : In, one cycle later
    conv, transfer : Out(stream) of :func:`~..records.conv_entry` and :func:`~..records.dma_entry`
    conv_crowded, transfer_crowded : In, none may be handed out now
    released, finished : In, one cycle each (:class:`~..scoreboard.Scoreboard`)
    released_count, finished_count, next_transfer, next_conv : Out, of the scoreboard
    stop : In, level: nothing more is handed out,
        but for what was decided in the cycle in which it rises
    retired : Out, one cycle: an instruction that has nothing to wait for is complete
    starved : Out, there is no instruction to decode
    pc : Out, word address of the instruction at hand
    over : Out, ``end`` or a fault was reached; ``code`` (0: ``end``), ``detail``, ``word`` are its
    """

    def __init__(self, *, params: Params) -> None:
        self.params = params
        number = NUMBER_BITS
        super().__init__(
            {
                "start": In(1),
                "program": In(UNIT_BITS),
                "words": In(stream.Signature(word_layout_of_fetch())),
                "spent": In(1),
                "outside": In(1),
                "window_base": In(UNIT_BITS),
                "window_limit": In(UNIT_BITS),
                "region": Out(range(REGIONS)),
                "region_base": In(UNIT_BITS),
                "region_limit": In(LIMIT_BITS),
                "conv": Out(stream.Signature(conv_entry(params))),
                "transfer": Out(stream.Signature(dma_entry(params))),
                "conv_crowded": In(1),
                "transfer_crowded": In(1),
                "released": In(1),
                "finished": In(1),
                "released_count": Out(number),
                "finished_count": Out(number),
                "next_transfer": Out(number),
                "next_conv": Out(number),
                "stop": In(1),
                "retired": Out(1),
                "starved": Out(1),
                "pc": Out(PC_BITS),
                "over": Out(1),
                "code": Out(8),
                "detail": Out(32),
                "word": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m, s = Module(), SimpleNamespace()  # `s`: signals that several steps use
        p = self.params
        m.submodules.derived = derived = Derived(params=p)
        m.submodules.board = board = Scoreboard(params=p)
        m.d.comb += [
            board.released.eq(self.released),
            board.finished.eq(self.finished),
            self.released_count.eq(board.released_count),
            self.finished_count.eq(board.finished_count),
            self.next_transfer.eq(board.next_transfer),
            self.next_conv.eq(board.next_conv),
        ]

        # Two stages in front: the area of a shape, then what the word is and whether it is legal by
        # itself.
        s.take = Signal()
        s.here, now = look_ahead(m, p, self.words, s.take)
        is_op, s.word = now.is_op, now.word
        fields = {name: fields_of(ISA, name, s.word) for name in is_op}
        pc = self.pc
        with m.If(s.take):
            m.d.sync += pc.eq(pc + 1)
        with m.If(self.start):
            m.d.sync += pc.eq(self.program << 4)

        # Configuration
        ones = dict.fromkeys(("stride_h", "stride_w", "pool_h", "pool_w", "pool_i", "pool_j"), 1)
        s.config, s.unset, s.valid = (
            Signal(config_layout(), init=ones),
            Signal(5, init=0b11111),
            Signal(4, name="valid"),
        )
        shift_f, shift_b, act = Signal(8), Signal(8), Signal(2)
        s.bases = {
            name: Signal(range(REGIONS), name=f"{name}_region")
            for name in ("ifm", "ker", "bias", "ofm")
        }
        # Nobody looks at these before a shape has set them: such an instruction faults.
        positions, ifm_total = Signal(12, reset_less=True), Signal(11, reset_less=True)
        s.commit = Signal()
        m.d.comb += derived.config.eq(s.config)
        with m.If(s.commit):
            self._configure(
                m,
                is_op,
                fields,
                s.config,
                s.unset,
                s.valid,
                s.bases,
                shift_f,
                shift_b,
                act,
                now.area,
                positions,
                ifm_total,
            )
        m.d.comb += [
            derived.touched.any.eq(s.commit | self.start),
            derived.touched.ifm.eq(s.commit & (is_op["@shape.ifm"] | is_op["@mem.ifm"])),
            derived.touched.map.eq(s.commit & is_op["@mem.ofm"]),
            derived.touched.out.eq(
                s.commit & (is_op["@shape.ofm"] | is_op["@pool"] | is_op["@mem.ofm"]) | self.start
            ),
        ]

        self._examine(m, s, derived, now, is_op, fields)
        self._locate(m, s, is_op, fields)

        fill_entries(
            m,
            conv=self.conv.payload,
            transfer=self.transfer.payload,
            is_op=is_op,
            fields=fields,
            config=s.config,
            derived=derived,
            board=board,
            more=SimpleNamespace(
                pc=pc,
                word=s.word,
                first=s.first,
                positions=positions,
                ifm_total=ifm_total,
                shift_f=shift_f,
                shift_b=shift_b,
                act=act,
            ),
        )
        s.push_conv, s.push_transfer = Signal(), Signal()
        m.d.comb += [
            self.conv.valid.eq(s.push_conv),
            self.transfer.valid.eq(s.push_transfer),
            board.push_conv.eq(s.push_conv),
            board.overwrites.eq(~is_op["conv.acc"]),
            board.residual.eq(s.config.add_ifm),
            board.kernel_rows.eq(derived.kernel_rows),
            *(
                getattr(board, f"push_{kind}").eq(s.push_transfer & is_op[name])
                for name, kind in zip(
                    TRANSFERS, ("ifm", "ker", "bias", "store", "pad"), strict=True
                )
            ),
        ]
        s.made = Signal(4)
        for name, bit in _MAKES_VALID.items():
            with m.If(is_op[name]):
                m.d.comb += s.made.eq(bit)

        self._sequence(m, s, derived, now, is_op, fields)
        return m

    def _examine(self, m, s, derived, now, is_op, fields):
        """Checks an imperative instruction by all registers in one cycle."""
        p = self.params
        s.is_conv = Signal()
        is_transfer = Signal()
        m.d.comb += [s.is_conv.eq(now.conv), is_transfer.eq(now.transfer)]
        s.examine = Signal()
        s.unset_now, s.invalid, s.ranges, s.too_large = (
            Signal(bits, reset_less=True, name=name)
            for name, bits in (
                ("unset_now", 5),
                ("invalid", 4),
                ("ranges", _RANGES),
                ("too_large", 1),
            )
        )
        s.span = Signal(SPAN_BITS, reset_less=True)
        needs_set, needs_valid = Signal(5), Signal(4)
        for name, mask in _NEEDS_SET.items():
            with m.If(is_op[name]):
                m.d.comb += needs_set.eq(mask)
        for name, mask in _NEEDS_VALID.items():
            with m.If(is_op[name]):
                m.d.comb += needs_valid.eq(mask)
        with m.If(is_op["store"] & s.config.add_ifm):
            m.d.comb += needs_valid.eq(OFM | IFM)
        conv = fields["conv"]
        residual = Signal()
        m.d.comb += residual.eq(is_op["store"] & s.config.add_ifm)
        found = {
            "unset": needs_set & s.unset,
            "invalid": needs_valid & ~s.valid,
            "too_large": is_op["ld.ker"] & derived.kernel_too_long,
            "ranges": Cat(
                s.is_conv & (conv.h > derived.top),
                s.is_conv & (conv.w > derived.left),
                s.is_conv & (conv.n >= s.config.ker_n),
                is_op["ld.ker"] & derived.kernel_large,
                is_op["store"] & derived.pool_tall,
                is_op["store"] & derived.pool_wide,
                residual & derived.tall,
                residual & derived.wide,
                residual & derived.deep,
            ),
        }
        s.unfit = Signal(reset_less=True)
        extent = span_of(m, p, is_op, s.config, derived)
        with m.If(s.examine):
            m.d.sync += [
                s.unset_now.eq(found["unset"]),
                s.invalid.eq(found["invalid"]),
                s.too_large.eq(found["too_large"]),
                s.ranges.eq(found["ranges"]),
                s.span.eq(extent),
                s.unfit.eq(
                    found["unset"].any()
                    | found["invalid"].any()
                    | found["ranges"].any()
                    | found["too_large"]
                ),
            ]

    def _locate(self, m, s, is_op, fields):
        """Bounds of a transfer's array in units of 64 bytes."""
        s.unit = fields["store"].addr  # all transfers have it at the same place
        end, s.first, last, s.beyond, s.outside = (
            Signal(bits, reset_less=True, name=name)
            for name, bits in (
                ("end", UNIT_BITS),
                ("first", UNIT_BITS + 1),
                ("last", UNIT_BITS + 1),
                ("beyond", 1),
                ("outside", 1),
            )
        )
        m.d.comb += self.region.eq(s.bases["ofm"])
        for name, base in (("ld.ifm", "ifm"), ("ld.ker", "ker"), ("ld.bias", "bias")):
            with m.If(is_op[name]):
                m.d.comb += self.region.eq(s.bases[base])
        m.d.sync += [
            end.eq(s.unit + s.span),
            s.first.eq(self.region_base + s.unit),
            s.beyond.eq(end > self.region_limit),
            last.eq(self.region_base + end),
            s.outside.eq(s.beyond | (s.first < self.window_base) | (last > self.window_limit)),
        ]

    def _sequence(self, m, s, derived, now, is_op, fields):
        """Sequence of steps from the current word to a queue entry or its fault."""
        pc = self.pc

        def done():
            m.d.comb += s.take.eq(1)

        def fault(name, detail):
            m.d.sync += [
                self.code.eq(_CODE[name]),
                self.detail.eq(detail),
                self.over.eq(1),
                self.word.eq(s.word),
            ]

        # Room in both queues and no ``stop``, as it was a cycle ago: nobody else fills them, so
        # what there was is there.
        conv_room, transfer_room, nothing = (
            Signal(name=name, reset_less=True) for name in ("conv_room", "transfer_room", "nothing")
        )
        m.d.sync += [
            conv_room.eq(self.conv.ready & ~self.conv_crowded & ~self.stop),
            transfer_room.eq(self.transfer.ready & ~self.transfer_crowded & ~self.stop),
            nothing.eq(is_op["pad"] & (fields["pad"].p == 0)),  # a ``pad`` of no width
        ]
        waits = Signal()  # for numbers that follow from the configuration
        m.d.comb += waits.eq(
            ~derived.settled
            | is_op["ld.ifm"] & ~derived.ifm_ready
            | is_op["store"] & ~derived.out_ready
            | is_op["pad"] & ~derived.map_ready
        )
        with m.FSM(name="decode"):
            with m.State("OFF"):
                with m.If(self.start):
                    m.next = "LOOK"
            with m.State("LOOK"):
                m.d.comb += self.starved.eq(~now.valid & ~s.here & ~self.stop)
                m.d.comb += [
                    s.commit.eq(now.valid & now.plain & ~self.stop),
                    self.retired.eq(s.commit),
                ]
                with m.If(s.commit):
                    done()
                with m.Elif(now.valid & ~self.stop):
                    with m.If(now.error):
                        fault("bus", Cat(Const(0, 6), pc[4:]))
                        m.d.sync += self.word.eq(0)
                        m.next = "OVER"
                    with m.Elif(now.wrong):
                        m.next = "WRONG"
                    with m.Elif(is_op["end"]):
                        m.d.sync += [self.over.eq(1), self.code.eq(0), self.word.eq(0)]
                        m.next = "OVER"
                    with m.Elif(~waits):
                        m.d.comb += s.examine.eq(1)
                        with m.If(s.is_conv):
                            m.next = "CONV"
                        with m.Else():
                            m.next = "BOUNDS"
                with m.Elif(self.spent & ~s.here & ~self.stop):
                    with m.If(self.outside):
                        fault("window", Cat(Const(0, 2), pc))
                    with m.Else():
                        fault("fetch", Cat(Const(0, 2), pc))
                    m.d.sync += self.word.eq(0)
                    m.next = "OVER"
            with m.State("CONV"):
                with m.If(s.unfit):
                    m.next = "WRONG"
                with m.Elif(conv_room):
                    m.d.comb += s.push_conv.eq(1)
                    m.d.sync += s.valid.eq(s.valid | s.made)
                    done()
                    m.next = "LOOK"
            with m.State("BOUNDS"):  # ``end`` and ``first`` are made in this cycle
                with m.If(s.unfit):
                    m.next = "WRONG"
                with m.Elif(nothing):
                    m.d.comb += self.retired.eq(1)
                    done()
                    m.next = "LOOK"
                with m.Else():
                    m.next = "SUMS"
            with m.State("SUMS"):  # ``beyond`` and ``last``
                m.next = "LIMITS"
            with m.State("LIMITS"):  # ``outside``
                m.next = "JUDGE"
            with m.State("JUDGE"):
                with m.If(s.outside):
                    m.next = "WRONG"
                with m.Elif(transfer_room):
                    m.d.comb += s.push_transfer.eq(1)
                    m.d.sync += s.valid.eq(s.valid | s.made)
                    done()
                    m.next = "LOOK"
            with m.State("WRONG"):
                m.next = "OVER"
                with m.If(now.illegal):
                    fault("illegal_op", now.opcode)
                with m.Elif(now.bad):
                    fault("bad_field", now.bad_detail)
                with m.Elif(now.wrong):
                    fault("capacity", Mux(is_op["@shape.ifm"], IFM, OFM))
                with m.Elif(s.unset_now.any()):
                    fault("undef_reg", s.unset_now)
                with m.Elif(s.invalid.any()):
                    fault("undef_buf", s.invalid)
                for k in range(_RANGES):
                    with m.Elif(s.ranges[k]):
                        fault("range", k + 1)
                with m.Elif(s.too_large):
                    fault("capacity", KER)
                with m.Elif(s.beyond):
                    fault("region", Cat(Const(0, 6), s.unit, self.region))
                with m.Else():
                    fault("window", Cat(Const(0, 6), s.first[:UNIT_BITS]))
            with m.State("OVER"):
                pass  # until reset

    @staticmethod
    def _configure(
        m,
        is_op,
        fields,
        config,
        unset,
        valid,
        bases,
        shift_f,
        shift_b,
        act,
        area,
        positions,
        ifm_total,
    ):
        """Configuration instructions (section 4.2). Effects of an illegal one are never visible."""
        for k, name in enumerate(_SETS):
            with m.If(is_op[name]):
                m.d.sync += unset[k].eq(0)
        f = fields["@shape.ifm"]
        with m.If(is_op["@shape.ifm"]):
            m.d.sync += [
                config.ifm_h.eq(f.h),
                config.ifm_w.eq(f.w),
                config.ifm_c.eq(f.c[:2]),
                ifm_total.eq(area - 1),
                valid.eq(valid & ~(IFM | KER)),
            ]
        f = fields["@shape.ofm"]
        with m.If(is_op["@shape.ofm"]):
            m.d.sync += [
                config.ofm_h.eq(f.h),
                config.ofm_w.eq(f.w),
                config.ofm_c.eq(f.c),
                positions.eq(area),
                valid.eq(valid & ~Mux(config.ofm_c == f.c, OFM | KER, OFM | KER | BIAS)),
            ]
        with m.If(is_op["@shape.ker"]):
            m.d.sync += [config.ker_n.eq(fields["@shape.ker"].n), valid.eq(valid & ~KER)]
        f = fields["@mem.ifm"]
        with m.If(is_op["@mem.ifm"]):
            m.d.sync += [bases["ifm"].eq(f.addr), config.ifm_mem_w.eq(f.w)]
        with m.If(is_op["@mem.ker"]):
            m.d.sync += bases["ker"].eq(fields["@mem.ker"].addr)
        with m.If(is_op["@mem.bias"]):
            m.d.sync += bases["bias"].eq(fields["@mem.bias"].addr)
        f = fields["@mem.ofm"]
        with m.If(is_op["@mem.ofm"]):
            m.d.sync += [
                bases["ofm"].eq(f.addr),
                config.ofm_mem_h.eq(f.h),
                config.ofm_mem_w.eq(f.w),
            ]
        f = fields["@stride"]
        with m.If(is_op["@stride"]):
            m.d.sync += [config.stride_h.eq(f.h), config.stride_w.eq(f.w)]
        f = fields["@shift"]
        with m.If(is_op["@shift"]):
            m.d.sync += [shift_f.eq(f.f), shift_b.eq(f.b)]
        post = fields["@post"].post
        with m.If(is_op["@post"]):
            m.d.sync += [act.eq(post[:2]), config.order.eq(post[2:4]), config.add_ifm.eq(post[4])]
        f = fields["@pool"]
        with m.If(is_op["@pool"]):
            m.d.sync += [
                config.pool_h.eq(f.h),
                config.pool_w.eq(f.w),
                config.pool_i.eq(f.i),
                config.pool_j.eq(f.j),
            ]
