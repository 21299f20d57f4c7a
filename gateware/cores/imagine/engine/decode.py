# SPDX-License-Identifier: BSD-2-Clause
"""Decoder: turns words into operations, with all checks of their bits (specification, sections 3
and 6).

Five stages, a word a cycle: fields are compared with constants, faults are distinguished, each
operation is compared with the last one of several slots before it in the program, and what that
means for its kind is worked out in two. All of it depends on the words alone, not on when they are
dispatched.

In a small array there are two: the operation is made in the second and kept by no register; a
hazard is whatever is not known to be none by the kinds of two operations alone.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ....shell.layouts import fields_of, word_layout
from ..isa import ISA
from .mapping import Mapping
from .ops import FAULTS, Decoded, GateLayout, OpLayout

__all__ = ["Decoder", "WordLayout"]

#: Instructions whose fields are looked at beside registers.
_FIELDS = ("mv_write", "mv_updatepp", "mv_movOffset", "mv_blockFold", "mv_accumRow", "mv_selectBlk")


class WordLayout(data.StructLayout):
    """Entry of the input FIFO: a word with the memory's error flag, or the ``end`` of the
    stream."""

    def __init__(self) -> None:
        super().__init__({"word": 32, "error": 1, "end": 1})


class Decoder(wiring.Component):
    """Instruction decoder: turns words into operations and faults.

    Parameters
    ----------
    mapping : Mapping

    Members
    -------
    words : In(stream of WordLayout), ops : Out(Decoded);
        five cycles later (two in small arrays). Everything moves when ``ops.gate.ready`` is high,
        which must come from a register, as its copies ``ops.moves`` must.
    """

    def __init__(self, *, mapping: Mapping) -> None:
        self.mapping, self.short = mapping, mapping.small
        super().__init__(
            {"words": In(stream.Signature(WordLayout())), "ops": Out(Decoded(mapping))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        on, on_terms, on_op, on_gate = self.ops.moves
        mapping = self.mapping
        m.d.comb += self.words.ready.eq(on)
        valid = [Signal(name=f"valid_{k}") for k in range(2 if self.short else 5)]
        with m.If(on):
            m.d.sync += [
                now.eq(before)
                for now, before in zip(valid, [self.words.valid, *valid], strict=False)
            ]
        m.d.comb += self.ops.gate.valid.eq(valid[-1])

        def stage(on):
            def later(name, value):
                """Value delayed by a stage."""
                held = (
                    Signal.like(value, name=name, reset_less=True)
                    if isinstance(value, data.View)
                    else Signal(len(value), name=name, reset_less=True)
                )
                with m.If(on):
                    m.d.sync += held.eq(value)
                return held

            return later

        first = self._fields(stage(on))
        if self.short:
            second = self._terms(m, lambda name, value: value, first, valid[0])
            self._operation(m, second, self.ops.op)
            m.d.comb += self.ops.put.eq(valid[0])
            self._known(m, on_gate, second)
            return m
        second = self._terms(m, stage(on_terms), first, valid[0])
        weighed, done = (
            Signal(OpLayout(mapping), name=name, reset_less=True) for name in ("weighed", "decoded")
        )
        made = Signal(OpLayout(mapping))
        self._operation(m, second, made)
        with m.If(on_op):
            m.d.sync += [weighed.eq(made), done.eq(weighed)]
        m.d.comb += [self.ops.op.eq(done), self.ops.put.eq(valid[3])]
        self._compared(m, stage(on_gate), on_gate, second, weighed)
        return m

    def _fields(self, stage):
        """Stage 1: kinds of words, zero fields, ranges."""
        mapping = self.mapping
        w = self.words.payload.word
        write, step, move, fold, accumulate, block = (fields_of(ISA, name, w) for name in _FIELDS)
        a, b, c = _registers(w)
        opcode, fn = data.View(word_layout(ISA), w).opcode, w[22:24]
        return {
            name: stage(name, value)
            for name, value in {
                "word": w,
                "error": self.words.payload.error,
                "end": self.words.payload.end,
                # One bit an opcode of the array; of the columns, which have those up to 3.
                "op": Cat((opcode[:4] == k) & ~opcode[4] for k in range(9)),
                "vv": Cat((opcode[:4] == k) & opcode[4] for k in range(4)),
                "fn": Cat(fn == k for k in range(4)),
                "a_over": _at_least(a, mapping.registers),
                "b_over": _at_least(b, mapping.registers),
                "c_over": _at_least(c, mapping.registers),
                "a_last": a == mapping.registers - 1,
                "c_last": c == mapping.registers - 1,
                "address_over": _at_least(write.addr, mapping.depth),
                "bit_over": _at_least(step.bitNo, mapping.width),
                "offset_over": _at_least(move.offset, mapping.width),
                "fold_over": (fold.fold == 0) | (fold.fold > 4),
                "level_over": _at_least(accumulate.level, mapping.top_level + 1),
                "row_over": _at_least(block.rowID, mapping.rows),
                "col_over": _at_least(block.colID, mapping.cols),
                "c_next": (c + 1)[:6],
                "a_next": (a + 1)[:6],
                "a_is_c": a == c,
                "b_is_c": b == c,
                "a_after_c": _follows(a, c),
                "b_after_c": _follows(b, c),
                "b_after_a": _follows(b, a),
                "c_top": c == 63,
                "a_top": a == 63,
                # Bits that some words must have zero, by the highest.
                "z25": w[24:26] == 0,
                "z23": w[22:24] == 0,
                "z21": w[20:22] == 0,
                "z19": w[16:20] == 0,
                "z18": w[16:19] == 0,
                "z15": w[12:16] == 0,
                "z11": w[8:12] == 0,
                "z7": w[6:8] == 0,
                "z5": w[0:6] == 0,
            }.items()
        }

    def _terms(self, m, stage, f, valid):
        """Stage 2: each fault separately; rows of the operands; the keys that hazards compare, and
        whether they take part."""
        mapping, w = self.mapping, f["word"]
        write, step, move, fold, accumulate, _ = (fields_of(ISA, name, w) for name in _FIELDS)
        op, fn = f["op"], f["fn"]
        kind = {
            "write": op[1],
            "step": op[3],
            "fold": op[4] & fn[0],
            "accumulate": op[4] & fn[1],
            "add": op[5] & (fn[0] | fn[3]),
            "select": op[6],
            "move": op[7] & fn[0],
            "clear": op[8] & f["z18"],
        }
        known = op[0] | f["vv"].any() | Cat(kind.values()).any()
        z11_0 = f["z11"] & f["z7"] & f["z5"]
        low = f["z15"] & z11_0
        nothing = f["z25"] & f["z23"] & f["z21"] & f["z19"] & low
        reserved = Cat(
            (op[0] | f["vv"].any()) & ~nothing,
            op[3] & ~f["z15"],
            (op[4] | op[5] | op[6] | op[7]) & ~f["z25"],
            (op[4] | op[7]) & ~f["z21"],
            (op[4] & fn[0] | op[5] | op[7]) & ~f["z15"],
            op[4] & fn[1] & ~(f["z15"] & f["z11"] & f["z7"]),
            op[6] & ~(f["z21"] & f["z19"]),
            op[6] & fn[0] & ~(f["z15"] & f["z11"]),
            op[6] & fn[2] & ~(f["z7"] & f["z5"]),
            op[6] & fn[3] & ~low,
            op[8] & ~(f["z25"] & f["z23"] & f["z21"] & ~w[19] & low),
        ).any()
        moved = ~f["z19"]  # offset of mov
        register = Cat(
            (op[3] | op[4] | op[5] | op[7]) & f["a_over"],
            (op[3] | op[4] & fn[0] | op[5] | op[7]) & f["b_over"],
            (op[3] | op[5]) & f["c_over"],
            op[3] & f["c_last"],
            op[7] & moved & f["a_last"],
        ).any()
        field = Cat(
            op[3] & f["bit_over"],
            op[4] & fn[0] & f["fold_over"],
            op[4] & fn[1] & f["level_over"],
            op[7] & f["offset_over"],
        ).any()
        select = op[6] & ((fn[1] | fn[2]) & f["row_over"] | (fn[0] | fn[1]) & f["col_over"])
        a, b, c = _registers(w)
        overlap = Cat(
            op[3] & (f["a_is_c"] | f["b_is_c"]),
            op[3] & ~f["c_top"] & (f["a_after_c"] | f["b_after_c"]),
            op[7] & moved & ~f["a_top"] & f["b_after_a"],
        ).any()
        shift = mapping.width_bits
        bits = mapping.address_bits

        def row(register, offset):
            return Cat(offset[:shift], register)[:bits]

        zero = Const(0, shift)
        one = kind["fold"] | kind["accumulate"] | kind["move"]
        level_bits = mapping.top_level.bit_length()
        return {
            name: stage(f"{name}_2", value)
            for name, value in {
                "word": w,
                "error": f["error"],
                "end": f["end"],
                **{f"is_{name}": value for name, value in kind.items()},
                "one": one,
                "late": valid & (kind["add"] | kind["step"] | one),
                "serial": f["vv"][1],
                "parallel": f["vv"][2],
                "off": f["vv"][3],
                # Terms in the order of the table.
                "submodule": data.View(word_layout(ISA), w).opcode[5],
                "unknown": ~known,
                "reserved": reserved,
                "register": register,
                "address": op[1] & f["address_over"],
                "field": field,
                "selects": select,
                "overlap": overlap,
                "first": Mux(
                    op[1], write.addr, row(a, Mux(op[3], step.bitNo, Mux(op[7], move.offset, 0)))
                )[:bits],
                "second": row(b, zero),
                "target": Mux(
                    op[1],
                    write.addr,
                    row(Mux(op[3] | op[5], c, Mux(op[4] & fn[1], a, b)), Mux(op[3], step.bitNo, 0)),
                )[:bits],
                # The written register (the lower one), and the registers compared with it.
                "written": Mux(op[3] | op[5], c, Mux(op[4] & fn[1], a, b)),
                "a": a,
                "b": b,
                "c": c,
                "a_next": f["a_next"],
                "c_next": f["c_next"],
                "moved": moved & op[7],
                "zero": op[3] & (step.bitNo == 0),
                "final": op[3] & (step.bitNo == mapping.width - 1),
                "bit": step.bitNo,
                "subtract": w[23],
                "fold": Cat(op[4] & fn[0] & (fold.fold == k) for k in range(1, 5)),
                "level": Mux(op[4] & fn[1], accumulate.level[:level_bits], 0),
            }.items()
        }

    def _operation(self, m, t, op):
        """Assembles the operation from the terms of the second stage."""
        mapping = self.mapping
        m.d.comb += [
            op.end.eq(t["end"]),
            op.word.eq(t["word"]),
            op.fault.eq(Cat(t[name] for name in FAULTS)),
            op.array.eq(~t["word"][30]),
            op.write.eq(t["is_write"]),
            op.select.eq(t["is_select"]),
            op.clear.eq(t["is_clear"]),
            op.add.eq(t["is_add"]),
            op.step.eq(t["is_step"]),
            op.one.eq(t["one"]),
            op.serial.eq(t["serial"]),
            op.parallel.eq(t["parallel"]),
            op.off.eq(t["off"]),
            op.first.eq(t["first"]),
            op.second.eq(t["second"]),
            op.target.eq(t["target"]),
            op.subtract.eq(t["subtract"] & t["is_add"]),
            op.fold.eq(t["fold"]),
            op.accumulate.eq(t["is_accumulate"]),
            op.level.eq(t["level"]),
            op.zero.eq(t["zero"]),
            op.final.eq(t["final"]),
        ]
        with m.Switch(Cat(t["is_add"], t["is_step"], t["is_accumulate"])):
            with m.Case("--1"):
                m.d.comb += op.slots.eq(mapping.slots_add - 2)
            with m.Case("-1-"):
                m.d.comb += [op.slots.eq(mapping.slots_updatepp - 2), op.wait.eq(1)]
            with m.Case("1--"):
                for level in range(mapping.top_level + 1):
                    with m.If(t["level"] == level):
                        m.d.comb += [
                            op.slots.eq(mapping.width + (1 << level) - 2),
                            op.wait.eq(1 << level),
                        ]
            with m.Default():
                m.d.comb += op.slots.eq(mapping.width - 2)

    def _gates(self, good, op):
        two_ports = self.mapping.two_ports
        array, multi = good & op.array, op.add | op.step | op.one
        return {
            "array": array,
            "at_once": array & ~multi & ~(op.write & two_ports),
            "odd": array & op.add,
            "even": array & op.step,
            "calm": array & (op.one | op.write & two_ports),
            "multi": array & multi,
            "store": array & op.write & (not two_ports),
            "pause": good & ~op.array & ~(op.serial | op.off | op.parallel),
            "mode": good & (op.serial | op.off),
            "emit": good & op.parallel,
            "stop": ~good,
            "end": op.end,
        }

    def _known(self, m, on, t):
        """Start conditions and hazards by kind. An operation may overlap its predecessor only if it
        reads bits in the order in which the predecessor writes them."""
        mapping = self.mapping
        op = self.ops.op
        kinds = Signal(GateLayout(), reset_less=True)
        last, follows, stepped = (
            Signal(6, reset_less=True),
            Signal(4, reset_less=True),
            Signal(reset_less=True),
        )
        goes_on = Signal()
        m.d.comb += goes_on.eq(stepped & (t["c"] == last) & (t["bit"] == follows))
        array, multi = op.array, op.add | op.step | op.one
        good = ~(t["end"] | op.fault.any())
        in_order = Const(int(mapping.width >= 8), 1) & ~t["moved"] & ~stepped
        free = {"odd": op.add & ~stepped, "even": op.step & goes_on, "calm": op.one & in_order}
        # Without two ports a mv_write never waits (it writes late, as all do).
        values = {
            "array": array,
            "at_once": array & ~multi,
            **free,
            "multi": array & multi,
            "store": array & op.write,
            "pause": ~array & ~(op.serial | op.off | op.parallel),
            "mode": op.serial | op.off,
            "emit": op.parallel,
            "stop": ~good,
            "end": op.end,
        }
        fine = Signal(reset_less=True)
        with m.If(on):
            m.d.sync += [*(kinds[name].eq(value) for name, value in values.items()), fine.eq(good)]
        m.d.comb += [
            *(
                self.ops.gate.payload[name].eq(kinds[name] & fine)
                for name in values
                if name not in ("stop", "end")
            ),
            self.ops.gate.payload.stop.eq(kinds.stop),
            self.ops.gate.payload.end.eq(kinds.end),
            self.ops.hazard.eq(0),
        ]
        with m.If(on & t["late"]):
            m.d.sync += [last.eq(t["c"]), follows.eq(t["bit"] + 1), stepped.eq(t["is_step"])]

    def _compared(self, m, stage, on, t, op):
        """Compares an operation with its latest predecessor that writes late (stage 3), evaluates
        the result (4) and derives the start conditions (5)."""
        mapping = self.mapping
        last, high, follows = (
            Signal(n, name=f"last_{name}", reset_less=True)
            for n, name in ((6, "low"), (6, "high"), (4, "bit"))
        )
        stepped = Signal(name="last_stepped", reset_less=True)

        compared = {
            "a": t["a"],
            "b": t["b"],
            "c": t["c"],
            "a_next": t["a_next"],
            "c_next": t["c_next"],
            "row": t["first"][mapping.width_bits :],
        }
        meets = {
            (name, place): stage(f"{name}_meets_{place}", value == other[: len(value)])
            for name, value in compared.items()
            for place, other in (("low", last), ("high", high))
        }
        good = stage("good", ~(t["end"] | Cat(t[term] for term in FAULTS).any()))
        behind, after_step, moved = (
            stage("behind", t["bit"] == follows),
            stage("after_step", stepped),
            stage("moved_3", t["moved"]),
        )
        early = (
            stage("early", self._early(m, on, t, last, high, stepped))
            if mapping.looks_back
            else Const(0, 1)
        )
        with m.If(on & t["late"]):
            m.d.sync += [
                last.eq(t["written"]),
                high.eq(t["c_next"]),
                follows.eq(t["bit"] + 1),
                stepped.eq(t["is_step"]),
            ]

        def met(name):
            return meets[name, "low"] | after_step & meets[name, "high"]

        # A bit read in the slot of its number comes too early after narrow registers.
        in_order = Const(int(mapping.width >= 8), 1) & ~moved & ~after_step
        sources, product = (
            stage("sources", met("a") | met("b")),
            stage("product", met("c") | met("c_next")),
        )
        adds, steps = (
            stage("adds", op.add & after_step),
            stage("steps", op.step & ~(after_step & meets["c", "low"] & behind)),
        )
        single, above, row = (
            stage("single", op.one & met("a") & ~in_order),
            stage("above", op.one & moved & met("a_next")),
            stage("row", op.write & met("row")),
        )
        later = stage("later", early) if mapping.looks_back else early
        gates, ready = self._gates(good, op), Signal(GateLayout(), reset_less=True)
        with m.If(on):
            m.d.sync += [
                *(ready[name].eq(value) for name, value in gates.items()),
                self.ops.gate.payload.eq(ready),
                self.ops.hazard.eq(
                    adds & sources | steps & (sources | product) | single | above | row | later
                ),
            ]

    def _early(self, m, on, t, last, high, stepped):
        """Whether an operation would start too early after the last operation but one, if the last
        has a single operand (:attr:`~.mapping.Mapping.looks_back`)."""
        low_before, high_before, stepped_before, short = (
            Signal.like(value, name=f"{name}_before", reset_less=True)
            for name, value in (
                ("low", last),
                ("high", high),
                ("stepped", stepped),
                ("short", stepped),
            )
        )
        with m.If(on & t["late"]):
            m.d.sync += [
                low_before.eq(last),
                high_before.eq(high),
                stepped_before.eq(stepped),
                short.eq(t["one"]),
            ]

        def met(value):
            return (value == low_before[: len(value)]) | stepped_before & (
                value == high_before[: len(value)]
            )

        # In order it reads a top bit last; the last bit of a step is any.
        return short & (
            t["one"] & (t["moved"] | stepped_before) & met(t["a"])
            | t["is_write"] & met(t["first"][self.mapping.width_bits :])
        )


def _registers(word):
    """Register numbers in a word, from the low end; all instructions have them at the same
    positions."""
    add = fields_of(ISA, "mv_add", word)
    return add.rs1, add.rs2, add.rd


def _at_least(value, limit):
    return Const(0, 1) if limit >= 1 << len(value) else value >= limit


def _follows(x, y):
    """Test for x = y + 1 modulo their range: x + ~y is 0, which needs no carry chain."""
    low = ~y
    return ~Cat(
        x[k] ^ low[k] ^ ((x[k - 1] | low[k - 1]) if k else Const(0, 1)) for k in range(len(x))
    ).any()
