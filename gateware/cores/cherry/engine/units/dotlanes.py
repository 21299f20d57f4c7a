# SPDX-License-Identifier: BSD-2-Clause
"""Dot lanes: dot units with operand registers that hold a tile of each operand, processed in passes
of macs/4 elements."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .....isa.parameters import Params
from ...tables import FRAC, ONE
from ..ops import element_bits
from .accumulator import to_accumulator
from .dotunit import DotUnit

__all__ = ["DotLanes", "Geometry", "ModeLayout"]


class Geometry:
    """Mapping of a tile to ``macs`` multipliers, four to a dot unit.

    Attributes
    ----------
    units : dot units
    passes : cycles that a tile takes
    rows : rows that a pass works at, at least 1
    row_passes : passes that a row takes, at least 1
    """

    def __init__(self, macs: int) -> None:
        if macs not in (4, 8, 16, 32, 64):
            raise ValueError(
                f"Parallel dot units need 4, 8, 16, 32 or 64 multipliers, not {macs!r}"
            )
        self.units, self.passes = macs // 4, 64 // macs
        self.rows, self.row_passes = max(1, macs // 16), max(1, 16 // macs)

    def element(self, unit: int, row_pass: int = 0) -> tuple[int, int]:
        """Tile position of a dot unit's element: row within a pass, and column; ``row_pass`` counts
        the passes of a row that takes several."""
        return unit // 4, unit % 4 if self.units >= 4 else row_pass * self.units + unit


class ModeLayout(data.StructLayout):
    """Mode of the lanes: the operation that they perform on a tile.

    elementwise : a unit multiplies its element of A and of B, else a row of A and a column of B
    plus, minus : A plus or less B, element by element
    ones_a, ones_b : A, B is all ones
    swap : the upper rows of C change place with the lower ones
    absent : products of a unit that are not there, for what is not elementwise
    no_c, narrow : as :class:`~.dotunit.DotUnit`
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "elementwise": 1,
                "plus": 1,
                "minus": 1,
                "ones_a": 1,
                "ones_b": 1,
                "swap": 1,
                "absent": 4,
                "no_c": 1,
                "narrow": 1,
            }
        )


class DotLanes(wiring.Component):
    """Array of ``macs``/4 dot units with operand registers for a tile of A, B and C.

    Parameters
    ----------
    params : dict
    latency : int, of a dot unit
    multiplier, family : as :class:`~.dotunit.DotUnit`

    Members
    -------
    load : In; the registers take ``a``, ``b``, ``c`` (arrays of 16 elements,
        row by row) and ``mode`` (:class:`ModeLayout`)
    step : In, a pass ends; ``row_pass`` : In, which of a row's passes this one is
    keep_c : In, C stays as it is at the end of this pass
    again : In, from the next cycle on: all products there,
        ``no_c`` as given by ``again_no_c``, not narrow (with ``patch``: the second sum of a whole
        tile)
    patch, patch_data : In, bit k: element (k, 0) of B becomes ``patch_data[k]``
    result : Out, array over the units, ``latency`` cycles after the pass
    """

    def __init__(
        self, *, params: Params, latency: int, multiplier: str = "dsp", family: str | None = None
    ) -> None:
        self.params, self.latency, self.multiplier, self.family = (
            params,
            latency,
            multiplier,
            family,
        )
        self.geometry = Geometry(params["macs"])
        wide = element_bits(params)
        super().__init__(
            {
                "load": In(1),
                "a": In(data.ArrayLayout(18, 16)),
                "b": In(data.ArrayLayout(18, 16)),
                "c": In(data.ArrayLayout(wide, 16)),
                "mode": In(ModeLayout()),
                "step": In(1),
                "row_pass": In(range(max(2, self.geometry.row_passes))),
                "keep_c": In(1),
                "again": In(1),
                "again_no_c": In(1),
                "patch": In(4),
                "patch_data": In(data.ArrayLayout(18, 4)),
                "result": Out(data.ArrayLayout(wide, self.geometry.units)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        mode = self._registers(m)
        for unit in range(self.geometry.units):
            m.submodules[f"unit_{unit}"] = dot = DotUnit(
                frac=self.params["acc_frac"],
                multiplier=self.multiplier,
                latency=self.latency,
                family=self.family,
            )
            self._operands(m, unit, dot, mode)
            m.d.comb += self.result[unit].eq(dot.result)
        return m

    def _registers(self, m):
        wide, moved = element_bits(self.params), 4 * self.geometry.rows
        self._a, self._b = (
            Signal(data.ArrayLayout(18, 16), name=name, reset_less=True)
            for name in ("tile_a", "tile_b")
        )
        self._c = Signal(data.ArrayLayout(wide, 16), name="tile_c", reset_less=True)
        mode = Signal(ModeLayout(), name="held_mode", reset_less=True)
        row_ends = self.step & (self.row_pass == self.geometry.row_passes - 1)
        for held, given, ones, moves in (
            (self._a, self.a, self.mode.ones_a, Const(1)),
            (self._b, self.b, self.mode.ones_b, mode.elementwise),
            (self._c, self.c, None, ~self.keep_c),
        ):
            with m.If(row_ends & moves):
                m.d.sync += [held[k].eq(held[k + moved]) for k in range(16 - moved)]
            with m.If(self.load):
                m.d.sync += held.eq(given)
                if ones is None and self.geometry.rows == 2:
                    with m.If(self.mode.swap):
                        m.d.sync += [held[k].eq(given[k + 8]) for k in range(8)]
                if ones is not None:
                    with m.If(ones):
                        m.d.sync += [held[k].eq(ONE) for k in range(16)]
        if self.params["reduce_axes"]:
            for k in range(4):
                with m.If(self.patch[k]):
                    m.d.sync += self._b[4 * k].eq(self.patch_data[k])
        with m.If(self.again):
            m.d.sync += [mode.absent.eq(0), mode.no_c.eq(self.again_no_c), mode.narrow.eq(0)]
        with m.If(self.load):
            m.d.sync += mode.eq(self.mode)
        return mode

    def _operands(self, m, unit, dot, mode):
        geometry, frac = self.geometry, self.params["acc_frac"]
        row, _ = geometry.element(unit)
        columns = [geometry.element(unit, k)[1] for k in range(geometry.row_passes)]
        single = mode.plus | mode.minus
        for k in range(4):
            down = self._chosen(self._b[4 * k + x] for x in columns)
            along = self._b[4 * row + k]
            factor = Mux(mode.elementwise, along, down) if k in columns else down
            if k in columns:
                # x + y is x * 1 + y: the second factor becomes one, bit by bit.
                factor = Cat(
                    factor[bit] | single if ONE >> bit & 1 else factor[bit] & ~single
                    for bit in range(18)
                )
            other = ~self._chosen(Const(x == k, 1) for x in columns)
            m.d.comb += [
                dot.a[k].eq(self._a[4 * row + k]),
                dot.b[k].eq(factor),
                dot.absent[k].eq(Mux(mode.elementwise, other, mode.absent[k])),
            ]
        y = self._chosen(self._b[4 * row + x] for x in columns)
        addend = Cat(y[:17], y[17] ^ mode.minus)
        kept = self._chosen(self._c[4 * row + x] for x in columns)
        m.d.comb += [
            dot.c.eq(Mux(single, to_accumulator(addend, frac) if frac != FRAC else addend, kept)),
            dot.no_c.eq(mode.no_c),
            dot.narrow.eq(mode.narrow),
        ]

    def _chosen(self, values):
        """Operand selected by the pass of a row."""
        values = list(values)
        result = values[0]
        for k, value in enumerate(values[1:], 1):
            result = Mux(self.row_pass == k, value, result)
        return result
