# SPDX-License-Identifier: BSD-2-Clause
"""Decode: configuration, the checks of section 6, and what goes into the two queues.

A configuration instruction takes a cycle, a convolution two, a transfer five: its array is looked up in the region table, added
up and compared step by step. Products come from :mod:`.derived`, which is given time to follow a change of the configuration.
"""
from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .commands import ConvKind
from .derived import Derived, config_layout
from .fetch import word_layout_of_fetch
from .isa import CONVOLUTIONS, ISA, MAX_POSITIONS, REGIONS
from .legality import fields_of, legality
from .records import NUMBER_BITS, PC_BITS, UNIT_BITS, DMAKind, conv_entry, dma_entry
from .regions import LIMIT_BITS
from .scoreboard import Scoreboard
from .sequence import BIAS, IFM, KER, OFM
from .types import type_set

__all__ = ["Decode"]

_CODE = ISA.fault_codes
_TRANSFERS = {"ld.ifm": DMAKind.IFM, "ld.ker": DMAKind.KER, "ld.bias": DMAKind.BIAS, "store": DMAKind.STORE, "pad": DMAKind.PAD}
_KINDS = {"conv": ConvKind.PLAIN, "conv.bias": ConvKind.BIAS, "conv.acc": ConvKind.ACC}
#: Registers that must be set: bits of the detail of ``undef_reg``.
_SETS = {"@shape.ifm": 1, "@shape.ofm": 2, "@shape.ker": 4, "@mem.ifm": 8, "@mem.ofm": 16}
_NEEDS_SET = {"ld.ifm": 1 | 8, "ld.ker": 1 | 2 | 4, "ld.bias": 2, "store": 16, "pad": 16}
_NEEDS_VALID = {"conv": IFM | KER, "conv.bias": IFM | KER | BIAS, "conv.acc": IFM | KER | OFM, "store": OFM}
_MAKES_VALID = {"ld.ifm": IFM, "ld.ker": KER, "ld.bias": BIAS, "conv": OFM, "conv.bias": OFM, "conv.acc": OFM}
_AREA_DETAIL = 6        # of a shape whose area is illegal: the bit of h
_RANGES = 9
_SPAN_BITS = 22


def _any(conditions):
    total = Const(0, 1)
    for condition in conditions:
        total = total | condition
    return total


class Decode(wiring.Component):
    """Takes words in program order; stops at ``end``, at a fault of the program, and at ``stop``.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    start : In, one cycle; ``program`` : In, where it begins, in units of 64 bytes
    words, spent, outside : In, of :class:`~.fetch.Fetch`
    window_base, window_limit : In, in units of 64 bytes
    region : Out; region_base, region_limit : In, one cycle later
    conv, transfer : Out(stream) of :func:`~.records.conv_entry` and :func:`~.records.dma_entry`
    conv_crowded, transfer_crowded : In, none may be handed out now
    released, finished : In, one cycle each (:class:`~.scoreboard.Scoreboard`)
    released_count, finished_count, next_transfer, next_conv : Out, of the scoreboard
    stop : In, level: nothing more is handed out
    retired : Out, one cycle: an instruction that has nothing to wait for is complete
    starved : Out, there is no instruction to decode
    pc : Out, word address of the instruction at hand
    over : Out, ``end`` or a fault was reached; ``code`` (0: ``end``), ``detail``, ``word`` are its
    """
    def __init__(self, *, params):
        self.params = params
        number = NUMBER_BITS
        super().__init__({
            "start": In(1), "program": In(UNIT_BITS), "words": In(stream.Signature(word_layout_of_fetch())), "spent": In(1),
            "outside": In(1), "window_base": In(UNIT_BITS), "window_limit": In(UNIT_BITS),
            "region": Out(range(REGIONS)), "region_base": In(UNIT_BITS), "region_limit": In(LIMIT_BITS),
            "conv": Out(stream.Signature(conv_entry(params))), "transfer": Out(stream.Signature(dma_entry(params))),
            "conv_crowded": In(1), "transfer_crowded": In(1), "released": In(1), "finished": In(1),
            "released_count": Out(number), "finished_count": Out(number), "next_transfer": Out(number), "next_conv": Out(number),
            "stop": In(1), "retired": Out(1), "starved": Out(1), "pc": Out(PC_BITS),
            "over": Out(1), "code": Out(8), "detail": Out(32), "word": Out(32),
        })

    def elaborate(self, platform):
        m = Module()
        p = self.params
        m.submodules.derived = derived = Derived(params=p)
        m.submodules.board = board = Scoreboard(params=p)
        m.d.comb += [
            board.released.eq(self.released), board.finished.eq(self.finished),
            self.released_count.eq(board.released_count), self.finished_count.eq(board.finished_count),
            self.next_transfer.eq(board.next_transfer), self.next_conv.eq(board.next_conv),
        ]

        # Two stages in front: the area of a shape, then what the word is and whether it is legal by itself.
        take = Signal()
        here, now = self._look(m, take)
        is_op, word = now.is_op, now.word
        fields = {name: fields_of(name, word) for name in is_op}
        pc = self.pc
        with m.If(take):
            m.d.sync += pc.eq(pc + 1)
        with m.If(self.start):
            m.d.sync += pc.eq(self.program << 4)

        # Configuration
        ones = dict.fromkeys(("stride_h", "stride_w", "pool_h", "pool_w", "pool_i", "pool_j"), 1)
        config, unset, valid = Signal(config_layout(), init=ones), Signal(5, init=0b11111), Signal(4)
        shift_f, shift_b, act = Signal(8), Signal(8), Signal(2)
        bases = {name: Signal(range(REGIONS), name=f"{name}_region") for name in ("ifm", "ker", "bias", "ofm")}
        positions, ifm_total = Signal(12), Signal(11)
        commit = Signal()
        m.d.comb += derived.config.eq(config)
        with m.If(commit):
            self._configure(m, is_op, fields, config, unset, valid, bases, shift_f, shift_b, act, now.area, positions, ifm_total)
        m.d.comb += [
            derived.touched.any.eq(commit | self.start),
            derived.touched.ifm.eq(commit & (is_op["@shape.ifm"] | is_op["@mem.ifm"])),
            derived.touched.map.eq(commit & is_op["@mem.ofm"]),
            derived.touched.out.eq(commit & (is_op["@shape.ofm"] | is_op["@pool"] | is_op["@mem.ofm"]) | self.start),
        ]

        # An imperative instruction: everything that the registers tell, in one cycle
        is_conv = Signal()
        is_transfer = Signal()
        m.d.comb += [is_conv.eq(_any(is_op[name] for name in CONVOLUTIONS)),
                     is_transfer.eq(_any(is_op[name] for name in _TRANSFERS))]
        examine = Signal()
        unset_now, invalid, ranges, too_large = Signal(5), Signal(4), Signal(_RANGES), Signal()
        span = Signal(_SPAN_BITS)
        needs_set, needs_valid = Signal(5), Signal(4)
        for name, mask in _NEEDS_SET.items():
            with m.If(is_op[name]):
                m.d.comb += needs_set.eq(mask)
        for name, mask in _NEEDS_VALID.items():
            with m.If(is_op[name]):
                m.d.comb += needs_valid.eq(mask)
        with m.If(is_op["store"] & config.add_ifm):
            m.d.comb += needs_valid.eq(OFM | IFM)
        conv = fields["conv"]
        residual = Signal()
        m.d.comb += residual.eq(is_op["store"] & config.add_ifm)
        with m.If(examine):
            m.d.sync += [
                unset_now.eq(needs_set & unset), invalid.eq(needs_valid & ~valid), too_large.eq(is_op["ld.ker"] & derived.kernel_too_long),
                ranges.eq(Cat(
                    is_conv & (conv.h > derived.top), is_conv & (conv.w > derived.left), is_conv & (conv.n >= config.ker_n),
                    is_op["ld.ker"] & derived.kernel_large,
                    is_op["store"] & derived.pool_tall, is_op["store"] & derived.pool_wide,
                    residual & derived.tall, residual & derived.wide, residual & derived.deep)),
                span.eq(self._span(m, is_op, config, derived)),
            ]
        unfit = Signal()
        m.d.comb += unfit.eq(unset_now.any() | invalid.any() | ranges.any() | too_large)

        # Where an array lies: bounds in units of 64 bytes
        unit = fields["store"].addr                 # all transfers have it at the same place
        end, first, last = Signal(UNIT_BITS), Signal(UNIT_BITS + 1), Signal(UNIT_BITS + 1)
        beyond, low, high = Signal(), Signal(), Signal()
        m.d.comb += self.region.eq(bases["ofm"])
        for name, base in (("ld.ifm", "ifm"), ("ld.ker", "ker"), ("ld.bias", "bias")):
            with m.If(is_op[name]):
                m.d.comb += self.region.eq(bases[base])
        m.d.sync += [
            end.eq(unit + span), first.eq(self.region_base + unit),
            beyond.eq(end > self.region_limit), last.eq(self.region_base + end),
            low.eq(first < self.window_base), high.eq(last > self.window_limit),
        ]

        self._entries(m, is_op, fields, config, derived, board, bases, shift_f, shift_b, act, positions, ifm_total, first, word)
        push_conv, push_transfer = Signal(), Signal()
        m.d.comb += [
            self.conv.valid.eq(push_conv), self.transfer.valid.eq(push_transfer),
            board.push_conv.eq(push_conv & self.conv.ready), board.overwrites.eq(~is_op["conv.acc"]),
            board.residual.eq(config.add_ifm), board.kernel_rows.eq(derived.kernel_rows),
            *(getattr(board, f"push_{kind}").eq(push_transfer & self.transfer.ready & is_op[name])
              for name, kind in zip(_TRANSFERS, ("ifm", "ker", "bias", "store", "pad"), strict=True)),
        ]
        made = Signal(4)
        for name, bit in _MAKES_VALID.items():
            with m.If(is_op[name]):
                m.d.comb += made.eq(bit)

        def done():
            m.d.comb += take.eq(1)

        def fault(name, detail):
            m.d.sync += [self.code.eq(_CODE[name]), self.detail.eq(detail), self.over.eq(1), self.word.eq(word)]

        waits = Signal()                            # for numbers that follow from the configuration
        m.d.comb += waits.eq(~derived.settled | is_op["ld.ifm"] & ~derived.ifm_ready | is_op["store"] & ~derived.out_ready
                             | is_op["pad"] & ~derived.map_ready)
        nothing = Signal()                          # a ``pad`` of no width
        m.d.comb += nothing.eq(is_op["pad"] & (fields["pad"].p == 0))
        with m.FSM(name="decode"):
            with m.State("OFF"):
                with m.If(self.start):
                    m.next = "LOOK"
            with m.State("LOOK"):
                m.d.comb += self.starved.eq(~now.valid & ~here & ~self.stop)
                with m.If(now.valid & ~self.stop):
                    with m.If(now.error):
                        fault("bus", Cat(Const(0, 6), pc[4:]))
                        m.d.sync += self.word.eq(0)
                        m.next = "OVER"
                    with m.Elif(now.wrong):
                        m.next = "WRONG"
                    with m.Elif(is_op["end"]):
                        m.d.sync += [self.over.eq(1), self.code.eq(0), self.word.eq(0)]
                        m.next = "OVER"
                    with m.Elif(is_conv | is_transfer):
                        with m.If(~waits):
                            m.d.comb += examine.eq(1)
                            with m.If(is_conv):
                                m.next = "CONV"
                            with m.Else():
                                m.next = "BOUNDS"
                    with m.Else():
                        m.d.comb += [commit.eq(1), self.retired.eq(1)]
                        done()
                with m.Elif(self.spent & ~here & ~self.stop):
                    with m.If(self.outside):
                        fault("window", Cat(Const(0, 2), pc))
                    with m.Else():
                        fault("fetch", Cat(Const(0, 2), pc))
                    m.d.sync += self.word.eq(0)
                    m.next = "OVER"
            with m.State("CONV"):
                with m.If(unfit):
                    m.next = "WRONG"
                with m.Elif(~self.conv_crowded & ~self.stop):
                    m.d.comb += push_conv.eq(1)
                    with m.If(self.conv.ready):
                        m.d.sync += valid.eq(valid | made)
                        done()
                        m.next = "LOOK"
            with m.State("BOUNDS"):                 # ``end`` and ``first`` are made in this cycle
                with m.If(unfit):
                    m.next = "WRONG"
                with m.Elif(nothing):
                    m.d.comb += self.retired.eq(1)
                    done()
                    m.next = "LOOK"
                with m.Else():
                    m.next = "SUMS"
            with m.State("SUMS"):                   # ``beyond`` and ``last``
                m.next = "LIMITS"
            with m.State("LIMITS"):                 # ``low`` and ``high``
                m.next = "JUDGE"
            with m.State("JUDGE"):
                with m.If(beyond | low | high):
                    m.next = "WRONG"
                with m.Elif(~self.transfer_crowded & ~self.stop):
                    m.d.comb += push_transfer.eq(1)
                    with m.If(self.transfer.ready):
                        m.d.sync += valid.eq(valid | made)
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
                with m.Elif(unset_now.any()):
                    fault("undef_reg", unset_now)
                with m.Elif(invalid.any()):
                    fault("undef_buf", invalid)
                for k in range(_RANGES):
                    with m.Elif(ranges[k]):
                        fault("range", k + 1)
                with m.Elif(too_large):
                    fault("capacity", KER)
                with m.Elif(beyond):
                    fault("region", Cat(Const(0, 6), unit, self.region))
                with m.Else():
                    fault("window", Cat(Const(0, 6), first[:UNIT_BITS]))
            with m.State("OVER"):
                pass                                # until reset
        return m

    def _look(self, m, take):
        """The stages in front. Returns whether a word is on its way, and the word at hand with what is known about it."""
        p = self.params
        given = self.words.payload
        ahead, ahead_error, ahead_valid = Signal(32), Signal(), Signal()
        area = Signal(14)
        valid, error = Signal(), Signal()
        move, load = Signal(), Signal()
        m.d.comb += [load.eq(~valid | take), move.eq(~ahead_valid | load), self.words.ready.eq(move)]
        shape = fields_of("@shape.ifm", given.word)     # @shape.ofm has its sides at the same place
        with m.If(move):
            m.d.sync += [ahead_valid.eq(self.words.valid), ahead.eq(given.word), ahead_error.eq(given.error),
                         area.eq(shape.h * shape.w)]

        is_op, known, bad = legality(m, ahead)
        flat, over = Signal(), Signal()             # the area is illegal; the shape is larger than a bank
        m.d.comb += flat.eq((area == 0) | (area > MAX_POSITIONS))
        c = fields_of("@shape.ifm", ahead).c
        lines = Signal(20)
        po_log = exact_log2(p["po"])
        with m.If(is_op["@shape.ifm"]):
            m.d.comb += lines.eq(area << Mux(c[:3] > 4, (c[:3] - 4)[:2], 0))
            m.d.comb += over.eq(lines > p["ifm_lines"])
        with m.Elif(is_op["@shape.ofm"]):
            m.d.comb += lines.eq(area << Mux(c[:3] > po_log, (c[:3] - po_log)[:3], 0))
            m.d.comb += over.eq(lines > p["ofm_lines"])
        shapes = is_op["@shape.ifm"] | is_op["@shape.ofm"]
        bad_any = Signal()
        m.d.comb += bad_any.eq(shapes & flat | _any(is_op[name] & wrong for name, list_ in bad.items() for wrong, _ in list_))

        class Now:
            pass
        now = Now()
        now.valid, now.error = valid, error
        now.word, now.area = Signal(32), Signal(12)
        now.wrong, now.illegal, now.bad, now.flat = Signal(), Signal(), Signal(), Signal()
        now.is_op = {name: Signal(name="now_" + signal.name) for name, signal in is_op.items()}
        with m.If(load):
            m.d.sync += [
                valid.eq(ahead_valid), error.eq(ahead_error), now.word.eq(ahead), now.area.eq(area),
                now.illegal.eq(~known), now.bad.eq(bad_any), now.flat.eq(shapes & flat),
                now.wrong.eq(~known | bad_any | over), *(now.is_op[name].eq(signal) for name, signal in is_op.items()),
            ]
        now.opcode = fields_of("end", now.word).opcode
        # Which field it was is asked only of the one word that has a bad one.
        now.bad_detail = Signal(5)
        _, _, bad = legality(m, now.word)
        for name, list_ in bad.items():
            with m.If(now.is_op[name]):
                for wrong, lo in reversed(list_):
                    with m.If(wrong):
                        m.d.comb += now.bad_detail.eq(lo)
        with m.If(now.flat):
            m.d.comb += now.bad_detail.eq(_AREA_DETAIL)
        here = Signal()
        m.d.comb += here.eq(ahead_valid | self.words.valid)
        return here, now

    @staticmethod
    def _configure(m, is_op, fields, config, unset, valid, bases, shift_f, shift_b, act, area, positions, ifm_total):
        """Section 4.2. What an illegal instruction writes nobody will see."""
        for k, name in enumerate(_SETS):
            with m.If(is_op[name]):
                m.d.sync += unset[k].eq(0)
        f = fields["@shape.ifm"]
        with m.If(is_op["@shape.ifm"]):
            m.d.sync += [config.ifm_h.eq(f.h), config.ifm_w.eq(f.w), config.ifm_c.eq(f.c[:2]), ifm_total.eq(area - 1),
                         valid.eq(valid & ~(IFM | KER))]
        f = fields["@shape.ofm"]
        with m.If(is_op["@shape.ofm"]):
            m.d.sync += [config.ofm_h.eq(f.h), config.ofm_w.eq(f.w), config.ofm_c.eq(f.c), positions.eq(area),
                         valid.eq(valid & ~Mux(config.ofm_c == f.c, OFM | KER, OFM | KER | BIAS))]
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
            m.d.sync += [bases["ofm"].eq(f.addr), config.ofm_mem_h.eq(f.h), config.ofm_mem_w.eq(f.w)]
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
            m.d.sync += [config.pool_h.eq(f.h), config.pool_w.eq(f.w), config.pool_i.eq(f.i), config.pool_j.eq(f.j)]

    def _span(self, m, is_op, config, derived):
        """Units of 64 bytes from the first to the last that a transfer touches."""
        types = type_set(self.params)
        wide = exact_log2(types.ifm_bytes)
        span = Signal(_SPAN_BITS)
        # The last slot counts as far as its channels reach.
        last_ifm = Const(1, 2) if wide == 0 else Mux(config.ifm_c == 2, 2, 1)
        last_ofm = Const(1, 2) if wide == 0 else Mux(config.ofm_c == 6, 2, 1)
        with m.If(is_op["ld.ifm"]):
            m.d.comb += span.eq((derived.ifm_slots << wide) + last_ifm)
        with m.If(is_op["store"]):
            m.d.comb += span.eq((derived.out_slots << wide) + last_ofm)
        with m.If(is_op["pad"]):
            m.d.comb += span.eq(derived.map_slots << wide)
        with m.If(is_op["ld.ker"]):
            # In halves of a unit: the smallest tap is 32 weights.
            halves = Signal(13)
            m.d.comb += halves.eq((config.ker_n << (config.ifm_c + config.ofm_c - 1)[:3]) << exact_log2(types.ker_bytes))
            m.d.comb += span.eq((halves + 1) >> 1)
        with m.If(is_op["ld.bias"]):
            m.d.comb += span.eq(1)
            for k in range(1, 7):
                with m.If(config.ofm_c == k):
                    m.d.comb += span.eq(-(-(types.bias_bytes << k) // 64))
        return span

    def _entries(self, m, is_op, fields, config, derived, board, bases, shift_f, shift_b, act, positions, ifm_total, first, word):
        f = fields["conv"]
        conv, command = self.conv.payload, self.conv.payload.command
        overwrites = ~is_op["conv.acc"]
        tap_row = Signal(len(conv.row))
        m.d.sync += tap_row.eq(f.n << derived.tap_shift)
        m.d.comb += [
            conv.row.eq(board.kernel_row + tap_row),
            conv.positions.eq(positions), conv.at.eq(board.next_transfer), conv.tap.eq(f.n), conv.ker.eq(board.conv_ker),
            conv.load.eq(Mux(is_op["conv.bias"], board.conv_load_bias, board.conv_load)),
            conv.store.eq(Mux(overwrites, board.conv_store_overwrite, board.conv_store)),
            command.h.eq(f.h), command.w.eq(f.w), command.stride_h.eq(config.stride_h), command.stride_w.eq(config.stride_w),
            command.ifm_w.eq(config.ifm_w), command.ofm_h.eq(config.ofm_h), command.ofm_w.eq(config.ofm_w),
            command.ifm_c.eq(config.ifm_c), command.ofm_c.eq(config.ofm_c),
            command.ifm_bank.eq(board.ifm_bank), command.ofm_bank.eq(Mux(overwrites, board.overwrite_bank, board.ofm_bank)),
            command.bias_copy.eq(board.bias_copy), command.ifm_shift.eq(shift_f), command.bias_shift.eq(shift_b),
        ]
        for name, kind in _KINDS.items():
            with m.If(is_op[name]):
                m.d.comb += command.kind.eq(kind)

        t, post = self.transfer.payload, self.transfer.payload.post
        width = config.ofm_mem_w
        m.d.comb += [
            t.pc.eq(self.pc), t.word.eq(word), t.unit.eq(first), t.number.eq(board.next_transfer), t.at.eq(board.next_conv),
            t.rows.eq(derived.out_h), t.columns.eq(derived.out_w), t.mem_w.eq(width), t.total.eq(ifm_total),
            t.p.eq(fields["pad"].p), t.taps.eq(config.ker_n - 1), t.row.eq(board.next_kernel_row),
            t.conv.eq(board.store_conv), t.bank.eq(board.next_ifm_bank),
            post.ofm_h.eq(config.ofm_h), post.ofm_w.eq(config.ofm_w), post.ofm_c.eq(config.ofm_c), post.act.eq(act),
            post.order.eq(config.order), post.add_ifm.eq(config.add_ifm), post.pool_h.eq(config.pool_h),
            post.pool_w.eq(config.pool_w), post.pool_h_stride.eq(config.pool_i), post.pool_w_stride.eq(config.pool_j),
            post.out_h.eq(derived.out_h + 1), post.out_w.eq(derived.out_w + 1), post.ofm_bank.eq(board.ofm_bank),
            post.ifm_bank.eq(board.ifm_bank), post.ifm_w.eq(config.ifm_w), post.ifm_c.eq(config.ifm_c),
        ]
        for name, kind in _TRANSFERS.items():
            with m.If(is_op[name]):
                m.d.comb += t.kind.eq(kind)
        with m.If(is_op["ld.ifm"]):
            m.d.comb += [t.rows.eq(config.ifm_h - 1), t.columns.eq(config.ifm_w - 1), t.mem_w.eq(config.ifm_mem_w),
                         t.conv.eq(board.ifm_conv)]
        with m.If(is_op["ld.ker"]):
            m.d.comb += t.conv.eq(board.ker_conv)
        with m.If(is_op["ld.bias"]):
            m.d.comb += [t.conv.eq(board.bias_conv), t.bank.eq(board.next_bias_copy)]
        with m.If(is_op["pad"]):
            m.d.comb += [t.rows.eq(config.ofm_mem_h - 1), t.columns.eq(width - 1), t.conv.fresh.eq(0)]
