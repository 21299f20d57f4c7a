# SPDX-License-Identifier: BSD-2-Clause
"""Decode: start checks, and every check of an instruction that depends on fields, parameters and program order alone.

One adder serves all the wide sums (section 6): an instruction that touches memory takes 6 to 9 cycles here, MMC and ACT three, a
NOP one. The decoded instruction waits in a register for its issue, while the next one is decoded.
"""
from amaranth import Cat, Const, Module, Mux, Signal, unsigned
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
        ub_bits, acc_bits = exact_log2(p["ub_rows"]), exact_log2(p["acc_rows"])

        # Fields of the word (section 3.1)
        ub, addr, length = self.word[:24], self.word[24:88], self.word[88:96]
        flags, opcode = self.word[96:104], self.word[104:112]
        number = Signal(8)
        m.d.comb += number.eq(length - 1)

        # The adder: total = x + y or x - y; borrow means x < y.
        x, y, total, subtract, borrow = Signal(32), Signal(32), Signal(33), Signal(), Signal()
        m.d.comb += [
            total.eq(x + (y ^ subtract.replicate(32)) + subtract),
            borrow.eq(~total[32]),
        ]
        acc, begin = Signal(32, reset_less=True), Signal(32, reset_less=True)

        # Results of the start checks
        check = Signal(10)
        sevens = Signal(3)
        digit = Signal(range(11))
        digits = Cat(regs.program_length[1:], Const(0, 2))
        three = Signal(3)
        folded = Signal(4)
        m.d.comb += [three.eq(digits.word_select(digit, 3)), folded.eq(sevens + three)]
        bad_limit, bad_weights, some_host, past, high, low, beyond, crosses, before = (Signal() for _ in range(9))

        # Candidate and hand-over
        out, free, put = Signal(self.candidate.shape()), Signal(), Signal()
        m.d.comb += free.eq(~self.valid | self.take)
        with m.If(self.take):
            m.d.sync += self.valid.eq(0)
        with m.If(put):
            m.d.sync += [self.valid.eq(1), self.candidate.eq(out)]

        # Program order of tiles and switches
        pending, switched = Signal(range(capacity + 1)), Signal()

        # Classes of the word, registered in the first cycle
        bad = Signal(4)
        illegal, bad_cfg, ub_bad, acc_bad, high_addr = Signal(), Signal(), Signal(), Signal(), Signal()
        sums_ub, sums_acc = Signal(max(ub_bits, 8) + 1), Signal(max(acc_bits, 8) + 1)
        m.d.comb += [sums_ub.eq(ub[:ub_bits] + number), sums_acc.eq(addr[:acc_bits] + number)]
        overflow = Signal()
        is_op = {op: Signal(name=f"is_{op.name.lower()}") for op in Op}
        cfg_numbers = [name for name, ext in (("norm", "ext_norm"), ("conv", "ext_conv"), ("pool", "ext_pool"),
                                              ("poolrow", "ext_pool")) if p[ext]]
        for op in Op:
            m.d.comb += is_op[op].eq((opcode == (0x10 if op is Op.CFG else op.value)) if op is not Op.FAULT else 0)
        nothing = Signal()
        m.d.comb += nothing.eq(self.word == 0)
        sync_nop = is_op[Op.SYNC] if not p["ext_sync"] else Const(0)
        memory_op = is_op[Op.RHM] | is_op[Op.WHM]
        plain = is_op[Op.NOP] | is_op[Op.HLT]
        known = opcode[:5] <= 7 if not cfg_numbers else (opcode[:5] <= 7) | is_op[Op.CFG]
        allowed = Signal(8)
        with m.Switch(opcode[:3]):
            with m.Case(3):
                m.d.comb += allowed.eq(Mux(is_op[Op.MMC], 0b111, 0))
            with m.Case(4):
                m.d.comb += allowed.eq(Mux(is_op[Op.ACT], 0b11_1000 if p["ext_pool"] else 0b01_1000, 0))
            with m.Case(5):
                m.d.comb += allowed.eq(Mux(is_op[Op.SYNC], 1, 0))
        no_length = plain | is_op[Op.RW] | is_op[Op.SYNC] | is_op[Op.CFG]
        field_bad = Cat(
            (flags & ~allowed).any(),
            no_length & length.any(),
            plain & addr[:32].any() | is_op[Op.SYNC] & addr[16:32].any()
            | (plain | is_op[Op.SYNC] | is_op[Op.CFG]) & addr[32:].any(),
            (plain | is_op[Op.RW] | is_op[Op.SYNC]) & ub.any(),
        )
        cfg_fault = self._cfg_illegal(m, cfg_numbers, ub, addr[:32])

        def fault(code, detail):
            m.d.comb += [out.op.eq(Op.FAULT), out.code.eq(code), out.begin.eq(detail)]

        def choose(first, second, minus=0):
            m.d.comb += [x.eq(first), y.eq(second), subtract.eq(minus)]

        m.d.comb += [
            out.switch.eq(flags[0]), out.convolve.eq(flags[1]), out.overwrite.eq(flags[2]), out.func.eq(flags[3:5]),
            out.pool.eq(flags[5]), out.ub.eq(ub), out.ub_last.eq(sums_ub), out.acc.eq(addr), out.acc_last.eq(sums_acc),
            out.number.eq(number), out.begin.eq(addr), out.end.eq(acc),
        ]
        # Rows that are checked while the instruction runs travel whole.
        if p["ext_conv"]:
            with m.If(is_op[Op.MMC]):
                m.d.comb += out.end.eq(ub)
        if p["ext_pool"]:
            with m.If(is_op[Op.ACT] & high_addr):
                m.d.comb += out.begin.eq(0xFFFF_FFFF)
        with m.Switch(opcode[:5]):
            for op in Op:
                if op is not Op.FAULT:
                    with m.Case(0x10 if op is Op.CFG else op.value):
                        m.d.comb += out.op.eq(op if not (op is Op.SYNC and not p["ext_sync"]) else Op.NOP)

        with m.FSM(name="decode"):
            with m.State("OFF"):
                with m.If(self.start):
                    m.d.sync += [check.eq(1), sevens.eq(0), digit.eq(0), pending.eq(0), switched.eq(0)]
                    m.next = "START"

            with m.State("START"):
                # One step each of the start checks; the length modulo 7 meanwhile, digit by digit (8 is 1 modulo 7).
                m.d.sync += check.eq(check << 1)
                with m.If(digit != 10):
                    m.d.sync += digit.eq(digit + 1)
                m.d.sync += sevens.eq(folded[:3] + folded[3])
                steps = (
                    (regs.program_address, regs.program_length, 0, [acc.eq(total), past.eq(total[32])]),
                    (regs.program_address, regs.window_base, 1, low.eq(borrow)),
                    (regs.window_limit, acc, 1, high.eq(borrow | past)),
                    (regs.program_address, regs.window_limit, 1, beyond.eq(~borrow)),
                    (regs.hostmem_base, acc, 1, before.eq(borrow | past)),
                    (regs.hostmem_base, regs.hostmem_limit, 1, some_host.eq(borrow)),
                    (regs.program_address, regs.hostmem_limit, 1, crosses.eq(borrow & before & some_host)),
                    (regs.hostmem_limit, regs.hostmem_base, 1, bad_limit.eq(borrow)),
                    (regs.weights_limit, regs.weights_base, 1, bad_weights.eq(borrow)),
                )
                m.d.comb += self.fetch.eq(check[3] & ~low & ~high)
                for k, (first, second, minus, result) in enumerate(steps):
                    with m.If(check[k]):
                        choose(first, second, minus)
                        m.d.sync += result
                with m.If(digit == 10):
                    m.next = "JUDGE"

            with m.State("JUDGE"):
                host, weights = regs.hostmem_base[:4].any() | crosses, regs.weights_base[:4].any()
                bad_length = regs.program_length[0] | (regs.program_length == 0) | ((sevens != 0) & (sevens != 7))
                norm_bad = self._norm_illegal(regs.cfg_norm) if p["ext_norm"] else Const(0)
                pool_bad = self._pool_illegal(regs.cfg_pool) if p["ext_pool"] else Const(0)
                m.next = "DONE"
                m.d.comb += put.eq(1)
                with m.If(bad_length):
                    fault(FaultCode.BAD_REGISTER, 0x24)
                with m.Elif(host):
                    fault(FaultCode.BAD_REGISTER, 0x100)
                with m.Elif(bad_limit):
                    fault(FaultCode.BAD_REGISTER, 0x104)
                with m.Elif(weights):
                    fault(FaultCode.BAD_REGISTER, 0x108)
                with m.Elif(bad_weights):
                    fault(FaultCode.BAD_REGISTER, 0x10C)
                with m.Elif(norm_bad):
                    fault(FaultCode.BAD_CONFIG, 0)
                with m.Elif(pool_bad):
                    fault(FaultCode.BAD_CONFIG, 2)
                with m.Elif(low | high):
                    fault(FaultCode.WINDOW, Mux(low | beyond, regs.program_address, regs.window_limit))
                with m.Else():
                    m.d.comb += put.eq(0)
                    m.next = "WORD"

            with m.State("WORD"):
                m.d.comb += self.starved.eq(~self.word_valid)
                m.d.sync += [
                    bad.eq(field_bad), illegal.eq(~known | opcode[5:].any()), bad_cfg.eq(is_op[Op.CFG] & cfg_fault if cfg_numbers else 0),
                    ub_bad.eq(ub[ub_bits:].any() | (sums_ub >> ub_bits).any()),
                    high_addr.eq(addr[32:].any()),
                    acc_bad.eq(addr[acc_bits:].any() | (sums_acc >> acc_bits).any()),
                    overflow.eq(0),
                ]
                with m.If(self.word_valid):
                    with m.If(self.word_error):
                        fault(FaultCode.BUS_ERROR, self.error_address)
                        m.d.comb += put.eq(free)
                        with m.If(free):
                            m.next = "DONE"
                    with m.Elif(nothing):
                        m.d.comb += [put.eq(free), self.take_word.eq(free)]
                    with m.Else():
                        m.next = "CHECK"
                with m.Elif(self.exhausted):
                    fault(FaultCode.PROGRAM_END, regs.program_length)
                    m.d.comb += put.eq(free)
                    with m.If(free):
                        m.next = "DONE"

            with m.State("CHECK"):
                uses_ub = memory_op | is_op[Op.MMC] | is_op[Op.ACT]
                uses_acc = is_op[Op.MMC] | is_op[Op.ACT]
                free_ub = is_op[Op.MMC] & flags[1] if p["ext_conv"] else Const(0)
                free_acc = is_op[Op.ACT] & flags[5] if p["ext_pool"] else Const(0)
                takes = is_op[Op.MMC] & flags[0]
                done = Signal()
                m.d.comb += done.eq(1)
                with m.If(bad_cfg):
                    fault(FaultCode.BAD_CONFIG, ub)
                with m.Elif(illegal):
                    fault(FaultCode.ILLEGAL_OPCODE, opcode)
                with m.Elif(bad.any() & ~sync_nop):
                    fault(FaultCode.BAD_FIELD, Mux(bad[0], 1, Mux(bad[1], 2, Mux(bad[2], 3, 4))))
                with m.Elif(uses_ub & ub_bad & ~free_ub):
                    choose(ub, number)
                    fault(FaultCode.UB_RANGE, total[:32])
                with m.Elif(uses_acc & acc_bad & ~free_acc):
                    choose(addr[:32], number)
                    fault(FaultCode.ACC_RANGE, Mux(high_addr | total[32], 0xFFFF_FFFF, total[:32]))
                with m.Elif(is_op[Op.MMC] & ~flags[0] & ~switched):
                    fault(FaultCode.NO_WEIGHTS, 0)
                with m.Elif(takes & (pending == 0)):
                    fault(FaultCode.WEIGHT_UNDERFLOW, 0)
                with m.Else():
                    m.d.comb += done.eq(0)
                with m.If(done):
                    m.d.comb += put.eq(free)
                    with m.If(free):
                        m.next = "DONE"
                with m.Elif(memory_op | is_op[Op.RW]):
                    m.next = "OFFSET_0"
                with m.Else():
                    m.d.comb += [put.eq(free), self.take_word.eq(free)]
                    with m.If(free):
                        with m.If(takes):
                            m.d.sync += [pending.eq(pending - 1), switched.eq(1)]
                        m.next = "WORD"
                        with m.If(is_op[Op.HLT]):
                            m.next = "DONE"

            # begin = base + size * addr, acc = begin + size * number of rows (of the tile)
            steps = max(len(row_bits), len(tile_bits))
            for k in range(steps):
                with m.State(f"OFFSET_{k}"):
                    tile = is_op[Op.RW]
                    base = acc if k else Mux(tile, regs.weights_base, regs.hostmem_base)
                    parts = []
                    for active, bits in ((tile, tile_bits), (~tile, row_bits)):
                        if k < len(bits):
                            parts.append((active, bits[k], k + 1 == len(bits)))
                    for active, shift, final in parts:
                        with m.If(active):
                            choose(base, (addr[:32] << shift)[:32])
                            m.d.sync += [
                                acc.eq(total), begin.eq(total),
                                overflow.eq(overflow | total[32] | high_addr | addr[32 - shift:32].any()),
                            ]
                            m.next = "LENGTH_0" if final else f"OFFSET_{k + 1}"
            for k in range(len(row_bits)):
                with m.State(f"LENGTH_{k}"):
                    rows = number + 1
                    tile = is_op[Op.RW] if k == 0 else Const(0)
                    choose(acc, Mux(tile, n * n, (rows << row_bits[k])[:32]))
                    m.d.sync += [acc.eq(total), overflow.eq(overflow | total[32])]
                    m.next = f"LENGTH_{k + 1}" if k + 1 < len(row_bits) else "LIMIT"
                    if k == 0:
                        with m.If(tile):
                            m.next = "LIMIT"
            with m.State("LIMIT"):
                tile = is_op[Op.RW]
                choose(Mux(tile, regs.weights_limit, regs.hostmem_limit), acc, 1)
                with m.If(borrow | overflow):
                    m.next = "RANGE"
                with m.Elif(tile & (pending == capacity)):
                    fault(FaultCode.WEIGHT_OVERFLOW, capacity)
                    m.d.comb += put.eq(free)
                    with m.If(free):
                        m.next = "DONE"
                with m.Else():
                    m.next = "LOW"
            with m.State("RANGE"):
                tile = is_op[Op.RW]
                choose(addr[:32], Mux(tile, 0, number))
                fault(Mux(tile, FaultCode.WEIGHT_RANGE, FaultCode.HOST_RANGE), total[:32])
                m.d.comb += put.eq(free)
                with m.If(free):
                    m.next = "DONE"
            with m.State("LOW"):
                choose(begin, regs.window_base, 1)
                m.d.sync += low.eq(borrow)
                m.next = "HIGH"
            with m.State("HIGH"):
                choose(regs.window_limit, acc, 1)
                m.d.comb += [out.begin.eq(begin), out.end.eq(acc)]
                with m.If(borrow | low):
                    m.next = "OUTSIDE"
                with m.Else():
                    m.d.comb += [put.eq(free), self.take_word.eq(free)]
                    with m.If(free):
                        with m.If(is_op[Op.RW]):
                            m.d.sync += pending.eq(pending + 1)
                        m.next = "WORD"
            with m.State("OUTSIDE"):
                choose(begin, regs.window_limit, 1)
                fault(FaultCode.WINDOW, Mux(low | ~borrow, begin, regs.window_limit))
                m.d.comb += put.eq(free)
                with m.If(free):
                    m.next = "DONE"

            with m.State("DONE"):
                pass                    # until reset
        return m

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
