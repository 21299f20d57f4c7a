# SPDX-License-Identifier: BSD-2-Clause
"""Derived configuration: products of configuration registers, computed in the background so that no
check needs a multiplication."""

from amaranth import Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .....isa.parameters import Params
from .....parts.datapath import without_reset
from ...isa import MAX_TAPS

__all__ = ["Derived", "config_layout"]

#: Cycles after which the numbers that take one or two steps stand.
SETTLE = 3
_PRODUCT = 9  # cycles from a change to a product of 7 bits
_WIDE_PRODUCT = 12  # ... of 10 bits


def config_layout() -> data.StructLayout:
    """Layout of the registers of section 2.1 from which others are derived."""
    return data.StructLayout(
        {
            "ifm_h": 7,
            "ifm_w": 7,
            "ifm_c": 2,
            "ofm_h": 7,
            "ofm_w": 7,
            "ofm_c": 3,
            "ker_n": 6,
            "stride_h": 3,
            "stride_w": 3,
            "ifm_mem_w": 10,
            "ofm_mem_h": 10,
            "ofm_mem_w": 10,
            "order": 2,
            "add_ifm": 1,
            "pool_h": 4,
            "pool_w": 4,
            "pool_i": 3,
            "pool_j": 3,
        }
    )


class Derived(wiring.Component):
    """Derived configuration: registered functions of the configuration.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    config : In(:func:`config_layout`)
    touched : In, a bit each for what changes at the end of this cycle:
        ``ifm`` (of ``ifm_slots``), ``out`` (of what store writes), ``map`` (of ``map_slots``),
        ``any``
    settled : Out, those without a ``ready`` stand
    top, left : Out, signed: greatest h and w of a legal ``conv``
    tap_shift : Out, log2 of the ring rows of a tap
    kernel_rows, kernel_large, kernel_too_long : Out: rows of the kernel, breach of the volume rule,
    more rows than the ring has
    pool_tall, pool_wide : Out, the window is larger than ofm
    ifm_slots : Out, slots from the first to the last of ``ld.ifm``, less one; ``ifm_ready``
    out_h, out_w : Out, rows and columns that store writes, less one;
        out_slots as ifm_slots; ``out_ready``
    tall, wide, deep : Out, what the residual is added to has more rows, columns,
        channels than ifm (stands with ``out_ready``)
    map_slots : Out, slots of the map in memory; ``map_ready``
    """

    def __init__(self, *, params: Params) -> None:
        self.params = params
        super().__init__(
            {
                "config": In(config_layout()),
                "touched": In(data.StructLayout({"ifm": 1, "out": 1, "map": 1, "any": 1})),
                "settled": Out(1),
                "top": Out(signed(11)),
                "left": Out(signed(11)),
                "tap_shift": Out(4),
                "kernel_rows": Out(range(MAX_TAPS * 1024 + 1)),
                "kernel_large": Out(1),
                "kernel_too_long": Out(1),
                "pool_tall": Out(1),
                "pool_wide": Out(1),
                "ifm_slots": Out(17),
                "ifm_ready": Out(1),
                "out_h": Out(7),
                "out_w": Out(7),
                "out_slots": Out(17),
                "out_ready": Out(1),
                "tall": Out(1),
                "wide": Out(1),
                "deep": Out(1),
                "map_slots": Out(20),
                "map_ready": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c, p = self.config, self.params
        pi_log, po_log = exact_log2(p["pi"]), exact_log2(p["po"])

        def age(name, touched, ready):
            """Cycles since the last change, and whether they have reached ``ready``."""
            count = Signal(range(ready + 1), name=f"{name}_age", init=ready)
            with m.If(touched):
                m.d.sync += count.eq(0)
            with m.Elif(count != ready):
                m.d.sync += count.eq(count + 1)
            return count, count == ready

        # None of them is looked at before it has had its time, so none needs a reset.
        (
            top,
            left_edge,
            tap_shift,
            kernel_rows,
            kernel_large,
            kernel_too_long,
            pool_tall,
            pool_wide,
            ifm_slots,
            map_slots,
            out_h,
            out_w,
            out_slots,
            tall,
            wide,
            deep,
        ) = (
            without_reset(m, member)
            for member in (
                self.top,
                self.left,
                self.tap_shift,
                self.kernel_rows,
                self.kernel_large,
                self.kernel_too_long,
                self.pool_tall,
                self.pool_wide,
                self.ifm_slots,
                self.map_slots,
                self.out_h,
                self.out_w,
                self.out_slots,
                self.tall,
                self.wide,
                self.deep,
            )
        )

        # One or two steps
        _, settled = age("any", self.touched.any, SETTLE)
        m.d.comb += self.settled.eq(settled)
        for last, size, count, stride in (
            (top, c.ifm_h, c.ofm_h, c.stride_h),
            (left_edge, c.ifm_w, c.ofm_w, c.stride_w),
        ):
            span = Signal(10, name="span", reset_less=True)
            before = Signal(7, name="before")
            m.d.comb += before.eq(count - 1)
            m.d.sync += [
                span.eq(
                    Mux(stride[0], before, 0)
                    + Mux(stride[1], before << 1, 0)
                    + Mux(stride[2], before << 2, 0)
                ),
                last.eq(size - 1 - span),
            ]
        groups_log = Signal(3)
        volume_log = Signal(4, reset_less=True)  # log2 of ifm_c * ofm_c, less 10, 0 at least
        rows = Signal.like(self.kernel_rows)
        m.d.comb += groups_log.eq(Mux(c.ofm_c > po_log, c.ofm_c - po_log, 0))
        volume = Signal(5)
        m.d.comb += volume.eq(c.ifm_c + c.ofm_c + 4)
        m.d.sync += [
            tap_shift.eq(c.ifm_c + groups_log + (4 - pi_log)),
            volume_log.eq(Mux(volume > 10, volume - 10, 0)),
            kernel_rows.eq(rows),
            kernel_too_long.eq(rows > p["ker_rows"]),
            kernel_large.eq((c.ker_n << volume_log) > MAX_TAPS),
            pool_tall.eq(c.pool_h > c.ofm_h),
            pool_wide.eq(c.pool_w > c.ofm_w),
        ]
        m.d.comb += rows.eq(c.ker_n << self.tap_shift)

        # rows * slots of a row + columns, bit by bit
        def product(name, load, rows, slots, columns, result):
            left = Signal.like(rows, name=f"{name}_rows", reset_less=True)
            shifted = Signal(len(result), name=f"{name}_slots", reset_less=True)
            with m.If(load):
                m.d.sync += [left.eq(rows), shifted.eq(slots), result.eq(columns)]
            with m.Else():
                m.d.sync += [left.eq(left >> 1), shifted.eq(shifted << 1)]
                with m.If(left[0]):
                    m.d.sync += result.eq(result + shifted)

        def less_one(value, name):
            result = Signal(len(value), name=name)
            m.d.comb += result.eq(value - 1)
            return result

        ifm_age, ifm_ready = age("ifm", self.touched.ifm, _PRODUCT)
        product(
            "ifm",
            ifm_age == 0,
            less_one(c.ifm_h, "ifm_rows_1"),
            c.ifm_mem_w,
            less_one(c.ifm_w, "ifm_w_1"),
            ifm_slots,
        )
        map_age, map_ready = age("map", self.touched.map, _WIDE_PRODUCT)
        product("map", map_age == 0, c.ofm_mem_h, c.ofm_mem_w, Const(0, 1), map_slots)

        # What store writes: a division, then a product
        out_age, out_ready = age("out", self.touched.out, 2 * _PRODUCT)
        for size, window, stride, result in (
            (c.ofm_h, c.pool_h, c.pool_i, out_h),
            (c.ofm_w, c.pool_w, c.pool_j, out_w),
        ):
            left, rest = (
                Signal(7, name="dividend", reset_less=True),
                Signal(4, name="rest", reset_less=True),
            )
            trial, fits = Signal(4, name="trial"), Signal(name="fits")
            m.d.comb += [trial.eq((rest << 1) | left[-1]), fits.eq(trial >= stride)]
            with m.If(out_age == 0):
                m.d.sync += [left.eq(size - window), rest.eq(0)]
            with m.Elif(out_age < 8):
                m.d.sync += [
                    left.eq(left << 1),
                    rest.eq(Mux(fits, trial - stride, trial)),
                    result.eq((result << 1) | fits),
                ]
        product("out", out_age == _PRODUCT, out_h, c.ofm_mem_w, out_w, out_slots)
        m.d.comb += [
            self.ifm_ready.eq(ifm_ready),
            self.out_ready.eq(out_ready),
            self.map_ready.eq(map_ready),
        ]
        last = c.order == 2
        m.d.sync += [
            tall.eq(Mux(last, out_h + 1, c.ofm_h) > c.ifm_h),
            wide.eq(Mux(last, out_w + 1, c.ofm_w) > c.ifm_w),
            deep.eq(c.ofm_c > c.ifm_c + 4),
        ]
        return m
