# SPDX-License-Identifier: BSD-2-Clause
"""Bias prefetch of a ``mvmul``: biases and the rounding constant, added to the sums before their
shift."""

from amaranth import Module, Mux, Signal, signed
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from .....arguments import check_family
from .....isa.parameters import Params
from .....primitives.adders import FunctionAdder
from ..commands import bias_bits
from .weights import lane_groups

__all__ = ["SHIFT_MOST", "SUM_BITS", "Addends"]

#: Bits of a sum with bias and rounding: 16 + 8 + 10 bits of products, a bias of 32 bits, and 2**34.
SUM_BITS = 36

#: Greater shifts give the same as this one: 0, or the sign where nothing is rounded.
SHIFT_MOST = 35


class Addends(wiring.Component):
    """Bias prefetch: reads one word per cycle from the bias store into a ring of lane groups;
    without a bias, a whole group of the same constant per cycle.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    family : as the primitives'

    Members
    -------
    start : In, one cycle, while not ``busy``; cols (less one), has_bias, half : In, with it:
        the constant to be added to all
    base_valid, base : In: the place of the first bias, one cycle, after ``start``
    busy : Out: words are still to be fetched
    address : Out; bias : In, two cycles later
    available : Out: the oldest group is whole; values : Out: an array of its lanes' addends;
        take : In: the next one, please
    """

    def __init__(self, *, params: Params, family: str | None = None) -> None:
        check_family(family)
        self.params, self.family = params, family
        groups, self.lanes = lane_groups(params)
        # Two tiles where the ring is distributed RAM, one where it is registers.
        self.depth = max(2, 1 << ceil_log2(2 * groups if self.lanes > 1 else groups))
        super().__init__(
            {
                "start": In(1),
                "cols": In(10),
                "has_bias": In(1),
                "half": In(SUM_BITS),
                "base_valid": In(1),
                "base": In(bias_bits(params)),
                "busy": Out(1),
                "address": Out(bias_bits(params)),
                "bias": In(32),
                "available": Out(1),
                "values": Out(signed(SUM_BITS)).array(self.lanes),
                "take": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        split = exact_log2(self.lanes)
        has_bias, half = Signal(reset_less=True), Signal(SUM_BITS, reset_less=True)
        fetching, left = Signal(), Signal(10, reset_less=True)
        bank, slot = Signal(split), Signal(range(self.depth))
        held = Signal(range(self.depth + 1))  # groups begun... and not taken yet
        fetch, whole = Signal(), Signal()
        m.d.comb += [
            fetch.eq(fetching & (held != self.depth)),
            whole.eq(fetch & (~has_bias | (left == 0) | (bank.all() if split else 1))),
        ]
        m.d.sync += held.eq(held + whole - self.take)
        with m.If(fetch):
            m.d.sync += [self.address.eq(self.address + 1), left.eq(left - 1), bank.eq(bank + 1)]
            with m.If(whole):
                m.d.sync += [bank.eq(0), slot.eq(slot + 1)]
            with m.If(left == 0):
                m.d.sync += fetching.eq(0)
        ready = Signal()  # without a bias at once, else when its place is known
        with m.If(self.start):
            m.d.sync += [
                has_bias.eq(self.has_bias),
                half.eq(self.half),
                left.eq(Mux(self.has_bias, self.cols, self.cols[split:])),
                fetching.eq(~self.has_bias),
                ready.eq(self.has_bias),
            ]
        with m.If(self.base_valid & ready):
            m.d.sync += [fetching.eq(1), self.address.eq(self.base), ready.eq(0)]

        # Two cycles later the word is there, another later it is written.
        stages = []
        state = fetch, whole, bank, slot
        for k in range(3):
            later = tuple(
                Signal(len(value), name=f"{name}_{k}")
                for name, value in zip(("fetch", "whole", "bank", "slot"), state, strict=True)
            )
            m.d.sync += [after.eq(now) for after, now in zip(later, state, strict=True)]
            stages.append(later)
            state = later
        addend = Signal(SUM_BITS, reset_less=True)
        m.submodules.adder = adder = FunctionAdder(
            width=SUM_BITS, function="and", family=self.family
        )
        m.d.comb += [
            adder.a.eq(half),
            adder.b.eq(self.bias.as_signed()),
            adder.c.eq(has_bias.replicate(SUM_BITS)),
        ]
        m.d.sync += addend.eq(adder.total)
        write, complete, at_bank, at_slot = stages[-1]
        get = Signal(range(self.depth))
        for k in range(self.lanes):
            m.submodules[f"ring_{k}"] = ring = memory.Memory(
                shape=SUM_BITS, depth=self.depth, init=[]
            )
            put, look = ring.write_port(), ring.read_port(domain="comb")
            m.d.comb += [
                put.en.eq(write & (~has_bias | (at_bank == k))),
                put.addr.eq(at_slot),
                put.data.eq(addend),
                look.addr.eq(get),
                self.values[k].eq(look.data),
            ]
        count = Signal(range(self.depth + 1))
        m.d.sync += [count.eq(count + (write & complete) - self.take), get.eq(get + self.take)]
        m.d.comb += [
            self.available.eq(count != 0),
            self.busy.eq(fetching | ready | stages[0][0] | stages[1][0] | stages[2][0]),
        ]
        return m
