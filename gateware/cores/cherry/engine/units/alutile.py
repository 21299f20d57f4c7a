# SPDX-License-Identifier: BSD-2-Clause
"""Vector ALU on whole tiles: relu, gtz, max, copy and zero, one tile per cycle (specification,
sections 4.2, 4.3 and 9)."""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring

from .....isa.parameters import Params
from .....parts.delays import Stages
from .....primitives.bram import BlockRAM
from ...tables import NAN, ONE
from ..memory.tilefile import ACC
from ..ops import AluKind, Unit, alu_op, element_bits, entries
from .accumulator import from_accumulator, to_accumulator
from .alu_interface import bits, blocked, elements_of, members, source, target
from .compare import LOWEST, from_key, larger, sort, to_key
from .contexts import ContextIterator

__all__ = ["AluTiles"]


def _passed(kind: Value, x: Value, known: Value) -> Value:
    """Value of :func:`~.compare.passed`, and 0 for max, in one LUT per bit: that of the element, or
    of a constant, if the element's class says so."""
    positive, nan = known[0], known[1]
    relu, gtz = kind == AluKind.RELU, kind == AluKind.GTZ
    keeps = (kind == AluKind.COPY) | (relu & positive & ~nan)
    invalid, one = relu & nan, gtz & positive & ~nan
    constants = {(0, 0): Const(0), (1, 0): invalid, (0, 1): one, (1, 1): invalid | one}
    return (x & keeps.replicate(18)) | Cat(
        constants[NAN >> bit & 1, ONE >> bit & 1] for bit in range(18)
    )


class AluTiles(wiring.Component):
    """Vector ALU for tile file words of a whole tile: one slot per cycle, in a pipeline that never
    stalls.

    A slot's operands are read in one cycle; its result is written exactly :attr:`LATENCY` cycles
    later. No slot is begun that would write a register when the dot unit does, which says so in
    advance (``soon``).

    Parameters
    ----------
    params : dict
    family : as the primitives'

    Members
    -------
    As :class:`~.dotpath.DotPath`'s; ``op`` is a stream of :func:`~..ops.alu_op`, and:

    soon : In, 2 bits: the dot unit writes OUTPUT, ACC in exactly :attr:`LATENCY` cycles
    writes : Out, 4 bits: registers written in the next cycle
    """

    LATENCY = 9

    def __init__(self, *, params: Params, family: str | None = None) -> None:
        self.params, self.family = params, family
        super().__init__(members(params))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.walk = walk = ContextIterator(
            params=self.params, layout=alu_op(), own=Unit.ALU
        )
        wiring.connect(m, wiring.flipped(self.op), walk.op)
        request, write, held = self.tiles_read.request, self.tiles_write.request, walk.held
        sent, reads, writes = Signal(), Signal(2), Signal(2)
        # Registers that it reads and writes: the way to the tile file's grants begins here, so they
        # are worked out as it is taken.
        mask, given = Signal(4, reset_less=True), self.op.payload
        with m.If(walk.op.valid & walk.op.ready):
            m.d.sync += [
                reads.eq(source(given)),
                writes.eq(target(given)),
                mask.eq(
                    Mux(
                        given.kind == AluKind.ZERO,
                        0,
                        Cat(
                            (source(given) == r) | (given.kind == AluKind.MAX if r == ACC else 0)
                            for r in range(4)
                        ),
                    )
                ),
            ]
        m.d.comb += [
            walk.progress.eq(self.progress),
            walk.clear.eq(self.clear),
            request.valid.eq(walk.valid & ~blocked(self.soon, writes)),
            request.payload.entry.eq(walk.entry),
            request.payload.mask.eq(mask),
            sent.eq(request.valid & request.ready),
            walk.take.eq(sent),
        ]
        # Told a cycle late: nobody needs it at once, and the way from the tile file's grants is
        # long.
        m.d.sync += self.fetched.eq(sent & ~self.clear)
        stage = Stages(m)
        control = Signal(
            data.StructLayout(
                {
                    "kind": AluKind,
                    "reads": 2,
                    "reg": 2,
                    "entry": range(entries(self.params)),
                    "acc": 1,
                    "axis": 2,
                    "count": 3,
                    "target": 2,
                }
            )
        )
        m.d.comb += [
            control[name].eq(held[name]) for name in ("kind", "acc", "axis", "count", "target")
        ]
        m.d.comb += [control.reads.eq(reads), control.reg.eq(writes), control.entry.eq(walk.target)]
        self._control = [control]
        for number in range(1, self.LATENCY + 1):
            self._control.append(stage(number, self._control[-1], control.shape(), "control"))
        valid = Signal(self.LATENCY)
        m.d.sync += valid.eq(Mux(self.clear, 0, Cat(sent, valid)))

        x, old = self._read(m, stage)  # 3
        plain = self._plain(m, stage, x, old)  # 9
        best = self._maxima(m, stage, x, old)  # 9
        control = self._control[-1]
        wide = element_bits(self.params)
        take_row, take_column = self._taken(stage)  # 9
        for k in range(16):
            if k // 4 == k % 4:
                # The same maximum either way.
                result = Mux(take_column[k] | take_row[k], best[k % 4], plain[k])
            else:
                result = Mux(take_column[k], best[k // 4], Mux(take_row[k], best[k % 4], plain[k]))
            m.d.comb += write.payload.data[wide * k : wide * (k + 1)].eq(result)
        m.d.comb += [
            write.valid.eq(valid[-1]),
            write.payload.reg.eq(control.reg),
            write.payload.entry.eq(control.entry),
            self.writes.eq((1 << self._control[-2].reg) & valid[-2].replicate(4)),
            self.finished.eq(valid[-2]),
            self.working.eq(valid.any()),
        ]
        return m

    def _read(self, m, stage):
        """Stage 3: reads the operand's elements and the old ones of ACC."""
        wide, read = element_bits(self.params), self.tiles_read.data
        x = elements_of(m, read, self._control[2].reads, self.params, self.family, "x")
        x = [stage(3, value, 18, f"x_{k}") for k, value in enumerate(x)]
        return x, [
            stage(3, read[ACC][wide * k : wide * (k + 1)], wide, f"old_{k}") for k in range(16)
        ]

    def _plain(self, m, stage, x, old):
        """Stage 9: elements that no maximum replaces. For max these are the old ones, else the
        instruction's results."""
        control, wide = self._control[4], element_bits(self.params)
        known = [stage(4, sort(value), 2, "known") for value in x]
        x = [stage(4, value, 18, "x") for value in x]
        # Zero unless the instruction is max: a reset of the registers, no multiplexer behind them.
        is_max = stage(3, self._control[2].kind == AluKind.MAX, 1, "is_max")
        old = [stage(4, Mux(is_max, value, 0), wide, "old") for value in old]
        now = [
            old[k] | bits(_passed(control.kind, x[k], known[k]), control.reg == ACC, self.params)
            for k in range(16)
        ]
        now = Cat(stage(5, value, wide, "plain") for k, value in enumerate(now))
        # Four cycles in block RAM cost no registers.
        m.submodules.wait = wait = BlockRAM(
            width=16 * wide, depth=16, latency=2, family=self.family
        )
        m.d.sync += [
            wait.write_addr.eq(wait.write_addr + 1),
            wait.read_addr.eq(wait.write_addr - 1),
        ]
        m.d.comb += [wait.write_en.eq(1), wait.write_data.eq(now)]
        return [wait.read_data[wide * k : wide * (k + 1)] for k in range(16)]

    def _maxima(self, m, stage, x, old):
        """Stage 9: maxima of the columns (axis 0), of the rows (1), or of the whole tile (2, all
        equal)."""
        params, axes, control = self.params, bool(self.params["reduce_axes"]), self._control
        keys = [stage(4, to_key(value), 18, f"key_{k}") for k, value in enumerate(x)]
        across = (control[4].axis == 1) if axes else 0
        keys = (
            [
                [Mux(across, keys[4 * line + k], keys[4 * k + line]) for k in range(4)]
                for line in range(4)
            ]
            if axes
            else [[keys[4 * k + line] for k in range(4)] for line in range(4)]
        )
        keys = [
            [Mux(control[4].count <= k, LOWEST, key) for k, key in enumerate(line)] for line in keys
        ]
        pairs = [
            [
                stage(5, larger(line[0], line[1]), 18, "pair"),
                stage(5, larger(line[2], line[3]), 18, "pair"),
            ]
            for line in keys
        ]
        lines = [stage(6, larger(*pair), 18, "line") for pair in pairs]
        # The old elements that take part: of the target's row, or column, or its first one.
        before = [
            stage(4, self._old(m, old, line), len(old[0]), f"before_{line}") for line in range(4)
        ]
        before = [
            stage(5, to_key(from_accumulator(value, params["acc_frac"])), 18, "old_key")
            for value in before
        ]
        used = [
            stage(
                6,
                Mux(control[5].acc & ((control[5].axis != 2) | (line == 0)), key, LOWEST),
                18,
                "used",
            )
            for line, key in enumerate(before)
        ]
        best = [
            stage(7, larger(line, key), 18, "best") for line, key in zip(lines, used, strict=True)
        ]
        if axes:
            whole = control[7].axis == 2
            first = larger(best[0], best[1])
            best = (
                [stage(8, Mux(whole, first, best[0]), 18, "half")]
                + [stage(8, value, 18, "half") for value in best[1:2]]
                + [
                    stage(8, Mux(whole, larger(best[2], best[3]), best[2]), 18, "half"),
                    stage(8, best[3], 18, "half"),
                ]
            )
            best[0] = Mux(control[8].axis == 2, larger(best[0], best[2]), best[0])
        else:
            best = [stage.delay(value, 1) for value in best]
        return [
            stage(
                9,
                to_accumulator(from_key(value), params["acc_frac"]),
                element_bits(params),
                "result",
            )
            for value in best
        ]

    def _old(self, m, old, line):
        """Stage 3: ACC's old element in column ``line`` of the target row, or in row ``line`` of
        the target column."""
        control = self._control[3]
        down, across = (
            Signal(len(old[0]), name=f"down_{line}"),
            Signal(len(old[0]), name=f"across_{line}"),
        )
        with m.Switch(control.target):
            for k in range(4):
                with m.Case(k):
                    m.d.comb += [down.eq(old[4 * k + line]), across.eq(old[4 * line + k])]
        return Mux(control.axis == 1, across, down) if self.params["reduce_axes"] else down

    def _taken(self, stage):
        """Stage 9: whether each element is the maximum of its column, and of its row."""
        control = self._control[8]
        is_max = control.kind == AluKind.MAX
        row, column = [], []
        for k in range(16):
            here = is_max & (control.target == k // 4)
            if self.params["reduce_axes"]:
                here = here & ((control.axis == 0) | ((control.axis == 2) & (k % 4 == 0)))
                column.append(
                    stage(
                        9,
                        is_max & (control.axis == 1) & (control.target == k % 4),
                        1,
                        f"column_{k}",
                    )
                )
            else:
                column.append(0)
            row.append(stage(9, here, 1, f"row_{k}"))
        return row, column
