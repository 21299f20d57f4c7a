# SPDX-License-Identifier: BSD-2-Clause
"""Decoder outputs: the extent of an array, and the entries of both queues."""

from types import SimpleNamespace

from amaranth import Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.utils import exact_log2

from ....isa.parameters import Params
from ..types import type_set
from .commands import ConvKind
from .front.derived import Derived
from .records import DMAKind
from .scoreboard import Scoreboard

__all__ = ["KINDS", "SPAN_BITS", "TRANSFERS", "fill_entries", "span_of"]

TRANSFERS = {
    "ld.ifm": DMAKind.IFM,
    "ld.ker": DMAKind.KER,
    "ld.bias": DMAKind.BIAS,
    "store": DMAKind.STORE,
    "pad": DMAKind.PAD,
}
KINDS = {"conv": ConvKind.PLAIN, "conv.bias": ConvKind.BIAS, "conv.acc": ConvKind.ACC}
#: Bits of the extent of an array in units of 64 bytes.
SPAN_BITS = 22


def span_of(
    m: Module, params: Params, is_op: dict[str, Value], config: data.View, derived: Derived
) -> Signal:
    """Number of 64-byte units from the first to the last that a transfer touches, registered one
    cycle after its operands."""
    types = type_set(params)
    wide = exact_log2(types.ifm_bytes)
    # The last slot counts as far as its channels reach.
    last_ifm = Const(1, 2) if wide == 0 else Mux(config.ifm_c == 2, 2, 1)
    last_ofm = Const(1, 2) if wide == 0 else Mux(config.ofm_c == 6, 2, 1)
    # In halves of a unit: the smallest tap is 32 weights.
    halves, bias = Signal(13), Signal(3)
    m.d.comb += [
        halves.eq(
            (config.ker_n << (config.ifm_c + config.ofm_c - 1)[:3]) << exact_log2(types.ker_bytes)
        ),
        bias.eq(1),
    ]
    for k in range(1, 7):
        with m.If(config.ofm_c == k):
            m.d.comb += bias.eq(-(-(types.bias_bytes << k) // 64))
    spans = {
        "ld.ifm": (derived.ifm_slots << wide) + last_ifm,
        "store": (derived.out_slots << wide) + last_ofm,
        "pad": derived.map_slots << wide,
        "ld.ker": (halves + 1) >> 1,
        "ld.bias": bias,
    }
    span = Signal(SPAN_BITS)
    chosen = 0
    for name, value in spans.items():
        held = Signal(SPAN_BITS, name="span_of_" + name.replace(".", "_"), reset_less=True)
        m.d.sync += held.eq(value)
        chosen = chosen | held & is_op[name].replicate(SPAN_BITS)
    m.d.comb += span.eq(chosen)
    return span


def fill_entries(
    m: Module,
    *,
    conv: data.View,
    transfer: data.View,
    is_op: dict[str, Value],
    fields: dict[str, data.View],
    config: data.View,
    derived: Derived,
    board: Scoreboard,
    more: SimpleNamespace,
) -> None:
    """Fills the queue entries of a convolution and of a transfer from the current instruction and
    the configuration.

    Parameters
    ----------
    conv, transfer : payloads of the two streams (:func:`~.records.conv_entry`,
        :func:`~.records.dma_entry`)
    is_op, fields : dicts by mnemonic
    config, derived, board : :func:`~.front.derived.config_layout`,
        :class:`~.front.derived.Derived`, :class:`~.scoreboard.Scoreboard`
    more : namespace of ``pc``, ``word``, ``first`` (where the array begins),
        ``positions`` of ofm, ``ifm_total``, ``shift_f``, ``shift_b``, ``act``
    """
    f = fields["conv"]
    command = conv.command
    overwrites = ~is_op["conv.acc"]
    tap_row = Signal(len(conv.row), reset_less=True)
    m.d.sync += tap_row.eq(f.n << derived.tap_shift)
    m.d.comb += [
        conv.row.eq(board.kernel_row + tap_row),
        conv.positions.eq(more.positions),
        conv.at.eq(board.next_transfer),
        conv.tap.eq(f.n),
        conv.ker.eq(board.conv_ker),
        conv.load.eq(Mux(is_op["conv.bias"], board.conv_load_bias, board.conv_load)),
        conv.store.eq(Mux(overwrites, board.conv_store_overwrite, board.conv_store)),
        command.h.eq(f.h),
        command.w.eq(f.w),
        command.stride_h.eq(config.stride_h),
        command.stride_w.eq(config.stride_w),
        command.ifm_w.eq(config.ifm_w),
        command.ofm_h.eq(config.ofm_h),
        command.ofm_w.eq(config.ofm_w),
        command.ifm_c.eq(config.ifm_c),
        command.ofm_c.eq(config.ofm_c),
        command.ifm_bank.eq(board.ifm_bank),
        command.ofm_bank.eq(Mux(overwrites, board.overwrite_bank, board.ofm_bank)),
        command.bias_copy.eq(board.bias_copy),
        command.ifm_shift.eq(more.shift_f),
        command.bias_shift.eq(more.shift_b),
    ]
    for name, kind in KINDS.items():
        with m.If(is_op[name]):
            m.d.comb += command.kind.eq(kind)

    t, post = transfer, transfer.post
    width = config.ofm_mem_w
    m.d.comb += [
        t.pc.eq(more.pc),
        t.word.eq(more.word),
        t.unit.eq(more.first),
        t.number.eq(board.next_transfer),
        t.at.eq(board.next_conv),
        t.rows.eq(derived.out_h),
        t.columns.eq(derived.out_w),
        t.mem_w.eq(width),
        t.total.eq(more.ifm_total),
        t.p.eq(fields["pad"].p),
        t.taps.eq(config.ker_n - 1),
        t.row.eq(board.next_kernel_row),
        t.conv.eq(board.store_conv),
        t.bank.eq(board.next_ifm_bank),
        post.ofm_h.eq(config.ofm_h),
        post.ofm_w.eq(config.ofm_w),
        post.ofm_c.eq(config.ofm_c),
        post.act.eq(more.act),
        post.order.eq(config.order),
        post.add_ifm.eq(config.add_ifm),
        post.pool_h.eq(config.pool_h),
        post.pool_w.eq(config.pool_w),
        post.pool_h_stride.eq(config.pool_i),
        post.pool_w_stride.eq(config.pool_j),
        post.out_h.eq(derived.out_h + 1),
        post.out_w.eq(derived.out_w + 1),
        post.ofm_bank.eq(board.ofm_bank),
        post.ifm_bank.eq(board.ifm_bank),
        post.ifm_w.eq(config.ifm_w),
        post.ifm_c.eq(config.ifm_c),
    ]
    for name, kind in TRANSFERS.items():
        with m.If(is_op[name]):
            m.d.comb += t.kind.eq(kind)
    with m.If(is_op["ld.ifm"]):
        m.d.comb += [
            t.rows.eq(config.ifm_h - 1),
            t.columns.eq(config.ifm_w - 1),
            t.mem_w.eq(config.ifm_mem_w),
            t.conv.eq(board.ifm_conv),
        ]
    with m.If(is_op["ld.ker"]):
        m.d.comb += t.conv.eq(board.ker_conv)
    with m.If(is_op["ld.bias"]):
        m.d.comb += [t.conv.eq(board.bias_conv), t.bank.eq(board.next_bias_copy)]
    with m.If(is_op["pad"]):
        m.d.comb += [t.rows.eq(config.ofm_mem_h - 1), t.columns.eq(width - 1), t.conv.fresh.eq(0)]
