# SPDX-License-Identifier: BSD-2-Clause
"""Controller: control signals of the blocks in every slot, from decoded operations (specification,
section 9)."""

from amaranth import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ....parts.delays import DelayLine
from .block import ControlLayout
from .mapping import Mapping
from .ops import OpLayout

__all__ = ["Controller", "RootLayout"]

#: Cycles after a reset before the sweep; more than the longest way from the controller to a RAM.
_SETTLE = 16


class RootLayout(data.StructLayout):
    """Control word from the controller to the array, with all fields aligned in time.

    Members
    -------
    control : ControlLayout
    transmit_read : address of X in transmitting columns
    transmits : unsigned(cols), the columns that read at ``transmit_read``; passes :
        those whose PE 0 goes to the network now
    write : unsigned(cols), results are written; store : ``mv_write``
    select : the selection changes, to ``row`` (unless ``any_row``) and ``col`` (unless ``any_col``)
    shift : column registers take the taps; out : they move up
    """

    def __init__(self, mapping: Mapping) -> None:
        super().__init__(
            {
                "control": ControlLayout(mapping),
                "transmit_read": mapping.address_bits,
                "transmits": mapping.cols,
                "passes": mapping.cols,
                "write": mapping.cols,
                "store": 1,
                "select": 1,
                "row": 8,
                "col": 8,
                "any_row": 1,
                "any_col": 1,
                "shift": 1,
                "out": 1,
            }
        )


class Controller(wiring.Component):
    """Controller of an array: turns decoded operations into control signals, slot by slot.

    After a reset it clears every row of every RAM, selects all blocks and clears the previous
    multiplier bits.

    Parameters
    ----------
    mapping : Mapping

    Members
    -------
    op : In(OpLayout); go : In(2), copies: it starts (:mod:`.issue` knows when it may),
        looked at then alone
    capture : In(1), its result is shifted into the column registers
    out : In(1), the column registers move up, after all that started before
    root : Out(RootLayout), a register
    swept : Out(1), the sweep after the reset is over

    Attributes
    ----------
    latency_out : cycles from ``out`` to ``root.out``
    """

    def __init__(self, *, mapping: Mapping) -> None:
        self.mapping = mapping
        self.latency_out = mapping.write + 1
        super().__init__(
            {
                "op": In(OpLayout(mapping)),
                "go": In(2),
                "capture": In(1),
                "out": In(1),
                "root": Out(RootLayout(mapping)),
                "swept": Out(1),
            }
        )
        self._sweeping = Signal()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._sweep(m)
        self._emit(m, *self._steps(m))
        return m

    def _sweep(self, m):
        # Before the sweep, events in flight at the reset have time to leave the delay lines.
        sweep = Signal(range(_SETTLE + self.mapping.depth))
        with m.If(~self.swept):
            m.d.sync += [
                sweep.eq(sweep + 1),
                self._sweeping.eq(self._sweeping | (sweep == _SETTLE - 1)),
                self.swept.eq(sweep == _SETTLE + self.mapping.depth - 1),
            ]

    def _steps(self, m):
        """State of the current operation, slot by slot, and the events of this slot by name."""
        mapping, op, go = self.mapping, self.op, self.go[0]
        bits = mapping.address_bits
        x, target = (Signal(bits, name=f"{n}_row") for n in ("x", "target"))
        y, transmit = (Signal(bits, name=f"{n}_row", reset_less=True) for n in ("y", "transmit"))
        wait, waited = Signal.like(op.wait, reset_less=True), Signal()
        left = Signal(range(mapping.width + 2), reset_less=True)
        running, lead, fresh, phase = Signal(), Signal(), Signal(), Signal()
        flags = data.StructLayout(
            {
                "dual": 1,
                "step": 1,
                "subtract": 1,
                "fold": 4,
                "accumulate": 1,
                "level": len(op.level),
                "zero": 1,
                "capture": 1,
            }
        )
        current = Signal(flags)
        # A step is a register's, which drives as much as ``go`` does; worked out a slot before.
        step, load, final, soon = Signal(), Signal(), Signal(), Signal()
        final_next = Signal()
        m.d.comb += [
            load.eq(step & ~(final & current.step)),
            soon.eq(running & ~(step & (final | current.dual)) & (waited | (wait == 1))),
        ]
        m.d.sync += step.eq(soon)
        store, select, clear = Signal(), Signal(init=1), Signal(init=1)  # begins with all selected
        told, data_word, any_row, any_col = Signal(), Signal(16), Signal(init=1), Signal(init=1)
        # ``moves``: a step, a lead, or the sweep, signalled by a flip-flop of its own.
        sweeping, moves = self._sweeping & ~self.swept, Signal()
        m.d.sync += [
            moves.eq(Mux(go, op.add | op.step | op.one & ~op.accumulate, soon) | sweeping),
            store.eq(sweeping),
            told.eq(0),
            select.eq(0),
            clear.eq(0),
            lead.eq(0),
        ]
        # Row 0 is the registers' reset.
        with m.If(moves):
            m.d.sync += x.eq(Mux(lead, target, x + 1))
        with m.If(moves & ~lead):
            m.d.sync += target.eq(target + 1)
        with m.If(running):
            m.d.sync += [wait.eq(wait - 1), waited.eq(waited | (wait == 1))]
            if mapping.cols > 1:
                m.d.sync += transmit.eq(transmit + 1)
        m.d.sync += phase.eq(step & current.dual)
        with m.If(step):
            m.d.sync += [left.eq(left - 1), final.eq(final_next), fresh.eq(0)]
            with m.If(final):
                m.d.sync += running.eq(0)
        m.d.comb += final_next.eq(left == 2)
        with m.If(step if mapping.two_ports else phase):
            m.d.sync += y.eq(y + 1)
        with m.If(go):
            m.d.sync += [
                step.eq(op.add | op.one & ~op.accumulate),
                wait.eq(op.wait),
                waited.eq(~(op.accumulate | op.step)),
                left.eq(Mux(op.step, mapping.width + 1, mapping.width)),
                final.eq(0),
                phase.eq(0),
                fresh.eq(1),
                running.eq(op.add | op.step | op.one),
                lead.eq(op.step),
                current.dual.eq(~op.one),
                current.step.eq(op.step),
                current.subtract.eq(op.subtract),
                current.fold.eq(op.fold),
                current.accumulate.eq(op.accumulate),
                current.level.eq(op.level),
                current.zero.eq(op.zero),
                current.capture.eq(self.capture),
                store.eq(op.write),
                told.eq(op.write),
                select.eq(op.select),
                clear.eq(op.clear),
                data_word.eq(op.word[:16]),
                # fn of a select: 0 column, 1 block, 2 row, 3 all
                any_row.eq(op.word[22] == op.word[23]),
                any_col.eq(op.word[23]),
            ]
        with m.If(self.go[1]):
            m.d.sync += [
                x.eq(op.first),
                y.eq(op.second),
                target.eq(op.target),
                transmit.eq(op.first),
            ]
        return current, {
            "x": x,
            "y": y,
            "target": target,
            "transmit": transmit,
            "step": step,
            "load": load,
            "lead": lead,
            "phase": phase,
            "first": step & fresh,
            "store": store,
            "told": told,
            "select": select,
            "clear": clear,
            "data": data_word,
            "any_row": any_row,
            "any_col": any_col,
        }

    def _emit(self, m, current, now):
        """Delays every event to the cycle in which the blocks need it."""
        mapping = self.mapping
        read, one, two = mapping.read, mapping.write, mapping.write_two
        root = Signal(RootLayout(mapping), reset_less=True)
        c = root.control
        m.d.comb += self.root.eq(root)
        line = {name: DelayLine(m, value, name) for name, value in now.items()}
        data = line["data"]
        if mapping.tiny:
            # A hundred flip-flops, which a UP5K has not, in two of the block RAMs that it has:
            # this, and the events at ``one``.
            data = DelayLine.stored(m, self.op.word[:16], "data", read + 1).since(1)
        level = {
            name: DelayLine(m, getattr(current, name), f"is_{name}")
            for name in ("dual", "fold", "accumulate", "subtract", "zero")
        }
        receivers, transmitters = self._roles(m, current)
        # For instructions with one operand and with two, which may take another cycle.
        single, dual = (
            {
                "write": DelayLine(m, Mux(now["step"] & kind, receivers, 0), f"{name}_write"),
                "capture": DelayLine(m, now["step"] & kind & current.capture, f"{name}_capture"),
                "step": DelayLine(m, now["step"] & kind, f"{name}_step"),
                "load": DelayLine(m, now["load"] & kind, f"{name}_load"),
            }
            for name, kind in (
                ("single", Const(1) if mapping.two_ports else ~current.dual),
                ("dual", current.dual),
            )
        )
        opens = DelayLine(m, now["first"] & ~current.step, "opens")
        previous = DelayLine(m, now["lead"] | now["clear"], "previous")

        def later(target, value):
            m.d.sync += target.eq(value)

        if mapping.two_ports:
            later(c.read, now["x"])
            later(c.second, Mux(single["step"][one], line["target"][one], now["y"]))
            later(root.store, now["store"])
            later(c.write_data, now["data"])
            later(c.x_ce, single["load"][read])
            later(c.carry_ce, single["load"][read + 1])
            later(c.carry_clear, line["first"][read])
            later(root.write, single["write"][one])
            later(root.shift, single["capture"][one])
            chosen = 0
        else:
            later(c.read, Mux(now["phase"], now["y"], now["x"]))
            later(c.write_data, Mux(line["told"][read], data[read], 0))
            later(c.x_ce, single["load"][read] | dual["load"][read] | line["store"][read])
            later(c.y_ce, single["load"][read] | dual["load"][read + 1])
            later(c.y_clear, line["store"][read])
            later(c.carry_ce, single["load"][read + 1] | dual["load"][read + 2])
            later(c.carry_clear, line["first"][read] | line["store"][read])
            chosen = one
            if mapping.tiny:
                # A slot more of an instruction of two operands first, so that all are as late.
                ends = {
                    "second": Mux(dual["step"][1], line["target"][1], now["target"]),
                    "write": single["write"][0] | dual["write"][1],
                    "shift": single["capture"][0] | dual["capture"][1],
                    "out": self.out,
                    **{name: now[name] for name in ("store", "select", "any_row", "any_col")},
                }
                kept, at = DelayLine.stored(m, Cat(ends.values()), "ends", one)[one], 0
                for name, value in ends.items():
                    ends[name], at = kept[at : at + len(value)], at + len(value)
                for name in ("select", "any_row", "any_col"):
                    line[name] = {one: ends[name]}
            else:
                ends = {
                    "second": Mux(dual["step"][two], line["target"][two], line["target"][one]),
                    "store": line["store"][one],
                    "write": dual["write"][two] | single["write"][one],
                    "shift": dual["capture"][two] | single["capture"][one],
                }
            later(c.second, ends["second"])
            for name in ("store", "write", "shift"):
                later(root[name], ends[name])
        later(root.select, line["select"][chosen])
        later(root.any_row, line["any_row"][chosen])
        later(root.any_col, line["any_col"][chosen])
        later(root.col, data[chosen][:8])
        later(root.row, data[chosen][8:])
        later(c.x_on, ~(level["zero"][read] | line["store"][read]))
        later(c.fold, level["fold"][read])
        later(c.network, level["accumulate"][read])
        later(c.load, line["lead"][read] | opens[read - 1])
        later(c.booth, line["lead"][read])
        later(c.add, level["dual"][read - 1])
        later(c.invert, level["subtract"][read - 1])
        later(c.previous, previous[read])
        later(root.out, ends["out"] if mapping.tiny else DelayLine(m, self.out, "out")[one])
        later(root.transmit_read, now["transmit"])
        later(root.transmits, transmitters)
        later(root.passes, DelayLine(m, transmitters, "transmits")[read])

    def _roles(self, m, current):
        """Columns that write results, and columns that feed the network, for the current
        operation."""
        cols = self.mapping.cols
        receivers, transmitters = Signal(cols), Signal(cols)
        sends = Array(
            [
                sum(1 << c for c in range(cols) if c % (2 << k) == 1 << k)
                for k in range(self.mapping.top_level + 1)
            ]
        )
        takes = Array(
            [
                sum(1 << c for c in range(cols) if c % (2 << k) == 0)
                for k in range(self.mapping.top_level + 1)
            ]
        )
        m.d.comb += [
            receivers.eq(Mux(current.accumulate, takes[current.level], (1 << cols) - 1)),
            transmitters.eq(Mux(current.accumulate, sends[current.level], 0)),
        ]
        return receivers, transmitters
