# SPDX-License-Identifier: BSD-2-Clause
"""Activation: one accumulator row to one row of bytes a cycle (sections 4.6 and 4.9)."""
from amaranth import Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SIGMOID", "Activation"]

#: Sigmoid of 0..7 as published: ceil(255 / (1 + exp(-v))); 255 from 8 on, and 255 - S(-v) below 0.
SIGMOID = (128, 187, 225, 243, 251, 254, 255, 255)


class Activation(wiring.Component):
    """N lanes: running maximum, round and shift, clamp, function.

    Parameters
    ----------
    n : int
    norm : int or None
        Normalisation wired in (a legal value of ``norm``), or ``None``: :attr:`norm` decides.
    pool : bool, with a running maximum
    lean : bool, one register instead of three for the function itself

    Members
    -------
    row : In, N x signed(32); valid, first, last : In: of a window (without ``pool``: first and last are not looked at)
    func : In: 0, 3 none, 1 ReLU, 2 sigmoid. norm : In, bits as CFG norm. compat : In: sigmoid of negative values is 255.
        All three stand still while rows are on their way.
    result : Out, 8N bits; result_valid : Out, :attr:`latency` cycles after the last row of a window
    """
    def __init__(self, *, n, norm, pool, lean):
        self.n, self.fixed, self.pool, self.lean = n, norm, pool, lean
        self.stages = ([] if norm == 0 else ["round", "shift_bytes", "shift_pairs", "shift_bit"])
        self.latency = int(pool) + len(self.stages) + (1 if lean else 2 if self.stages else 3)
        super().__init__({
            "row": In(signed(32)).array(n), "valid": In(1), "first": In(1), "last": In(1),
            "func": In(2), "norm": In(18), "compat": In(1), "result": Out(8 * n), "result_valid": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        norm = self.norm if self.fixed is None else Const(self.fixed, 18)
        shift, rounds, mode = norm[0:5], norm[8], norm[16:18]
        half = Const(0, 32)
        if self.stages:
            half = Signal(32, reset_less=True)
            m.d.sync += half.eq(Mux(rounds & (shift != 0), (1 << shift) >> 1, 0))
        for j in range(self.n):
            m.d.comb += self.result.word_select(j, 8).eq(self._lane(m, j, shift, half, mode))
        valid = self.valid & self.last if self.pool else self.valid
        for k in range(self.latency):
            later = Signal(name=f"valid_{k}")
            m.d.sync += later.eq(valid)
            valid = later
        m.d.comb += self.result_valid.eq(valid)
        return m

    def _lane(self, m, j, shift, half, mode):
        def register(value, name, shape):
            held = Signal(shape, name=f"{name}_{j}", reset_less=True)
            m.d.sync += held.eq(value)
            return held

        value = self.row[j]
        if self.pool:
            most = Signal(signed(32), name=f"most_{j}", reset_less=True)
            with m.If(self.valid & (self.first | (value > most))):
                m.d.sync += most.eq(value)
            value = most
        if self.stages:
            value = register(value + half, "rounded", signed(33))
            coarse = Mux(shift[4], Mux(shift[3], value >> 24, value >> 16), Mux(shift[3], value >> 8, value))
            value = register(coarse, "coarse", signed(33))
            # (four to one and two to one are cheaper than eight to one)
            value = register(Mux(shift[2], Mux(shift[1], value >> 6, value >> 4), Mux(shift[1], value >> 2, value)), "fine", signed(33))
            value = register(Mux(shift[0], value >> 1, value), "shifted", signed(33))
        elif not self.lean:
            value = register(value, "value", signed(32))

        # Where the value lies; everything that follows looks at these bits and the low byte.
        top = len(value) - 1
        negative = value[top]
        facts = {
            "negative": negative,
            "over_byte": ~negative & value[8:top].any(),
            "over_int8": ~negative & value[7:top].any(),
            "under_int8": negative & ~value[7:top].all(),
            "large": ~negative & value[3:top].any(),
            "small_negative": negative & value[3:top].all(),
        }
        low = value[:8]
        if not self.lean:
            facts = {name: register(bit, name, 1) for name, bit in facts.items()}
            low = register(low, "low", 8)
        result = Signal(8, name=f"byte_{j}")
        clamped, sigmoid = Signal(8, name=f"clamped_{j}"), Signal(8, name=f"sigmoid_{j}")
        relu = self.func == 1
        m.d.comb += clamped.eq(low)
        with m.If(facts["negative"] & relu):
            m.d.comb += clamped.eq(0)
        if self.stages:
            with m.Elif(mode == 1):
                with m.If(facts["over_int8"]):
                    m.d.comb += clamped.eq(127)
                with m.If(facts["under_int8"]):
                    m.d.comb += clamped.eq(128)
            with m.Elif(mode == 2):
                with m.If(facts["over_byte"]):
                    m.d.comb += clamped.eq(255)
                with m.If(facts["negative"]):
                    m.d.comb += clamped.eq(0)
        with m.If(facts["negative"]):
            with m.Switch(low[:3]):
                for v in range(1, 8):
                    with m.Case(8 - v):
                        m.d.comb += sigmoid.eq(255 - SIGMOID[v])
            with m.If(~facts["small_negative"]):
                m.d.comb += sigmoid.eq(0)
            with m.If(self.compat):
                m.d.comb += sigmoid.eq(255)
        with m.Else():
            with m.Switch(low[:3]):
                for v in range(8):
                    with m.Case(v):
                        m.d.comb += sigmoid.eq(SIGMOID[v])
            with m.If(facts["large"]):
                m.d.comb += sigmoid.eq(255)
        m.d.comb += result.eq(Mux(self.func == 2, sigmoid, clamped))
        return register(result, "result", 8)
