# SPDX-License-Identifier: BSD-2-Clause
"""Dot pipeline, from operations to result tiles: matmul, mulacc, add, sub, mul and sum
(specification, sections 4.1, 4.2 and 9)."""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .....isa.parameters import Params
from .....primitives.bram import BlockRAM
from ..memory.tilefile import ACC, INPUT, OUTPUT, WEIGHTS
from ..ops import (
    DotKind,
    ProgressLayout,
    TileRead,
    TileWrite,
    Unit,
    dot_op,
    element_bits,
    entries,
    tile_elements,
)
from .contexts import ContextIterator
from .dotlanes import DotLanes, Geometry, ModeLayout

__all__ = ["DotPath"]

#: Tiles, or rows of tiles, of ACC that wait for sums under way.
_OLD = 32


class DotPath(wiring.Component):
    """Dot pipeline: matrix products and sums, in order, one pass of macs/4 elements per cycle;
    ``macs`` is 4 to 64.

    A slot's operands are read (two cycles), held in registers, multiplied pass by pass, and the
    result written as it comes: from the request of an operand to the first of this unit that sees
    the result are ``latency`` + 3 + passes cycles. A tile takes 64/macs cycles, and no fewer than
    it has words; a sum along axis 0 with 32 multipliers takes one. A sum of a whole tile goes
    through the lanes twice and holds up what follows.

    Parameters
    ----------
    params : dict
    latency : int
        Cycles in a dot unit (:data:`~.dotunit.LATENCIES`).
    notice : int
        Cycles, fewer than ``latency``.
    multiplier, family : as :class:`~.dotunit.DotUnit`

    Members
    -------
    soon : Out, 2 bits: OUTPUT, ACC is written in exactly ``notice`` cycles; writes : Out,
        4 bits, registers written in the next cycle
    op : In, stream of :func:`~..ops.dot_op`
    progress : In, :class:`~..ops.ProgressLayout`
    follows : Out, the operation at hand overwrites tiles that loads or stores before it read
    fetched, finished : Out, pulses: a slot's operands are read;
        its result is written in the next cycle, and can be read from the one after
    working : Out, the lanes are at work
    clear : In, pulse: all operations are forgotten; nothing is written from the next cycle on
    tiles_read : Out, :class:`~..ops.TileRead`; tiles_write : Out, :class:`~..ops.TileWrite`,
        which must always be ready
    """

    def __init__(
        self,
        *,
        params: Params,
        latency: int = 16,
        notice: int = 9,
        multiplier: str = "dsp",
        family: str | None = None,
    ) -> None:
        if notice not in range(1, latency):
            raise ValueError(f"Notice must be 1 to {latency - 1} cycles, not {notice!r}")
        self.params, self.family, self._notice = params, family, notice
        self.geometry = Geometry(params["macs"])
        self._lanes = DotLanes(params=params, latency=latency, multiplier=multiplier, family=family)
        self.latency = latency
        self._words = 16 // tile_elements(params)
        self._row_words = self._words > 1
        # Passes of a word, of which the last completes it.
        self._word_passes = self.geometry.passes // self._words
        self._info = data.StructLayout(
            {
                "kind": DotKind,
                "acc": 1,
                "axis": 2,
                "count": 3,
                "target": 2,
                "entry": range(entries(params)),
            }
        )
        super().__init__(
            {
                "op": In(stream.Signature(dot_op())),
                "progress": In(ProgressLayout()),
                "fetched": Out(1),
                "finished": Out(1),
                "follows": Out(1),
                "soon": Out(2),
                "writes": Out(4),
                "working": Out(1),
                "clear": In(1),
                "tiles_read": Out(TileRead(params)),
                "tiles_write": Out(TileWrite(params)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.walk = self._walk = ContextIterator(
            params=self.params, layout=dot_op(), own=Unit.DOT
        )
        m.submodules.lanes = self._lanes
        self._block, self._unblock = (
            Signal(),
            Signal(),
        )  # a sum of a whole tile is under way; it ends
        arrived, info = self._fetch(m)
        running = self._run(m, arrived, info)
        self._finish(m, running)
        return m

    # Reading operands

    def _fetch(self, m):
        """Requests operand words; returns whether the last word of a tile has arrived, and the
        tile's operation."""
        walk, request, geometry = self._walk, self.tiles_read.request, self.geometry
        wiring.connect(m, wiring.flipped(self.op), walk.op)
        held = walk.held
        m.d.comb += [
            walk.progress.eq(self.progress),
            walk.clear.eq(self.clear),
            self.follows.eq(held.waits[Unit.LSU.value].fetched.valid),
        ]
        total = held.kind == DotKind.SUM
        accumulates = (held.kind == DotKind.MATMUL) | (held.kind == DotKind.MULACC)
        word, sent, last = Signal(range(max(2, self._words))), Signal(), Signal()
        # Passes of tiles before that are still to come when this one's last word arrives; `waits`:
        # there are some, or a whole tile's sum.
        ahead, ahead_next = Signal(range(geometry.passes + 1)), Signal(range(geometry.passes + 1))
        waits = Signal()
        m.d.comb += [
            last.eq(word == self._words - 1),
            request.valid.eq(walk.valid & ~(last & waits)),
            request.payload.mask.eq(
                Mux(total, 1 << OUTPUT | 1 << ACC, Cat(Const(3, 3), accumulates))
            ),
            request.payload.entry.eq(walk.entry),
            request.payload.word.eq(word),
            sent.eq(request.valid & request.ready),
            walk.take.eq(sent & last),
        ]
        # Told a cycle late: nobody needs it at once, and the way from the tile file's grants is
        # long.
        m.d.sync += self.fetched.eq(walk.take & ~self.clear)
        with m.If(sent):
            m.d.sync += word.eq(Mux(last, 0, word + 1))
        m.d.comb += ahead_next.eq(Mux(ahead != 0, ahead - 1, 0))
        blocks = self._block & ~self._unblock
        with m.If(walk.take):
            m.d.comb += ahead_next.eq(Mux(self._single(total, held.axis), 0, geometry.passes - 1))
        if self.params["reduce_axes"]:
            blocks = Mux(walk.take, total & (held.axis == 2), blocks)
        m.d.sync += [
            ahead.eq(ahead_next),
            self._block.eq(blocks),
            waits.eq((ahead_next != 0) | blocks),
        ]
        total_next = Signal(reset_less=True)
        coming = [Signal(name=f"coming_{k}") for k in range(2)]
        ending = [Signal(name=f"ending_{k}", reset_less=True) for k in range(2)]
        info = [Signal(self._info, name=f"info_{k}", reset_less=True) for k in range(2)]
        m.d.sync += [
            coming[0].eq(sent),
            coming[1].eq(coming[0]),
            ending[0].eq(last),
            ending[1].eq(ending[0]),
            info[1].eq(info[0]),
        ]
        m.d.sync += [
            info[0][name].eq(held[name]) for name in ("kind", "acc", "axis", "count", "target")
        ]
        m.d.sync += info[0].entry.eq(walk.target)
        with m.If(self.clear):
            m.d.sync += [
                word.eq(0),
                ahead.eq(0),
                self._block.eq(0),
                waits.eq(0),
                coming[0].eq(0),
                coming[1].eq(0),
            ]
        # What the lanes are to do is worked out while the operands are read.
        m.d.sync += [
            self._lanes.mode.eq(self._mode(info[0])),
            total_next.eq(info[0].kind == DotKind.SUM),
        ]
        self._gather(m, coming[1], total_next)
        m.d.comb += self._lanes.load.eq(coming[1] & ending[1])
        return coming[1], info[1]

    def _single(self, total, axis):
        """Whether a whole sum is computed in a single pass of two rows."""
        return total & (axis != 1) if self.geometry.rows == 2 else Const(0)

    def _gather(self, m, valid, total):
        """Assembles the lanes' operands from the words read."""
        elements, wide, read, lanes = (
            tile_elements(self.params),
            element_bits(self.params),
            self.tiles_read.data,
            self._lanes,
        )

        def words(reg, bits):
            return Cat(read[reg][wide * k : wide * k + bits] for k in range(elements))

        for given, word in (
            (lanes.a, Mux(total, words(OUTPUT, 18), words(INPUT, 18))),
            (lanes.b, Mux(total, words(OUTPUT, 18), words(WEIGHTS, 18))),
            (lanes.c, words(ACC, wide)),
        ):
            before = []
            for k in range(self._words - 1):
                row = Signal(len(word), reset_less=True, name=f"row_{k}")
                before.append(row)
            for row, later in zip(before, [*before, word][1:], strict=True):
                with m.If(valid):
                    m.d.sync += row.eq(later)
            m.d.comb += given.as_value().eq(Cat(before, word))

    def _mode(self, info):
        """Mode of the lanes (:class:`~.dotlanes.ModeLayout`) for an operation."""
        kind = info.kind
        total = kind == DotKind.SUM
        plain = (kind == DotKind.ADD) | (kind == DotKind.SUB) | (kind == DotKind.MUL)
        whole = total & (info.axis == 2) & bool(self.params["reduce_axes"])
        values = {
            "elementwise": plain | (kind == DotKind.MULACC),
            "plus": kind == DotKind.ADD,
            "minus": kind == DotKind.SUB,
            "ones_a": total & (info.axis != 1),
            "ones_b": total & (info.axis == 1),
            "swap": total & (info.axis != 1) & info.target[1],
            "absent": Mux(total, Cat(info.count <= k for k in range(4)), 0),
            "no_c": (kind == DotKind.MUL) | (total & (~info.acc | whole)),
            "narrow": plain | whole,
        }
        return Cat(Value.cast(values[name])[: field.width] for name, field in ModeLayout())

    # Passes

    def _run(self, m, arrived, info):
        """Counts passes; returns a structure with the control fields of the pass that enters the
        lanes."""
        geometry, lanes = self.geometry, self._lanes
        running, second, tile = Signal(), Signal(), Signal(self._info, reset_less=True)
        count = Signal(range(max(2, geometry.passes)))
        now = Signal(
            data.StructLayout(
                {
                    "valid": 1,
                    "last": 1,
                    "first_of_two": 1,
                    "total": 1,
                    "complete": 1,
                    "number": count.shape(),
                    **self._info.members,
                }
            )
        )
        total = tile.kind == DotKind.SUM
        single = self._single(total, tile.axis)
        both = total & (tile.axis == 2) & bool(self.params["reduce_axes"])
        m.d.comb += [
            now.valid.eq(running),
            now.last.eq(single | (count == geometry.passes - 1)),
            now.first_of_two.eq(both & ~second),
            now.total.eq(total),
            now.number.eq(count),
            now.complete.eq(single | (count % self._word_passes == self._word_passes - 1)),
            self._unblock.eq(running & now.last & second),
            lanes.step.eq(running),
            lanes.row_pass.eq(count % geometry.row_passes),
            lanes.keep_c.eq(now.first_of_two),
        ]
        m.d.comb += [now[name].eq(tile[name]) for name in self._info.members]
        with m.If(running):
            m.d.sync += [count.eq(count + 1), running.eq(~now.last)]
        with m.If(lanes.again):
            m.d.sync += [running.eq(1), count.eq(0), second.eq(1)]
        with m.If(lanes.load):
            m.d.sync += [running.eq(1), count.eq(0), second.eq(0), tile.eq(info)]
        with m.If(self.clear):
            m.d.sync += [running.eq(0), second.eq(0)]
        # Elements of ACC for sums, as they come: what a sum does not name keeps its value.
        m.submodules.old = self._old = BlockRAM(
            width=element_bits(self.params) * tile_elements(self.params),
            depth=_OLD,
            latency=2,
            family=self.family,
        )
        with m.If(self._old.write_en):
            m.d.sync += self._old.write_addr.eq(self._old.write_addr + 1)
        with m.If(self.clear):
            m.d.sync += self._old.write_addr.eq(0)
        m.d.comb += [
            self._old.write_en.eq(arrived & (info.kind == DotKind.SUM)),
            self._old.write_data.eq(self.tiles_read.data[ACC]),
        ]
        return now

    # Results

    def _finish(self, m, now):
        write = self.tiles_write.request
        elements, wide = tile_elements(self.params), element_bits(self.params)
        stages = [now]
        for k in range(self.latency):
            later = Signal(now.shape(), name=f"pass_{k + 1}", reset_less=True)
            m.d.sync += later.eq(stages[-1])
            with m.If(self.clear):
                m.d.sync += later.valid.eq(0)
            stages.append(later)
        done, early = stages[-1], stages[-3]
        read_old = early.valid & early.total & early.complete & ~early.first_of_two
        with m.If(read_old):
            m.d.sync += self._old.read_addr.eq(self._old.read_addr + 1)
        with m.If(self.clear):
            m.d.sync += self._old.read_addr.eq(0)

        fresh = self._assembled(m, done)
        keeps = self._kept(m, stages[-2])
        for k in range(elements):
            value = (
                fresh[k]
                if wide == 18
                else Mux(
                    done.total | (done.kind == DotKind.MATMUL) | (done.kind == DotKind.MULACC),
                    fresh[k],
                    fresh[k][wide - 18 :],
                )
            )
            m.d.comb += write.payload.data[wide * k : wide * (k + 1)].eq(
                Mux(keeps[k], self._old.read_data[wide * k : wide * (k + 1)], value)
            )

        def to_output(stage):
            return (
                (stage.kind == DotKind.ADD)
                | (stage.kind == DotKind.SUB)
                | (stage.kind == DotKind.MUL)
            )

        def writes(stage):
            return stage.valid & stage.complete & ~stage.first_of_two

        announced, ending = stages[-2 - self._notice], stages[-2]
        m.d.sync += self.soon.eq(
            Cat(to_output(announced), ~to_output(announced)) & writes(announced).replicate(2)
        )
        m.d.comb += [
            write.valid.eq(writes(done)),
            write.payload.reg.eq(Mux(to_output(done), OUTPUT, ACC)),
            write.payload.entry.eq(done.entry),
            write.payload.word.eq(done.number // self._word_passes if self._row_words else 0),
            self.writes.eq(
                Mux(to_output(ending), 1 << OUTPUT, 1 << ACC) & writes(ending).replicate(4)
            ),
            self.finished.eq(ending.valid & ending.last & ~ending.first_of_two),
            self.working.eq(Cat(s.valid for s in stages).any()),
        ]
        if self.params["reduce_axes"]:
            self._second(m, done)

    def _assembled(self, m, done):
        """Elements of a result word: those of its earlier passes, and those of this one."""
        lanes, geometry = self._lanes, self.geometry
        now = [lanes.result[k] for k in range(geometry.units)]
        held = []
        for k in range(self._word_passes - 1):
            part = [
                Signal(element_bits(self.params), name=f"held_{k}_{unit}", reset_less=True)
                for unit in range(geometry.units)
            ]
            held.append(part)
        with m.If(done.valid):
            for part, later in zip(held, [*held, now][1:], strict=True):
                m.d.sync += [a.eq(b) for a, b in zip(part, later, strict=True)]
        if geometry.rows == 2:
            single = self._single(done.total, done.axis)
            return [Mux(single, b, a) for a, b in zip(held[0], now, strict=True)] + now
        return [value for part in held for value in part] + now

    def _kept(self, m, before):
        """For each element of a word, whether ACC's old element is kept. From registers."""
        keeps = Signal(tile_elements(self.params), reset_less=True)
        for k in range(len(keeps)):
            row = before.number // self.geometry.row_passes if self._row_words else Const(k // 4, 2)
            here, column = row == before.target, k % 4 == before.target
            if self.params["reduce_axes"]:
                taken = Mux(
                    before.axis == 0,
                    here,
                    Mux(before.axis == 1, column, here & Const(k % 4 == 0, 1)),
                )
            else:
                taken = here
            m.d.sync += keeps[k].eq(before.total & ~taken)
        return keeps

    def _second(self, m, done):
        """Feeds the column sums back into the lanes, to be added up."""
        lanes, geometry = self._lanes, self.geometry
        wide = element_bits(self.params)
        first = done.valid & done.first_of_two
        m.d.comb += [lanes.again.eq(first & done.last), lanes.again_no_c.eq(~done.acc)]
        for k in range(4):
            if geometry.units >= 4:
                mine = [unit for unit in range(geometry.units) if unit % 4 == k]
                here = Const(1) if geometry.rows > 1 else done.number == done.target
                value = lanes.result[mine[0]]
                for row, unit in enumerate(mine):
                    if row:
                        value = Mux(
                            done.target[: len(mine).bit_length() - 1] == row,
                            lanes.result[unit],
                            value,
                        )
            else:
                here = done.number == Cat(
                    Const(k // geometry.units, geometry.row_passes.bit_length() - 1), done.target
                )
                value = lanes.result[k % geometry.units]
            m.d.comb += [
                lanes.patch[k].eq(first & here),
                lanes.patch_data[k].eq(value[wide - 18 :]),
            ]
