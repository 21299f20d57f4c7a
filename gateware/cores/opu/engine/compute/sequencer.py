# SPDX-License-Identifier: BSD-2-Clause
"""Convolution sequencer: loops over groups of output channels, positions, and blocks of pi input
channels."""

from amaranth import Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from .....isa.parameters import Params
from .....parts.datapath import Countdown, narrowest, small_product
from ..commands import ConvKind, conv_layout, row_bits
from .biasterms import BiasTerms
from .rounding import RoundingBits

__all__ = ["ConvSequencer", "step_layout"]


def line_bits(params: Params) -> int:
    """Width of a line number of ``ifm``, in lines of pi elements."""
    return ceil_log2(params["ifm_lines"] * 16 // params["pi"])


def step_layout(params: Params) -> data.StructLayout:
    """Layout of a pipeline step: first and last block of a sum; first step of a group, last of a
    command; the rounder's shift; the line of the result."""
    return data.StructLayout(
        {
            "first": 1,
            "last": 1,
            "group": 1,
            "command": 1,
            "kind": ConvKind,
            "shift": RoundingBits.of(params).shift,
            "ofm_bank": 1,
            "ofm_line": ceil_log2(params["ofm_lines"]),
        }
    )


class ConvSequencer(wiring.Component):
    """Convolution sequencer: prepares one command while another runs, and issues one step per
    cycle.

    Two stages prepare a command: products, then sums, constants and, for ``conv.bias``, the first
    group's terms. A prepared command follows the one before it without a gap. Waits: ``conv.acc``
    for lines of a predecessor of less than ``turnaround`` steps, ``conv.bias`` for the terms of a
    group.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    terms : BiasTerms
    turnaround : int, at most 8
        Least cycles from a step to another that may read the line it makes.

    Members
    -------
    clear : In
    command : In(stream), see :func:`~..commands.conv_layout`; one in two cycles at most
    terms_command : Out(stream); terms_ready, terms_take :
        the same of :class:`~.biasterms.BiasTerms`
    step : Out; the unit makes a step in this cycle, of which ``ifm_bank``, ``ifm_line``,
        ``row`` and ``info`` tell: Out
    active : Out: a command is being prepared or run
    """

    def __init__(self, *, params: Params, terms: BiasTerms, turnaround: int) -> None:
        assert isinstance(terms, BiasTerms) and 1 <= turnaround <= 8
        self.params, self.turnaround = params, turnaround
        super().__init__(
            {
                "clear": In(1),
                "command": In(stream.Signature(conv_layout(params))),
                "terms_command": Out(stream.Signature(terms.command_shape)),
                "terms_ready": In(1),
                "terms_take": Out(1),
                "step": Out(1),
                "ifm_bank": Out(1),
                "ifm_line": Out(line_bits(params)),
                "row": Out(row_bits(params)),
                "info": Out(step_layout(params)),
                "active": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        given, ready, go = self._prepare(m)
        params = self.params
        running, blocked, end = Signal(), Signal(), Signal()
        final = Signal(reset_less=True)  # the next step is the command's last
        m.d.comb += [
            self.step.eq(running & ~blocked),
            go.eq(ready & (~running | end) & ~self.clear),
            self.active.eq(running | given),
        ]

        # The running command.
        run = Signal.like(self.ready_command, name="run", reset_less=True)
        line, row_line = (
            Signal(line_bits(params), reset_less=True),
            Signal(line_bits(params), reset_less=True),
        )
        kernel, kernel_base = (
            Signal(row_bits(params), reset_less=True),
            Signal(row_bits(params), reset_less=True),
        )
        chunk, last_chunk = Signal(4, reset_less=True), Signal(reset_less=True)
        group = Signal(6, reset_less=True)
        ofm_line = Signal.like(self.info.ofm_line, reset_less=True)
        group_begins = Signal(reset_less=True)
        columns, rows, groups = (
            Countdown(m, 7, "columns"),
            Countdown(m, 7, "rows"),
            Countdown(m, 6, "groups"),
        )
        # What a step may have to wait for: a conv.acc's first one for lines, that of each group of
        # a conv.bias for its terms.
        acc_begins, bias_begins = Signal(reset_less=True), Signal(reset_less=True)

        ring = params["ker_rows"]
        next_kernel, next_group = Signal.like(kernel), Signal.like(group)
        m.d.comb += [
            next_kernel.eq(
                kernel + 1 if ring == 1 << len(kernel) else Mux(kernel == ring - 1, 0, kernel + 1)
            ),
            next_group.eq(group + 1),
            end.eq(self.step & final),
        ]
        with m.If(self.step):
            m.d.sync += [
                chunk.eq(chunk + 1),
                kernel.eq(next_kernel),
                group_begins.eq(0),
                bias_begins.eq(0),
                acc_begins.eq(0),
            ]
            if self.chunks > 1:
                last_but_one = chunk + 1 == run.chunks
                m.d.sync += [
                    last_chunk.eq(run.one_chunk | last_but_one),
                    final.eq(last_but_one & columns.last & rows.last & groups.last),
                ]
            with m.If(last_chunk):
                m.d.sync += [chunk.eq(0), last_chunk.eq(run.one_chunk), kernel.eq(kernel_base)]
                columns.step()
                m.d.sync += [
                    line.eq(line + run.line_step),
                    ofm_line.eq(ofm_line + run.ofm_step),
                    final.eq(run.one_chunk & columns.next_last & rows.last & groups.last),
                ]
                with m.If(columns.last):
                    columns.load(run.columns, run.one_column)
                    rows.step()
                    m.d.sync += [
                        line.eq(row_line + run.row_step),
                        row_line.eq(row_line + run.row_step),
                        final.eq(run.one_chunk & run.one_column & rows.next_last & groups.last),
                    ]
                    with m.If(rows.last):
                        rows.load(run.rows, run.one_row)
                        groups.step()
                        m.d.sync += [
                            line.eq(run.line),
                            row_line.eq(run.line),
                            ofm_line.eq(next_group),
                            group.eq(next_group),
                            group_begins.eq(1),
                            bias_begins.eq(run.is_bias),
                            final.eq(
                                run.one_chunk & run.one_column & run.one_row & groups.next_last
                            ),
                            kernel.eq(next_kernel),
                            kernel_base.eq(next_kernel),
                        ]
                        with m.If(groups.last):
                            m.d.sync += running.eq(0)

        # conv.acc reads a line that the command before it may still have on its way. Its first step
        # comes `turnaround` cycles after that one's first step, or, where it has fewer chunks to a
        # line, after that one's last; and after the first step of each group of a conv.bias, which
        # may have waited.
        command_begins, hot, left = (
            Signal(reset_less=True),
            Signal(),
            Signal(range(self.turnaround + 1), reset_less=True),
        )
        with m.If(self.step & (group_begins & command_begins | bias_begins)):
            m.d.sync += [left.eq(self.turnaround - 1), hot.eq(self.turnaround > 1)]
        with m.Elif(hot):
            m.d.sync += [left.eq(left - 1), hot.eq(left != 1)]
        with m.If(self.step):
            m.d.sync += command_begins.eq(0)
        m.d.comb += [
            blocked.eq(acc_begins & hot | bias_begins & ~self.terms_ready),
            self.terms_take.eq(self.step & bias_begins),
        ]
        with m.If(go):
            command = self.ready_command
            columns.load(command.columns, command.one_column)
            rows.load(command.rows, command.one_row)
            groups.load(command.groups, command.one_group)
            m.d.sync += [
                acc_begins.eq(command.kind == ConvKind.ACC),
                bias_begins.eq(command.is_bias),
                final.eq(
                    command.one_chunk & command.one_column & command.one_row & command.one_group
                ),
                running.eq(1),
                run.eq(command),
                line.eq(command.line),
                row_line.eq(command.line),
                kernel.eq(command.kernel),
                kernel_base.eq(command.kernel),
                chunk.eq(0),
                last_chunk.eq(command.one_chunk),
                group.eq(0),
                ofm_line.eq(0),
                group_begins.eq(1),
                command_begins.eq(1),
            ]
            with m.If(command.chunks < run.chunks):
                m.d.sync += [left.eq(self.turnaround - 1), hot.eq(self.turnaround > 1)]
        with m.If(self.clear):
            m.d.sync += running.eq(0)

        m.d.comb += [
            self.ifm_bank.eq(run.ifm_bank),
            self.ifm_line.eq(line | chunk),
            self.row.eq(kernel),
            self.info.first.eq(chunk == 0),
            self.info.last.eq(last_chunk),
            self.info.group.eq(group_begins),
            self.info.command.eq(final),
            self.info.kind.eq(run.kind),
            self.info.shift.eq(run.shift),
            self.info.ofm_bank.eq(run.ofm_bank),
            self.info.ofm_line.eq(ofm_line),
        ]
        return m

    def _prepare(self, m):
        """Two preparation stages. Returns whether either holds a command, ``ready_command`` when it
        is complete, and a signal for its acceptance (driven by the caller)."""
        params = self.params
        pi, po = exact_log2(params["pi"]), exact_log2(params["po"])
        self.chunks = 64 // params["pi"]
        bits = RoundingBits.of(params)
        taken, whole, go = Signal(), Signal(), Signal()

        # First stage: products.
        command = Signal(conv_layout(params), reset_less=True)
        rows_above, rows_between = Signal(11, reset_less=True), Signal(10, reset_less=True)
        entering = self.command.payload
        m.d.comb += self.command.ready.eq(~taken)
        with m.If(self.command.valid & ~taken):
            m.d.sync += [
                taken.eq(1),
                command.eq(entering),
                rows_above.eq(small_product(entering.ifm_w, entering.h)),
                rows_between.eq(small_product(entering.ifm_w, entering.stride_h)),
            ]

        # Second stage: everything the steps need.
        self.ready_command = out = Signal(
            data.StructLayout(
                {
                    "kind": ConvKind,
                    "line": line_bits(params),
                    "line_step": line_bits(params),
                    "row_step": line_bits(params),
                    "kernel": row_bits(params),
                    "chunks": 4,
                    "one_chunk": 1,
                    "columns": 7,
                    "one_column": 1,
                    "rows": 7,
                    "one_row": 1,
                    "groups": 6,
                    "one_group": 1,
                    "is_bias": 1,
                    "ofm_step": 7,
                    "shift": bits.shift,
                    "ifm_bank": 1,
                    "ofm_bank": 1,
                }
            ),
            reset_less=True,
        )
        bias = Signal(self.terms_command.payload.shape(), reset_less=True)
        asked = Signal()
        lines = Signal(3)
        groups = Signal(3)
        m.d.comb += [
            lines.eq(command.ifm_c + (4 - pi)),
            groups.eq(Mux(command.ofm_c > po, command.ofm_c - po, 0)),
        ]
        shift = bits.left - Mux(
            command.ifm_shift > bits.left,
            bits.left,
            Mux(command.ifm_shift < -bits.right, -bits.right, command.ifm_shift),
        )
        with m.If(taken & ~whole):
            m.d.sync += [
                taken.eq(0),
                whole.eq(1),
                asked.eq(0),
                out.kind.eq(command.kind),
                out.line.eq((rows_above + command.w) << lines),
                out.line_step.eq(command.stride_w << lines),
                out.row_step.eq(rows_between << lines),
                out.kernel.eq(command.row),
                out.chunks.eq((1 << lines) - 1),
                out.one_chunk.eq(lines == 0),
                out.columns.eq(command.ofm_w - 1),
                out.one_column.eq(command.ofm_w == 1),
                out.rows.eq(command.ofm_h - 1),
                out.one_row.eq(command.ofm_h == 1),
                out.groups.eq((1 << groups) - 1),
                out.one_group.eq(groups == 0),
                out.is_bias.eq(command.kind == ConvKind.BIAS),
                out.ofm_step.eq(Const(1, 7) << groups),
                out.shift.eq(shift),
                out.ifm_bank.eq(command.ifm_bank),
                out.ofm_bank.eq(command.ofm_bank),
                bias.ifm_shift.eq(command.ifm_shift),
                bias.bias_shift.eq(command.bias_shift),
                bias.copy.eq(command.bias_copy),
                bias.groups.eq(narrowest(groups, 3)),
            ]
        with m.If(go):
            m.d.sync += whole.eq(0)
        is_bias = out.is_bias
        m.d.comb += [
            self.terms_command.valid.eq(whole & is_bias & ~asked),
            self.terms_command.payload.eq(bias),
        ]
        with m.If(self.terms_command.valid & self.terms_command.ready):
            m.d.sync += asked.eq(1)
        with m.If(self.clear):
            m.d.sync += [taken.eq(0), whole.eq(0)]
        return taken | whole, whole & (~is_bias | asked), go
