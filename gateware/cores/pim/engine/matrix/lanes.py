# SPDX-License-Identifier: BSD-2-Clause
"""Multipliers and accumulators of the matrix unit, in groups staggered by one cycle."""

from amaranth import Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .....arguments import check_family
from .....isa.parameters import Params
from .....primitives.multipliers import PipelinedMultipliers
from .weights import lane_groups

__all__ = ["MatrixLanes", "multiplier_kind"]


def multiplier_kind(params: Params, family: str | None) -> str:
    """Kind of multipliers: DSPs, except on the smallest chips, which have none (an iCE40 with
    inputs of 8 bits)."""
    return "lut" if family == "ice40" and params["x_bits"] == 8 else "dsp"


class MatrixLanes(wiring.Component):
    """Multiply-accumulate lanes: one step multiplies an input element by a row of weights; sums of
    a tile are kept until those of the next are complete.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    family : as the primitives'

    Members
    -------
    step, last : In: a step is made, the last of its tile
    x : In, weights : In, array of groups: three cycles after their step,
        and those of group ``g`` of the weights ``g`` cycles later
    sums : Out, array of all lanes' sums;
        those of group ``g`` stand from :attr:`LATENCY` + ``g`` cycles after the last step
    busy : Out: a step has not reached the last group's sums yet
    """

    #: Operands arrive after three cycles, take three in the multiplier, and one in the accumulator.
    LATENCY = 3 + PipelinedMultipliers.LATENCY + 1

    def __init__(self, *, params: Params, family: str | None = None) -> None:
        check_family(family)
        self.params, self.family = params, family
        self.groups, self.group_lanes = lane_groups(params)
        #: Products of 1,024 rows.
        self.width = params["x_bits"] + 8 + 10
        super().__init__(
            {
                "step": In(1),
                "last": In(1),
                "x": In(signed(params["x_bits"])),
                "weights": In(8 * self.group_lanes).array(self.groups),
                "sums": Out(signed(self.width)).array(params["lanes"]),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Accumulators have no reset of their own: the chain that clears them begins full of ones.
        step, last, clear = self.step, self.step & self.last, self.step & self.last
        under_way = []
        for k in range(self.LATENCY - 1 + self.groups - 1):
            before = step, last, clear
            step, last, clear = (
                Signal(name=f"step_{k}"),
                Signal(name=f"last_{k}"),
                Signal(name=f"clear_{k}", init=1),
            )
            m.d.sync += [
                after.eq(now) for after, now in zip((step, last, clear), before, strict=True)
            ]
            under_way.append((step, last, clear))
        x = self.x
        kind = multiplier_kind(self.params, self.family)
        for g in range(self.groups):
            m.submodules[f"group_{g}"] = products = PipelinedMultipliers(
                lanes=self.group_lanes,
                a_width=self.params["x_bits"],
                b_width=8,
                kind=kind,
                family=self.family,
            )
            add, take, clear = under_way[self.LATENCY - 2 + g]
            for k in range(self.group_lanes):
                lane = g * self.group_lanes + k
                m.d.comb += [
                    products.a[k].eq(x),
                    products.b[k].eq(self.weights[g].word_select(k, 8).as_signed()),
                ]
                total = Signal(signed(self.width), name=f"total_{lane}", reset_less=True)
                following = Signal(signed(self.width), name=f"following_{lane}")
                held = Signal(signed(self.width), name=f"sum_{lane}", reset_less=True)
                m.d.comb += [following.eq(total + products.p[k]), self.sums[lane].eq(held)]
                with m.If(add):
                    m.d.sync += total.eq(following)
                with m.If(clear):
                    m.d.sync += total.eq(0)
                with m.If(take):
                    m.d.sync += held.eq(following)
            later = Signal.like(x, name=f"x_{g}", reset_less=True)
            m.d.sync += later.eq(x)
            x = later
        # One more for the sum itself.
        ending = Signal()
        m.d.sync += ending.eq(under_way[-1][0])
        busy = ending
        for k in under_way:
            busy = busy | k[0]
        m.d.comb += self.busy.eq(busy)
        return m
