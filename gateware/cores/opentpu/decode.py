# SPDX-License-Identifier: BSD-2-Clause
"""Decode: start checks, and every check of an instruction that depends on fields, parameters and program order alone.

One adder serves all the wide sums (section 6): an instruction that touches memory takes six cycles here (more where N or N*N is
no power of two, or a region leaves the window), all others two. The decoded instruction waits in a register for its issue, while the next one is decoded.
"""
from types import SimpleNamespace

from amaranth import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .fetch import WORD_BYTES

__all__ = ["Decode", "FaultCode", "Op", "candidate_layout"]


class Op(enum.Enum, shape=4):
    """What the issue stage is given. ``FAULT``: no instruction, ``begin`` is the detail and ``code`` the fault."""
    NOP = 0
    WHM = 1
    RW = 2
    MMC = 3
    ACT = 4
    SYNC = 5
    RHM = 6
    HLT = 7
    CFG = 8
    FAULT = 9


class FaultCode:
    """Numbers of section 6 (a test compares them with the ISA's table)."""
    ILLEGAL_OPCODE = 1
    BAD_FIELD = 2
    WINDOW = 5
    BUS_ERROR = 6
    PROGRAM_END = 7
    ABORTED = 8
    BAD_REGISTER = 16
    BAD_CONFIG = 17
    UB_RANGE = 18
    ACC_RANGE = 19
    HOST_RANGE = 20
    WEIGHT_RANGE = 21
    NO_WEIGHTS = 22
    WEIGHT_UNDERFLOW = 23
    WEIGHT_OVERFLOW = 24


def candidate_layout(params):
    """A decoded instruction.

    Members: ``op``; ``code`` (FAULT); ``switch`` (S, or I of SYNC), ``convolve``, ``overwrite``, ``func``, ``pool``; ``ub`` ..
    ``ub_last``, ``acc`` .. ``acc_last`` (rows), ``number`` (rows less one); ``begin`` .. ``end`` (byte addresses, exclusive;
    SYNC: tag, CFG: value, with the register's number in ``ub``; MMC.C: ``end`` is the UB row, ACT.P: ``begin`` the ACC row).
    """
    ub, acc = exact_log2(params["ub_rows"]), exact_log2(params["acc_rows"])
    return data.StructLayout({
        "op": Op, "code": unsigned(5), "switch": 1, "convolve": 1, "overwrite": 1, "func": 2, "pool": 1,
        "ub": ub, "ub_last": ub, "acc": acc, "acc_last": acc, "number": 8, "begin": 32, "end": 32,
    })


def _set_bits(value):
    return [k for k in range(value.bit_length()) if value >> k & 1]


class Decode(wiring.Component):
    """From instruction words to candidates for issue, in program order.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    start : In, one cycle: check the registers, then decode. After a fault or HLT nothing is decoded until a reset.
    registers : In: hostmem_base, hostmem_limit, weights_base, weights_limit, program_address, program_length, window_base,
        window_limit, cfg_norm, cfg_pool
    fetch : Out, one cycle: the program lies in the window, fetch may begin
    word, word_valid, word_error, error_address, exhausted : In; take_word : Out: the face to :class:`~.fetch.Fetch`
    valid, take : Out, In; candidate : Out, :func:`candidate_layout`
    starved : Out: no word is there to decode
    """
    def __init__(self, *, params):
        self.params = params
        names = ("hostmem_base", "hostmem_limit", "weights_base", "weights_limit", "program_address", "program_length",
                 "window_base", "window_limit", "cfg_norm", "cfg_pool")
        self.have, self.next_word = Signal(), Signal()      # the word register
        super().__init__({
            "start": In(1), "fetch": Out(1), "registers": In(data.StructLayout({name: 32 for name in names})),
            "word": In(8 * WORD_BYTES), "word_valid": In(1), "word_error": In(1), "error_address": In(32),
            "exhausted": In(1), "take_word": Out(1),
            "valid": Out(1), "take": In(1), "candidate": Out(candidate_layout(params)), "starved": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        p, regs = self.params, self.registers
        n = p["n"]
        capacity = p["wfifo_tiles"] + 1
        row_bits, tile_bits = _set_bits(n), _set_bits(n * n)
        word = self._classify(m)
        ub, addr, number, flags, opcode = word.ub, word.addr, word.number, word.flags, word.opcode
        memory_op = word.rhm | word.whm | word.rw

        # The adder: total = (x or acc) + y, or minus y, or minus y and 1. What the operands are is said one cycle ahead.
        small = Signal(25)          # operands of few bits, and details of faults
        sources_x = {"program": regs.program_address, "host": regs.hostmem_base, "tiles": regs.weights_base,
                     "window_limit": regs.window_limit, "zero": Const(0, 32), "error": self.error_address}
        begin = Signal(32, reset_less=True)
        sources_x["begin"] = begin
        sources_x["addr"] = Mux(word.ub_bad, ub, addr[:32])
        shifted = Signal(32)
        sources_y = {"window_base": regs.window_base, "window_limit": regs.window_limit, "host_limit": regs.hostmem_limit,
                     "tiles_limit": regs.weights_limit, "host": regs.hostmem_base, "length": regs.program_length,
                     "shifted": shifted, "small": small}
        names_x, names_y = list(sources_x), list(sources_y)
        say_x, say_y = Signal(range(8)), Signal(range(8))
        say_invert, say_carry, say_acc = Signal(), Signal(), Signal()
        say_small = Signal(25)
        shift = Signal(range(max(len(row_bits), len(tile_bits))))
        x, y, total = Signal(32, reset_less=True), Signal(32, reset_less=True), Signal(33)
        invert, carry_in, use_acc = Signal(), Signal(), Signal()
        acc = Signal(32, reset_less=True)
        with m.Switch(say_x):
            for k, name in enumerate(names_x):
                with m.Case(k):
                    m.d.sync += x.eq(sources_x[name])
        with m.Switch(say_y):
            for k, name in enumerate(names_y):
                with m.Case(k):
                    m.d.sync += y.eq(sources_y[name])
        with m.Switch(Cat(shift, word.rw)):
            for rw, bits in ((1, tile_bits), (0, row_bits)):
                for k, bit in enumerate(bits):
                    with m.Case(rw << len(shift) | k):
                        m.d.comb += shifted.eq((addr[:32] << bit)[:32])
        m.d.comb += small.eq(say_small)
        m.d.sync += [invert.eq(say_invert), carry_in.eq(say_carry), use_acc.eq(say_acc)]
        chosen = Signal(32)
        m.d.comb += [chosen.eq(Mux(use_acc, acc, x)), total.eq(chosen + (y ^ invert.replicate(32)) + carry_in)]
        carry = total[32]

        def say(first, second, invert=0, carry=0, value=None):
            m.d.comb += [say_y.eq(names_y.index(second)), say_invert.eq(invert), say_carry.eq(carry)]
            m.d.comb += say_acc.eq(1) if first is None else say_x.eq(names_x.index(first))
            if value is not None:
                m.d.comb += say_small.eq(value)

        def add(first, second, value=None):
            """The next cycle's total: ``first`` (``None``: acc) + ``second``."""
            say(first, second, value=value)

        def less(first, second):
            """The next cycle's carry: not ``first`` < ``second``."""
            say(first, second, 1, 1)

        def above(first, second):
            """The next cycle's carry: ``first`` (``None``: acc) > ``second``."""
            say(first, second, 1, 0)

        # Candidate and hand-over. The register is filled when it is empty, not in the cycle in which it becomes so: the decision to
        # issue then ends here. The same holds for the word register.
        out, free, put, fails = Signal(self.candidate.shape()), Signal(), Signal(), Signal()
        m.d.comb += free.eq(~self.valid)
        with m.If(self.take):
            m.d.sync += self.valid.eq(0)
        with m.If(put & free):
            m.d.sync += [self.valid.eq(1), self.candidate.eq(out)]
        m.d.comb += self.next_word.eq(put & free & ~fails)

        # A fault: its detail is the next cycle's total.
        code = Signal(5)
        saturate = Signal()

        def fault(number, first="zero", second="small", value=0):
            m.d.sync += code.eq(number)
            add(first, second, value)
            with m.If(~self.valid):
                m.next = "REPORT"

        m.d.comb += [
            out.switch.eq(flags[0]), out.convolve.eq(flags[1]), out.overwrite.eq(flags[2]), out.func.eq(flags[3:5]),
            out.pool.eq(flags[5]), out.ub.eq(ub), out.ub_last.eq(word.ub_last), out.acc.eq(addr),
            out.acc_last.eq(word.acc_last), out.number.eq(number), out.begin.eq(Mux(memory_op, begin, addr[:32])),
            out.end.eq(acc), out.op.eq(word.op), out.code.eq(code),
        ]
        # Rows that are checked while the instruction runs travel whole.
        if p["ext_conv"]:
            with m.If(word.mmc):
                m.d.comb += out.end.eq(ub)
        if p["ext_pool"]:
            with m.If(word.act & word.high_addr):
                m.d.comb += out.begin.eq(0xFFFF_FFFF)

        gone = Signal()                 # no word will come any more; late by a cycle, to keep the fetch out of what follows
        m.d.sync += gone.eq(self.exhausted)

        # Program order of tiles and switches
        pending, switched = Signal(range(capacity + 1)), Signal()
        empty = Signal(init=1)
        m.d.sync += empty.eq(pending == 0)

        # Start checks: one comparison a cycle; the length modulo 7 meanwhile, digit by digit (8 is 1 modulo 7).
        bad_limit, bad_weights, some_host, past, low, high, beyond, crosses, before, over, overflow, host_out, tiles_out = (
            Signal(name=name) for name in ("bad_limit", "bad_weights", "some_host", "past", "low", "high", "beyond", "crosses",
                                           "before", "over", "overflow", "host_out", "tiles_out"))
        steps = (
            (lambda: add("program", "length"), [acc.eq(total), past.eq(carry)]),
            (lambda: less("program", "window_base"), low.eq(~carry)),
            (lambda: above(None, "window_limit"), high.eq(carry | past)),
            (lambda: less("program", "window_limit"), beyond.eq(carry)),
            (lambda: above(None, "host"), before.eq(carry | past)),
            (lambda: less("host", "host_limit"), some_host.eq(~carry)),
            (lambda: less("program", "host_limit"), crosses.eq(~carry & before & some_host)),
            (lambda: above("host", "host_limit"), bad_limit.eq(carry)),
            (lambda: above("tiles", "tiles_limit"), bad_weights.eq(carry)),
            (lambda: less("host", "window_base"), host_out.eq(~carry)),
            (lambda: less("window_limit", "host_limit"), host_out.eq(host_out | ~carry)),
            (lambda: less("tiles", "window_base"), tiles_out.eq(~carry)),
            (lambda: less("window_limit", "tiles_limit"), tiles_out.eq(tiles_out | ~carry)),
        )
        check = Signal(len(steps) + 2)
        sevens, digit, folded = Signal(3), Signal(range(12)), Signal(4)
        digits = Cat(regs.program_length[1:], Const(0, 2))
        m.d.comb += folded.eq(sevens + digits.word_select(digit, 3))

        with m.FSM(name="decode"):
            with m.State("OFF"):
                with m.If(self.start):
                    m.d.sync += check.eq(1)
                    m.next = "START"
            with m.State("START"):
                m.d.sync += check.eq(check << 1)
                with m.If(digit != 11):
                    m.d.sync += [digit.eq(digit + 1), sevens.eq(folded[:3] + folded[3])]
                for k, (choose, result) in enumerate(steps):
                    with m.If(check[k]):
                        choose()
                    with m.If(check[k + 1]):
                        m.d.sync += result
                m.d.comb += self.fetch.eq(check[5] & ~low & ~high)
                with m.If(check[len(steps) + 1]):
                    m.next = "JUDGE"
            with m.State("JUDGE"):
                bad_length = regs.program_length[0] | (regs.program_length == 0) | ((sevens != 0) & (sevens != 7))
                norm_bad = self._norm_illegal(regs.cfg_norm) if p["ext_norm"] else Const(0)
                pool_bad = self._pool_illegal(regs.cfg_pool) if p["ext_pool"] else Const(0)
                with m.If(bad_length):
                    fault(FaultCode.BAD_REGISTER, value=0x24)
                with m.Elif(regs.hostmem_base[:4].any() | crosses):
                    fault(FaultCode.BAD_REGISTER, value=0x100)
                with m.Elif(bad_limit):
                    fault(FaultCode.BAD_REGISTER, value=0x104)
                with m.Elif(regs.weights_base[:4].any()):
                    fault(FaultCode.BAD_REGISTER, value=0x108)
                with m.Elif(bad_weights):
                    fault(FaultCode.BAD_REGISTER, value=0x10C)
                with m.Elif(norm_bad):
                    fault(FaultCode.BAD_CONFIG, value=0)
                with m.Elif(pool_bad):
                    fault(FaultCode.BAD_CONFIG, value=2)
                with m.Elif(low | high & beyond):
                    fault(FaultCode.WINDOW, "program")
                with m.Elif(high):
                    fault(FaultCode.WINDOW, "window_limit")
                with m.Else():
                    m.next = "WORD"

            with m.State("WORD"):
                takes = word.mmc & flags[0]
                unready = word.mmc & ~flags[0] & ~switched
                m.d.comb += self.starved.eq(~self.have)
                m.d.sync += overflow.eq(0)
                with m.If(word.rw):
                    add("tiles", "shifted")
                with m.Else():
                    add("host", "shifted")
                with m.If(self.have):
                    with m.If(word.error):
                        fault(FaultCode.BUS_ERROR, "error")
                    with m.Elif(word.wrong | unready | takes & empty):
                        m.next = "WRONG"
                    with m.Elif(memory_op):
                        m.next = "OFFSET_0"
                    with m.Else():
                        m.d.comb += put.eq(1)
                        with m.If(free):
                            with m.If(takes):
                                m.d.sync += [pending.eq(pending - 1), switched.eq(1), empty.eq(pending == 1)]
                            with m.If(word.hlt):
                                m.next = "DONE"
                with m.Elif(gone):
                    fault(FaultCode.PROGRAM_END, "zero", "length")
            with m.State("WRONG"):
                with m.If(word.bad_cfg):
                    fault(FaultCode.BAD_CONFIG, value=ub)
                with m.Elif(word.illegal):
                    fault(FaultCode.ILLEGAL_OPCODE, value=opcode)
                with m.Elif(word.bad.any()):
                    fault(FaultCode.BAD_FIELD, value=Mux(word.bad[0], 1, Mux(word.bad[1], 2, Mux(word.bad[2], 3, 4))))
                with m.Elif(word.ub_bad):
                    fault(FaultCode.UB_RANGE, "addr", value=number)
                with m.Elif(word.acc_bad):
                    fault(FaultCode.ACC_RANGE, "addr", value=number)
                    m.d.sync += saturate.eq(1)
                with m.Elif(flags[0]):
                    fault(FaultCode.WEIGHT_UNDERFLOW)
                with m.Else():
                    fault(FaultCode.NO_WEIGHTS)

            # begin = base + size * addr, acc = begin + size * number of rows (or of one tile)
            rows = Signal(9)
            m.d.comb += rows.eq(number + 1)

            def limit():
                with m.If(word.rw):
                    above(None, "tiles_limit")
                with m.Else():
                    above(None, "host_limit")
                m.next = "LIMIT"

            for k in range(max(len(row_bits), len(tile_bits))):
                with m.State(f"OFFSET_{k}"):
                    m.d.sync += [acc.eq(total), begin.eq(total)]
                    for bits, mine in ((tile_bits, word.rw), (row_bits, ~word.rw)):
                        if k >= len(bits):
                            continue
                        with m.If(mine):
                            m.d.sync += overflow.eq(overflow | carry | word.high_addr | addr[32 - bits[k]:32].any())
                            if k + 1 < len(bits):
                                m.d.comb += shift.eq(k + 1)
                                add(None, "shifted")
                                m.next = f"OFFSET_{k + 1}"
                            else:
                                add(None, "small", n * n if bits is tile_bits else rows << row_bits[0])
                                m.next = "LENGTH_0"
            for k in range(len(row_bits)):
                with m.State(f"LENGTH_{k}"):
                    m.d.sync += [acc.eq(total), overflow.eq(overflow | carry)]
                    if k + 1 < len(row_bits):
                        with m.If(word.rw):
                            limit()
                        with m.Else():
                            add(None, "small", rows << row_bits[k + 1])
                            m.next = f"LENGTH_{k + 1}"
                    else:
                        limit()
            with m.State("LIMIT"):
                m.d.sync += [over.eq(carry | overflow), low.eq(0), high.eq(0)]
                m.next = "DECIDE"
                with m.If(Mux(word.rw, tiles_out, host_out)):
                    less("begin", "window_base")
                    m.next = "LOW"
            with m.State("LOW"):
                m.d.sync += low.eq(~carry)
                above(None, "window_limit")
                m.next = "HIGH"
            with m.State("HIGH"):
                m.d.sync += high.eq(carry)
                less("begin", "window_limit")
                m.next = "BEYOND"
            with m.State("BEYOND"):
                m.d.sync += beyond.eq(carry)
                m.next = "DECIDE"
            with m.State("DECIDE"):
                with m.If(over & word.rw):
                    fault(FaultCode.WEIGHT_RANGE, "addr")
                with m.Elif(over):
                    fault(FaultCode.HOST_RANGE, "addr", value=number)
                with m.Elif(word.rw & (pending == capacity)):
                    fault(FaultCode.WEIGHT_OVERFLOW, value=capacity)
                with m.Elif(low | high & beyond):
                    fault(FaultCode.WINDOW, "begin")
                with m.Elif(high):
                    fault(FaultCode.WINDOW, "window_limit")
                with m.Else():
                    m.d.comb += put.eq(1)
                    with m.If(free):
                        with m.If(word.rw):
                            m.d.sync += [pending.eq(pending + 1), empty.eq(0)]
                        m.next = "WORD"
            with m.State("REPORT"):
                m.d.comb += [
                    put.eq(1), fails.eq(1), out.op.eq(Op.FAULT),
                    out.begin.eq(total[:32] | (saturate & (word.high_addr | carry)).replicate(32)),
                ]
                m.next = "DONE"         # there is room: it was waited for
            with m.State("DONE"):
                pass                    # until reset
        return m

    def _classify(self, m):
        """The word register: fields of section 3.1, its class, and what is wrong with it as far as the word itself tells."""
        p = self.params
        ub_bits, acc_bits = exact_log2(p["ub_rows"]), exact_log2(p["acc_rows"])
        ub, addr, length = self.word[:24], self.word[24:88], self.word[88:96]
        flags, opcode = self.word[96:104], self.word[104:112]
        codes = {op: 0x10 if op is Op.CFG else op.value for op in Op if op is not Op.FAULT}
        cfg_numbers = [name for name, ext in (("norm", "ext_norm"), ("conv", "ext_conv"), ("pool", "ext_pool"),
                                              ("poolrow", "ext_pool")) if p[ext]]
        kinds = {op.name.lower(): opcode == code for op, code in codes.items()}
        op = Signal(Op)
        with m.Switch(opcode[:5]):
            for each, code in codes.items():
                with m.Case(code):
                    m.d.comb += op.eq(each if each is not Op.SYNC or p["ext_sync"] else Op.NOP)
        ignored = kinds["sync"] if not p["ext_sync"] else Const(0)
        plain = kinds["nop"] | kinds["hlt"]
        known = opcode[:5] <= 7
        if cfg_numbers:
            known |= kinds["cfg"]
        allowed = Signal(8)
        with m.Switch(opcode[:3]):
            with m.Case(3):
                m.d.comb += allowed.eq(Mux(kinds["mmc"], 0b111, 0))
            with m.Case(4):
                m.d.comb += allowed.eq(Mux(kinds["act"], 0b11_1000 if p["ext_pool"] else 0b01_1000, 0))
            with m.Case(5):
                m.d.comb += allowed.eq(Mux(kinds["sync"], 1, 0))
        short = plain | kinds["rw"] | kinds["sync"] | kinds["cfg"]      # no length
        bad = Signal(4)
        m.d.comb += bad.eq(Cat(
            (flags & ~allowed).any(),
            short & length.any(),
            plain & addr[:32].any() | kinds["sync"] & addr[16:32].any() | (plain | kinds["sync"] | kinds["cfg"]) & addr[32:].any(),
            (plain | kinds["rw"] | kinds["sync"]) & ub.any(),
        ) & ~ignored.replicate(4))
        number = Signal(8)
        ub_sum, acc_sum = Signal(max(ub_bits, 8) + 1), Signal(max(acc_bits, 8) + 1)
        m.d.comb += [number.eq(length - 1), ub_sum.eq(ub[:ub_bits] + number), acc_sum.eq(addr[:acc_bits] + number)]
        uses_ub = kinds["rhm"] | kinds["whm"] | kinds["mmc"] | kinds["act"]
        uses_acc = kinds["mmc"] | kinds["act"]
        if p["ext_conv"]:
            uses_ub &= ~(kinds["mmc"] & flags[1])
        if p["ext_pool"]:
            uses_acc &= ~(kinds["act"] & flags[5])
        values = {
            "ub": ub, "addr": addr, "number": number, "flags": flags, "opcode": opcode, "op": op, "error": self.word_error,
            "ub_last": ub_sum[:ub_bits], "acc_last": acc_sum[:acc_bits], "bad": bad,
            "illegal": ~known | opcode[5:].any(), "high_addr": addr[32:].any(),
            "bad_cfg": kinds["cfg"] & self._cfg_illegal(m, cfg_numbers, ub, addr[:32]) if cfg_numbers else Const(0),
            "ub_bad": uses_ub & (ub[ub_bits:].any() | ub_sum[ub_bits:].any()),
            "acc_bad": uses_acc & (addr[acc_bits:].any() | acc_sum[acc_bits:].any()),
            **{kind: kinds[kind] for kind in ("rhm", "whm", "rw", "mmc", "act", "hlt")},
        }
        load = Signal()
        m.d.comb += [load.eq(self.word_valid & ~self.have), self.take_word.eq(load)]
        m.d.sync += self.have.eq(load | self.have & ~self.next_word)
        held = Signal(data.StructLayout({name: Value.cast(value).shape() if name != "op" else Op
                                         for name, value in values.items()}), reset_less=True, name="word")
        with m.If(load):
            m.d.sync += [held[name].eq(value) for name, value in values.items()]
        view = SimpleNamespace(**{name: held[name] for name in values})
        # (bad_cfg stands beside bad: it comes first in the table)
        view.wrong = held.bad_cfg | held.illegal | held.bad.any() | held.ub_bad | held.acc_bad
        return view

    @staticmethod
    def _norm_illegal(value):
        return (value & ~0x3_011F).any() | (value[16:18] == 3)

    @staticmethod
    def _pool_illegal(value):
        return value[24:].any() | (value[0:4] == 0) | (value[4:8] == 0)

    def _cfg_illegal(self, m, built, number, value):
        illegal = Signal()
        m.d.comb += illegal.eq(1)
        with m.If(~number[2:].any()):
            with m.Switch(number[:2]):
                for name in built:
                    with m.Case(("norm", "conv", "pool", "poolrow").index(name)):
                        rule = {"norm": self._norm_illegal, "pool": self._pool_illegal}.get(name)
                        m.d.comb += illegal.eq(rule(value) if rule else 0)
        return illegal
