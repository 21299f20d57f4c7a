# SPDX-License-Identifier: BSD-2-Clause
"""Datapath of a convolution: products, adder trees, accumulators and rounders of all output lanes,
one partial sum per lane and cycle."""

from amaranth import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .....isa.parameters import Params
from .....parts.delays import delay
from .....primitives.dsp import MultiplierArray
from .....primitives.packed import UNPACK_LATENCY, PackedProducts, part_shapes, unpack_sums
from ...types import type_set
from ..commands import ConvKind
from .buffers import IfmBuffer, KernelRing, OfmBuffer
from .rounding import Rounder, RoundingBits
from .sequencer import step_layout

__all__ = ["ConvLanes", "conv_stages"]

#: Stage at which activations and weights reach the multipliers.
_OPERANDS = IfmBuffer.LATENCY
assert KernelRing.LATENCY == _OPERANDS


class conv_stages:
    """Pipeline stages of a build, as cycles after a step.

    Attributes
    ----------
    dot : a chunk's dot product stands
    swap : the lanes take the next group's base over; swap_addend : its addend
    total : the accumulator stands
    ofm_read : the line for ``conv.acc`` is requested
    write : the line is written
    turnaround : least cycles from a step to another that may read its line
    """

    def __init__(self, params: Params, family: str | None) -> None:
        products = params["pi"] * params["po"]
        if params["multiplier"] == "dsp_pair":
            self.multipliers = PackedProducts(pairs=products // 2, family=family)
            latency = PackedProducts.LATENCY + UNPACK_LATENCY
        else:
            self.multipliers = MultiplierArray(
                lanes=products,
                kind=params["multiplier"],
                fabric_register=True,
                width=type_set(params).ifm,
                family=family,
            )
            latency = self.multipliers.latency
        self.dot = _OPERANDS + latency + exact_log2(params["pi"])
        self.swap = self.dot - 1
        self.total = self.dot + 1
        # The accumulator's line stands in a register of its own as it enters the rounder.
        self.ofm_read = self.total + Rounder.ADDEND - 1 - OfmBuffer.CONV_LATENCY
        self.swap_addend = self.total + 1
        self.write = self.total + Rounder.LATENCY
        self.turnaround = self.write - (self.ofm_read + 1)


class ConvLanes(wiring.Component):
    """Convolution datapath: ``po`` lanes of ``pi`` multipliers each.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    family : as the primitives'

    Members
    -------
    clear : In
    step, info : In: a step and what it is
    activations, weights : In, five cycles later, for all lanes
    base, addend : In: of the next group (``conv.bias``); swapped : Out: both have been taken over
    read_bank, read_line : Out; read_data : In, four cycles later
    write_en, write_bank, write_line, write_data : Out
    busy : Out: a step is in the pipeline; done : Out, one cycle:
        a command's last line has been written
    """

    def __init__(self, *, params: Params, family: str | None = None) -> None:
        self.params, self.family = params, family
        self.types, self.bits = type_set(params), RoundingBits.of(params)
        self.stages = conv_stages(params, family)
        layout = step_layout(params)
        line = layout["ofm_line"].shape
        lanes = params["po"]
        super().__init__(
            {
                "clear": In(1),
                "step": In(1),
                "info": In(layout),
                "activations": In(self.types.ifm * params["pi"]),
                "weights": In(self.types.ker * params["pi"]).array(lanes),
                "base": In(signed(self.bits.accumulator)).array(lanes),
                "addend": In(signed(self.bits.ofm)).array(lanes),
                "swapped": Out(1),
                "read_bank": Out(1),
                "read_line": Out(line),
                "read_data": In(lanes * self.bits.ofm),
                "write_en": Out(1),
                "write_bank": Out(1),
                "write_line": Out(line),
                "write_data": Out(lanes * self.bits.ofm),
                "busy": Out(1),
                "done": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits, at = self.bits, self.stages
        m.submodules.multipliers = at.multipliers
        dots = (self._packed_dots if self.params["multiplier"] == "dsp_pair" else self._dots)(m)

        # Control signals that accompany the data; at[k] is the value k cycles after the step.
        valid, info = [self.step], [self.info]
        for k in range(at.write + 1):
            valid.append(delay(m, valid[-1], 1, f"valid_{k}", clear=self.clear))
            info.append(delay(m, info[-1], 1, f"info_{k}"))
        shift = [value.shift for value in info]

        # The base of a group without a bias: a half of the last place.
        half = Signal(bits.right, reset_less=True)
        m.d.sync += half.eq(Cat(shift[at.swap - 1] == bits.left + k + 1 for k in range(bits.right)))
        swap = valid[at.swap] & info[at.swap].group
        swap_addend = valid[at.swap_addend] & info[at.swap_addend].group
        # Groups without a bias take nothing from the terms: one of them must not stand for the
        # group after it.
        m.d.comb += self.swapped.eq(swap_addend & (info[at.swap_addend].kind == ConvKind.BIAS))
        excess = Signal(bits.accumulator, reset_less=True)
        m.d.sync += excess.eq(Cat(shift[at.dot] <= k + 1 for k in range(bits.accumulator)))
        accumulate = Signal(reset_less=True)
        m.d.sync += accumulate.eq(info[at.total + 1].kind == ConvKind.ACC)

        results = []
        for k, dot in enumerate(dots):
            base = Signal(signed(bits.accumulator), name=f"base_{k}", reset_less=True)
            addend = Signal(signed(bits.ofm), name=f"addend_{k}", reset_less=True)
            with m.If(swap):
                m.d.sync += base.eq(Mux(info[at.swap].kind == ConvKind.BIAS, self.base[k], half))
            with m.If(swap_addend):
                m.d.sync += addend.eq(
                    Mux(info[at.swap_addend].kind == ConvKind.BIAS, self.addend[k], 0)
                )

            total = Signal(signed(bits.accumulator), name=f"total_{k}", reset_less=True)
            m.d.sync += total.eq(Mux(info[at.dot].first, base, total) + dot)
            old = Signal(signed(bits.ofm), name=f"old_{k}", reset_less=True)
            m.d.sync += old.eq(Mux(accumulate, self.read_data.word_select(k, bits.ofm), addend))

            m.submodules[f"rounder_{k}"] = rounder = Rounder(bits=bits)
            m.d.comb += [
                rounder.total.eq(total),
                rounder.excess.eq(excess),
                rounder.coarse.eq(shift[at.total][4:]),
                rounder.middle.eq(shift[at.total + 1][2:4]),
                rounder.fine.eq(shift[at.total + 2][:2]),
                rounder.addend.eq(old),
            ]
            results.append(rounder.result)

        read, write = info[at.ofm_read], info[at.write]
        finished = Signal()
        m.d.sync += finished.eq(valid[at.write] & write.command & ~self.clear)
        m.d.comb += [
            self.read_bank.eq(read.ofm_bank),
            self.read_line.eq(read.ofm_line),
            self.write_en.eq(valid[at.write] & write.last),
            self.write_bank.eq(write.ofm_bank),
            self.write_line.eq(write.ofm_line),
            self.write_data.eq(Cat(*results)),
            self.done.eq(finished),
            self.busy.eq(Cat(valid[1 : at.write + 1]).any() | finished),
        ]
        return m

    def _activation(self, c):
        return self.activations.word_select(c, self.types.ifm).as_signed()

    def _weight(self, k, c):
        return self.weights[k].word_select(c, self.types.ker).as_signed()

    def _dots(self, m):
        """Dot products of weights and inputs, one per output lane."""
        pi, lanes, multipliers = self.params["pi"], self.params["po"], self.stages.multipliers
        dots = []
        for k in range(lanes):
            for c in range(pi):
                place = c * lanes + k
                m.d.comb += [
                    multipliers.a[place].eq(self._activation(c)),
                    multipliers.b[place].eq(self._weight(k, c)),
                ]
            dots.append(_tree(m, f"sum_{k}", [multipliers.p[c * lanes + k] for c in range(pi)]))
        return dots

    def _packed_dots(self, m):
        """Dot products from lanes in pairs that share multipliers: the packed products are summed,
        then separated."""
        pi, pairs, multipliers = self.params["pi"], self.params["po"] // 2, self.stages.multipliers
        activations = _tree(m, "activations", [self._activation(c) for c in range(pi)])
        activations = delay(m, activations, multipliers.LATENCY, "activations_late")
        width = part_shapes(pi)[0].width
        dots = []
        for q in range(pairs):
            for c in range(pi):
                place = c * pairs + q
                m.d.comb += [
                    multipliers.a[place].eq(self._activation(c)),
                    multipliers.b[place].eq(self._weight(2 * q, c)),
                    multipliers.c[place].eq(self._weight(2 * q + 1, c)),
                ]
            parts = [
                _tree(
                    m, f"{name}_{q}", [getattr(multipliers, name)[c * pairs + q] for c in range(pi)]
                )
                for name in ("upper", "lower", "carry")
            ]
            dots += unpack_sums(m, f"pair_{q}", *parts, activations, width)
        return dots


def _tree(m, name, values):
    """Adder tree over ``values``, with a register after each adder."""
    level = 0
    while len(values) > 1:
        sums = []
        for k in range(0, len(values), 2):
            total = Signal(
                (values[k] + values[k + 1]).shape(),
                name=f"{name}_{level}_{k // 2}",
                reset_less=True,
            )
            m.d.sync += total.eq(values[k] + values[k + 1])
            sums.append(total)
        values, level = sums, level + 1
    return values[0]
