# SPDX-License-Identifier: BSD-2-Clause
"""Decoder: start checks, and all checks of an instruction that depend only on fields, parameters
and program order.

One adder serves all the wide sums (section 6). A step says what it adds; in the next cycle that is
chosen, in the one after it added, and the result stands behind that. So an instruction that touches
memory takes seven cycles here (more where N or N*N is no power of two, or a region leaves the
window), all others two. The decoded instruction waits in a register for its issue, while the next
one is decoded.
"""

from enum import IntEnum
from functools import reduce
from itertools import pairwise
from operator import or_
from types import SimpleNamespace
from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ....isa.parameters import Params
from ....isa.registers import COMMON_REGISTERS
from ....shell.layouts import word_layout
from ..isa import CFG_NAMES, ISA
from .adder import OperandAdder
from .classify import OPS, Classify, cfg_illegal, class_layout, size_shifts

__all__ = ["Decode", "FaultCode", "candidate_layout"]

# A type checker cannot know members that come from a table.
_make_enumeration: Any = IntEnum
#: Numbers of the table's faults.
FaultCode = _make_enumeration(
    "FaultCode", {name.upper(): code for name, code in ISA.fault_codes.items()}
)

_WORD_BYTES = ISA.storage[0].size
_PROGRAM_LENGTH = next(
    register.offset for register in COMMON_REGISTERS if register.name == "program_length"
)


def candidate_layout(params: Params) -> data.StructLayout:
    """Layout of a decoded instruction, a candidate for issue.

    Members: ``op``: one bit for each of :data:`~.classify.OPS`, one of them set (``fault``: no
    instruction, ``begin`` is the detail and ``code`` the fault); ``switch`` (S, or I of SYNC),
    ``convolve``, ``overwrite``, ``func``, ``pool``, ``bias`` (with ``ext_bias`` only),
    ``diagonal`` (D of RW, with ``ext_diag`` only); ``ub`` .. ``ub_last``, ``acc`` .. ``acc_last``
    (rows), ``number`` (rows less one); ``begin`` .. ``end`` (byte addresses, exclusive; SYNC: tag,
    CFG: value, with the register's number in ``ub``; MMC.C: ``end`` is the UB row, ACT.P: ``begin``
    the ACC row).
    """
    ub, acc = exact_log2(params["ub_rows"]), exact_log2(params["acc_rows"])
    return data.StructLayout(
        {
            "op": data.StructLayout({name: 1 for name in OPS}),
            "code": unsigned(5),
            "switch": 1,
            "convolve": 1,
            "overwrite": 1,
            **({"bias": 1} if params["ext_bias"] else {}),
            "func": 2,
            "pool": 1,
            **({"diagonal": unsigned(1)} if params["ext_diag"] else {}),
            "ub": ub,
            "ub_last": ub,
            "acc": acc,
            "acc_last": acc,
            "number": 8,
            "begin": 32,
            "end": 32,
        }
    )


class _Steps:
    """One-hot sequence of steps: each step depends only on its predecessors."""

    def __init__(self, m, names):
        self.m, self.names = m, names
        self.at = {name: Signal(name=f"at_{name}", init=name == names[0]) for name in names}
        self._into, self._leave = {name: [] for name in names}, {name: [] for name in names}

    def __getitem__(self, name):
        return self.at[name]

    def move(self, source, target, when=1):
        """Transition from one step to another; the conditions of all transitions of a step exclude
        each other."""
        self._into[target].append(self.at[source] & when)
        self._leave[source].append(Const(1, 1) if isinstance(when, int) else when)

    def chain(self, *names):
        for source, target in pairwise(names):
            self.move(source, target)

    def finish(self):
        for name in self.names:
            stays = self.at[name] & ~reduce(or_, self._leave[name], Const(0, 1))
            self.m.d.sync += self.at[name].eq(reduce(or_, self._into[name], stays))


def _later(m, condition, name):
    """Delays ``condition`` to the cycle in which the sum requested with it is available."""
    for k in range(2):
        held = Signal(name=f"{name}_{k}")
        m.d.sync += held.eq(condition)
        condition = held
    return condition


class Decode(wiring.Component):
    """Decoder: instruction words to candidates for issue, in program order.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    start : In, one cycle: check the registers, then decode.
        After a fault or HLT nothing is decoded until a reset.
    registers : In: hostmem_base, hostmem_limit, weights_base, weights_limit,
        program_address, program_length, window_base, window_limit, cfg_norm, cfg_pool
    fetch : Out, one cycle: the program lies in the window, fetch may begin
    word, word_valid, word_error, error_address, exhausted : In; take_word : Out: the interface to
    :class:`~.fetch.Fetch`
    valid, take : Out, In; candidate : Out, :func:`candidate_layout`;
        it stands for a cycle after it was taken
    starved : Out: no word is there to decode
    """

    def __init__(self, *, params: Params) -> None:
        self.params = params
        names = (
            "hostmem_base",
            "hostmem_limit",
            "weights_base",
            "weights_limit",
            "program_address",
            "program_length",
            "window_base",
            "window_limit",
            "cfg_norm",
            "cfg_pool",
        )
        # The host's region, the tiles' region leaves the window: every access is compared with it.
        self._host_out, self._tiles_out = Signal(), Signal()
        super().__init__(
            {
                "start": In(1),
                "fetch": Out(1),
                "registers": In(data.StructLayout({name: 32 for name in names})),
                "word": In(8 * _WORD_BYTES),
                "word_valid": In(1),
                "word_error": In(1),
                "error_address": In(32),
                "exhausted": In(1),
                "take_word": Out(1),
                "valid": Out(1),
                "take": In(1),
                "candidate": Out(candidate_layout(params)),
                "starved": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m, s = Module(), SimpleNamespace()  # `s`: signals that several steps use
        p, regs = self.params, self.registers
        row_shifts, tile_shifts = size_shifts(p["n"])
        capacity = p["wfifo_tiles"] + 1

        # The word register. It is filled when it is empty, not in the cycle in which it becomes so:
        # the decision to issue then ends here. The same holds for the candidate.
        m.submodules.classify = classify = Classify(params=p)
        word, s.word_error = Signal(class_layout(p), reset_less=True), Signal(reset_less=True)
        s.have, load, s.next_word, s.gone = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            classify.word.eq(data.View(word_layout(ISA), self.word)),
            load.eq(self.word_valid & ~s.have),
            self.take_word.eq(load),
        ]
        m.d.sync += [
            s.have.eq(load | s.have & ~s.next_word),
            s.gone.eq(self.exhausted),
        ]  # (gone: late, to keep the fetch away)
        with m.If(load):
            m.d.sync += [word.eq(classify.about), s.word_error.eq(self.word_error)]

        # Steps
        longest = max(len(row_shifts), len(tile_shifts))
        offsets = [f"offset_{k}" for k in range(1, longest)]
        lengths = [f"length_{k}" for k in range(len(row_shifts))]
        steps = _Steps(
            m,
            [
                "off",
                "start",
                "judge",
                "word",
                "wrong",
                *offsets,
                *lengths,
                "limit",
                "low",
                "high",
                "beyond",
                "settle_1",
                "settle_2",
                "decide",
                "fail_1",
                "fail_2",
                "fail_3",
                "report",
                "done",
            ],
        )

        # The adder, and the sum for a fault's detail.
        rows = Signal(9)
        m.d.comb += rows.eq(word.number + 1)
        fail_x, fail_length, fail_value = (
            Signal(3, reset_less=True),
            Signal(reset_less=True),
            Signal(9, reset_less=True),
        )
        s.begin, acc = Signal(32, reset_less=True), Signal(32, reset_less=True, name="acc")
        m.submodules.adder = adder = OperandAdder(
            x={
                "program": regs.program_address,
                "host": regs.hostmem_base,
                "tiles": regs.weights_base,
                "window_limit": regs.window_limit,
                "zero": Const(0, 32),
                "error": self.error_address,
                "begin": s.begin,
                "addr": Mux(word.ub_bad | word.bad_cfg, word.ub, word.addr),
            },
            y={
                "window_base": regs.window_base,
                "window_limit": regs.window_limit,
                "host_limit": regs.hostmem_limit,
                "tiles_limit": regs.weights_limit,
                "host": regs.hostmem_base,
                "length": regs.program_length,
                "small": None,
                "shifted": None,
            },
            small={
                "value": fail_value,
                "tile": Const(p["n"] ** 2),
                **{f"rows_{k}": rows << k for k in row_shifts},
                **({"diagonal": Const(p["n"])} if p["ext_diag"] else {}),
            },
            shifted={k: (word.addr << k)[:32] for k in sorted({*row_shifts, *tile_shifts})},
            acc=acc,
        )

        self._hand_over(m, s, word, steps, acc)

        # Faults: the fault, and its detail as a sum.
        saturate = Signal()

        def fault(number, first="zero", value=0, length=False):
            m.d.sync += [
                s.code.eq(number),
                fail_x.eq(adder.index_x(first)),
                fail_value.eq(value),
                fail_length.eq(length),
                saturate.eq(number == FaultCode.ACC_RANGE),
            ]

        def judge(checks):
            """Selects the first verdict that holds. Returns whether any does."""
            for k, (condition, *arguments) in enumerate(checks):
                with m.If(condition) if k == 0 else m.Elif(condition):
                    fault(*arguments)
            return reduce(or_, [condition for condition, *_ in checks])

        adder.choose(
            steps["fail_1"],
            fail_x,
            Mux(fail_length, adder.index_y("length"), adder.index_y("small")),
        )
        adder.choose_small(steps["fail_1"], "value")
        steps.chain("fail_1", "fail_2", "fail_3", "report")
        steps.move("report", "done", s.free)
        with m.If(steps["fail_3"]):
            m.d.sync += s.begin.eq(
                adder.total | (saturate & (word.high_addr | adder.carry)).replicate(32)
            )

        self._start(m, steps, adder, judge, acc)

        # Program order of tiles and switches
        s.pending, s.switched = Signal(range(capacity + 1)), Signal(name="switched")
        s.empty, s.full = Signal(init=1), Signal(name="full")
        m.d.sync += [s.empty.eq(s.pending == 0), s.full.eq(s.pending == capacity)]
        s.takes = word.mmc & word.flags.switch
        s.unready = word.mmc & Mux(word.flags.switch, s.empty, ~s.switched)

        self._access(m, s, tile_shifts, row_shifts, word, offsets, lengths, steps, acc, adder)
        self._decide(m, s, capacity, word, steps, judge)
        steps.finish()
        return m

    def _hand_over(self, m, s, word, steps, acc):
        """Candidate for issue, made from the word or from its fault."""
        p = self.params
        out, s.free, s.put = Signal(self.candidate.shape()), Signal(), Signal()
        s.code = Signal(5)
        m.d.comb += [s.free.eq(~self.valid), s.next_word.eq(s.put & s.free & ~steps["report"])]
        with m.If(self.take):
            m.d.sync += self.valid.eq(0)
        with m.If(s.put & s.free):
            m.d.sync += self.valid.eq(1)
        with m.If(s.free):
            m.d.sync += self.candidate.eq(
                out
            )  # whether or not it is one: nobody looks before it is valid
        failing = steps["report"]
        m.d.comb += [
            *(out.op[name].eq(word[name] & ~failing) for name in OPS if name != "fault"),
            out.op.fault.eq(failing),
            out.switch.eq(word.flags.switch),
            out.convolve.eq(word.flags.convolve),
            out.overwrite.eq(word.flags.overwrite),
            *([out.bias.eq(word.flags.bias)] if p["ext_bias"] else []),
            out.func.eq(word.flags.func),
            out.pool.eq(word.flags.pool),
            out.ub.eq(word.ub),
            out.ub_last.eq(word.ub_last),
            out.acc.eq(word.addr),
            out.acc_last.eq(word.acc_last),
            out.number.eq(word.number),
            out.code.eq(s.code),
            out.begin.eq(Mux(word.memory | failing, s.begin, word.addr)),
            out.end.eq(acc),
        ]
        if p["ext_diag"]:
            m.d.comb += out.diagonal.eq(word.flags.diagonal)
        # Rows that are checked while the instruction runs travel whole.
        if p["ext_conv"]:
            with m.If(word.mmc):
                m.d.comb += out.end.eq(word.ub)
        if p["ext_pool"]:
            with m.If(word.act & word.high_addr & ~failing):
                m.d.comb += out.begin.eq(0xFFFF_FFFF)

    def _access(self, m, s, tile_shifts, row_shifts, word, offsets, lengths, steps, acc, adder):
        """Bounds of an access: begin = base + size * addr, acc = begin + size * number of rows (or
        of one tile or diagonal), which must lie in its region."""
        tile = word.tile if self.params["ext_diag"] else word.rw
        diagonal = word.rw & ~tile
        add, less, above = adder.add, adder.less, adder.above
        total, carry = adder.total, adder.carry
        s.sound = ~(
            s.word_error
            | word.illegal
            | word.bad_cfg
            | word.stray.any()
            | word.ub_bad
            | word.acc_bad
            | s.unready
        )
        s.plain, moves = Signal(), Signal(name="moves")
        m.d.comb += [
            s.plain.eq(s.have & s.sound & ~word.memory),
            moves.eq(s.have & s.sound & word.memory),
            self.starved.eq(steps["word"] & ~s.have),
        ]
        adder.choose_shifted(steps["word"] & tile, tile_shifts[0])
        adder.choose_shifted(steps["word"] & ~tile, row_shifts[0])
        add(steps["word"] & word.rw, "tiles", "shifted")
        add(steps["word"] & ~word.rw, "host", "shifted")
        begins = [_later(m, steps["word"] & moves, "first")]
        for k, name in enumerate(offsets, 1):
            for shifts, mine in ((tile_shifts, tile), (row_shifts, ~tile)):
                if k < len(shifts):
                    add(steps[name] & mine, None, "shifted")
                    adder.choose_shifted(steps[name] & mine, shifts[k])
                    begins.append(_later(m, steps[name] & mine, name))
        for k, name in enumerate(lengths):
            add(steps[name], None, "small")
            adder.choose_small(steps[name] & ~word.rw, f"rows_{row_shifts[k]}")
            if k == 0:
                adder.choose_small(steps[name] & tile, "tile")
                if self.params["ext_diag"]:
                    adder.choose_small(steps[name] & diagonal, "diagonal")
        sums = [*begins, *(_later(m, steps[name], name) for name in lengths)]

        # Steps from the word to the limit of its region. By kind of access: shifts of the offset,
        # steps of the length, and the condition.
        kinds = [(tile_shifts, lengths[:1], tile), (row_shifts, lengths, ~word.rw)]
        if self.params["ext_diag"]:
            kinds.append((row_shifts, lengths[:1], diagonal))
        moved = {}
        for shifts, ends, mine in kinds:
            source = "word"
            for target in (*offsets[: len(shifts) - 1], *ends, "limit"):
                moved.setdefault((source, target), []).append(mine)
                source = target
        for (source, target), conditions in moved.items():
            when = reduce(or_, conditions) if len(conditions) < len(kinds) else Const(1, 1)
            steps.move(source, target, moves & when if source == "word" else when)
        for when, limit in ((word.rw, "tiles_limit"), (~word.rw, "host_limit")):
            above(steps["limit"] & when, None, limit)
        outside = Mux(word.rw, self._tiles_out, self._host_out)
        steps.move("limit", "low", outside)
        steps.move("limit", "settle_1", ~outside)
        less(steps["low"], "begin", "window_base")
        above(steps["high"], None, "window_limit")
        less(steps["beyond"], "begin", "window_limit")
        steps.chain("low", "high", "beyond", "settle_1", "settle_2", "decide")
        s.over, overflow, s.low, s.high, s.beyond = (
            Signal(name=name) for name in ("over", "overflow", "low", "high", "beyond")
        )
        with m.If(reduce(or_, begins)):
            m.d.sync += s.begin.eq(total)
        with m.If(reduce(or_, sums)):
            m.d.sync += [acc.eq(total), overflow.eq(overflow | carry)]
        with m.If(steps["word"]):
            m.d.sync += [overflow.eq(0), s.low.eq(0), s.high.eq(0)]
        with m.If(_later(m, steps["limit"], "limit")):
            m.d.sync += s.over.eq(carry | overflow | word.far)
        for name, signal, value in (
            ("low", s.low, ~carry),
            ("high", s.high, carry),
            ("beyond", s.beyond, carry),
        ):
            with m.If(_later(m, steps[name], name)):
                m.d.sync += signal.eq(value)

    @staticmethod
    def _decide(m, s, capacity, word, steps, judge):
        """Verdicts on a word: illegal by itself, refused for its access, or a candidate for
        issue."""
        steps.move("word", "wrong", s.have & ~s.sound | ~s.have & s.gone)
        steps.move("word", "done", s.plain & s.free & word.hlt)
        with m.If(steps["wrong"]):
            judge(
                (
                    (~s.have, FaultCode.PROGRAM_END, "zero", 0, True),
                    (s.word_error, FaultCode.BUS_ERROR, "error"),
                    (word.bad_cfg, FaultCode.BAD_CONFIG, "addr"),
                    (word.illegal, FaultCode.ILLEGAL_OPCODE, "zero", word.opcode),
                    *(
                        (word.stray[k], FaultCode.BAD_FIELD, "zero", k + 1)
                        for k in range(len(word.stray))
                    ),
                    (word.ub_bad, FaultCode.UB_RANGE, "addr", word.number),
                    (word.acc_bad, FaultCode.ACC_RANGE, "addr", word.number),
                    (word.flags.switch, FaultCode.WEIGHT_UNDERFLOW),
                    (Const(1, 1), FaultCode.NO_WEIGHTS),
                )
            )
        steps.move("wrong", "fail_1")
        refused = Signal()
        m.d.comb += refused.eq(s.over | word.rw & s.full | s.low | s.high)
        with m.If(steps["decide"] & refused):
            judge(
                (
                    (s.over & word.rw, FaultCode.WEIGHT_RANGE, "addr"),
                    (s.over, FaultCode.HOST_RANGE, "addr", word.number),
                    (word.rw & s.full, FaultCode.WEIGHT_OVERFLOW, "zero", capacity),
                    (s.low | s.high & s.beyond, FaultCode.WINDOW, "begin"),
                    (Const(1, 1), FaultCode.WINDOW, "window_limit"),
                )
            )
        steps.move("decide", "fail_1", refused)
        steps.move("decide", "word", ~refused & s.free)
        m.d.comb += s.put.eq(steps["word"] & s.plain | steps["decide"] & ~refused | steps["report"])
        with m.If(steps["word"] & s.plain & s.takes & s.free):
            m.d.sync += [s.pending.eq(s.pending - 1), s.switched.eq(1), s.empty.eq(s.pending == 1)]
        with m.If(steps["decide"] & ~refused & word.rw & s.free):
            m.d.sync += [s.pending.eq(s.pending + 1), s.empty.eq(0)]

    def _start(self, m, steps, adder, judge, acc):
        """Start checks: one comparison per cycle, and in parallel the length modulo 7, digit by
        digit (8 is 1 modulo 7)."""
        p, regs = self.params, self.registers
        names = (
            "past",
            "low",
            "high",
            "beyond",
            "before",
            "some_host",
            "crosses",
            "bad_limit",
            "bad_weights",
            "host_low",
            "host_high",
            "tiles_low",
            "tiles_high",
        )
        found = {name: Signal(name=f"start_{name}", reset_less=True) for name in names}
        carry, past = adder.carry, found["past"]
        comparisons = (
            (adder.add, "program", "length", carry),
            (adder.less, "program", "window_base", ~carry),
            (adder.above, None, "window_limit", carry | past),
            (adder.less, "program", "window_limit", carry),
            (adder.above, None, "host", carry | past),
            (adder.less, "host", "host_limit", ~carry),
            (adder.less, "program", "host_limit", ~carry),
            (adder.above, "host", "host_limit", carry),
            (adder.above, "tiles", "tiles_limit", carry),
            (adder.less, "host", "window_base", ~carry),
            (adder.less, "window_limit", "host_limit", ~carry),
            (adder.less, "tiles", "window_base", ~carry),
            (adder.less, "window_limit", "tiles_limit", ~carry),
        )
        check = Signal(len(comparisons) + 3)
        m.d.sync += check.eq(check << 1)
        steps.move("off", "start", self.start)
        with m.If(steps["off"] & self.start):
            m.d.sync += check.eq(1)
        for k, (name, (compare, first, second, result)) in enumerate(
            zip(names, comparisons, strict=True)
        ):
            compare(check[k], first, second)
            with m.If(check[k + 2]):
                m.d.sync += found[name].eq(result)
        with m.If(check[2]):
            m.d.sync += acc.eq(adder.total)
        m.d.comb += self.fetch.eq(check[5] & ~found["low"] & ~found["high"])
        steps.move("start", "judge", check[len(comparisons) + 2])

        sevens, digit, folded = Signal(3), Signal(range(12)), Signal(4)
        digits = Cat(regs.program_length[1:], Const(0, 2))
        m.d.comb += folded.eq(sevens + digits.word_select(digit, 3))
        with m.If(steps["start"] & (digit != 11)):
            m.d.sync += [digit.eq(digit + 1), sevens.eq(folded[:3] + folded[3])]
        at = {
            name: ISA.register_map[name].offset
            for name in ("hostmem_base", "hostmem_limit", "weights_base", "weights_limit")
        }
        bad_length, odd_host, odd_weights, refused = Signal(), Signal(), Signal(), Signal()
        m.d.sync += [
            bad_length.eq(
                regs.program_length[0] | (regs.program_length == 0) | (sevens != 0) & (sevens != 7)
            ),
            odd_host.eq(regs.hostmem_base[:4].any()),
            odd_weights.eq(regs.weights_base[:4].any()),
            self._host_out.eq(found["host_low"] | found["host_high"]),
            self._tiles_out.eq(found["tiles_low"] | found["tiles_high"]),
        ]
        overlaps = found["crosses"] & found["before"] & found["some_host"]
        bad_cfg = []
        for name, ext in (("norm", "ext_norm"), ("pool", "ext_pool")):
            if p[ext]:
                number = CFG_NAMES.index(name)
                bad = Signal(name=f"bad_{name}")
                m.d.sync += bad.eq(cfg_illegal(number, regs[f"cfg_{name}"]))
                bad_cfg.append((bad, FaultCode.BAD_CONFIG, "zero", number))
        with m.If(steps["judge"]):
            any_bad = judge(
                (
                    (bad_length, FaultCode.BAD_REGISTER, "zero", _PROGRAM_LENGTH),
                    (odd_host | overlaps, FaultCode.BAD_REGISTER, "zero", at["hostmem_base"]),
                    (found["bad_limit"], FaultCode.BAD_REGISTER, "zero", at["hostmem_limit"]),
                    (odd_weights, FaultCode.BAD_REGISTER, "zero", at["weights_base"]),
                    (found["bad_weights"], FaultCode.BAD_REGISTER, "zero", at["weights_limit"]),
                    *bad_cfg,
                    (found["low"] | found["high"] & found["beyond"], FaultCode.WINDOW, "program"),
                    (found["high"], FaultCode.WINDOW, "window_limit"),
                )
            )
        m.d.comb += refused.eq(any_bad)
        steps.move("judge", "fail_1", refused)
        steps.move("judge", "word", ~refused)
