# SPDX-License-Identifier: BSD-2-Clause
"""Scoreboard between convolutions and transfers: tracks instructions in flight, banks, and the
kernel ring (section 9).

Convolutions go in order, and so do transfers; each kind is numbered. It gives the decoder the
current instruction's dependencies on the other queue:

============  ======================================================================================
conv          the load of ifm; the load of bias (``conv.bias``); its tap of the kernel; the last
              store that read the bank of ofm it writes; a store that reads ifm through the port it
              needs
ld.ifm        with two banks: the convolutions older than the last ``ld.ifm`` (they alone read the
              other bank); else all
ld.bias       the convolutions older than the last ``ld.bias``: there are two copies
ld.ker        the convolutions older than the last ``ld.ker``, whose rows it may overwrite; all of
              them where the ring does not hold the current kernel and the new one together
store         all convolutions
pad           none
============  ======================================================================================

Among transfers nothing needs to be said: they are done in program order.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ....isa.parameters import Params
from ....parts.datapath import without_reset
from .records import NUMBER_BITS, need_layout, row_bits

__all__ = ["Scoreboard"]


class Scoreboard(wiring.Component):
    """Scoreboard: computes the dependencies of the next instruction, and tracks the units'
    progress.

    The outputs stand two cycles after the last change; the decoder looks at most every other cycle.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    released, finished : In, one cycle: the oldest transfer,
        the oldest convolution need no longer be waited for
    released_count, finished_count : Out, of these since the start, modulo
    next_transfer, next_conv : Out, numbers the next ones get
    push_conv, push_ifm, push_ker, push_bias, push_store, push_pad : In, one cycle: the decoder
    hands over one of these
    overwrites : In, with ``push_conv``: it is not a ``conv.acc``
    residual : In, with ``push_store``
    kernel_rows : In, rows of the ring that a ``ld.ker`` now would take
    ifm_bank, next_ifm_bank : Out, of ifm: in use, and where the next load goes;
        bias_copy, next_bias_copy alike
    ofm_bank, overwrite_bank : Out, bank of ofm: in use,
        and where a ``conv`` or ``conv.bias`` writes
    kernel_row, next_kernel_row : Out, first row of the kernel in use, and of the next
    conv_load, conv_load_bias, conv_ker : Out, needs of a convolution: without and with bias,
        and its kernel
    conv_store, conv_store_overwrite : Out, ... for its bank of ofm, of a ``conv.acc`` and of others
    ifm_conv, bias_conv, ker_conv, store_conv : Out, needs of transfers
    """

    def __init__(self, *, params: Params) -> None:
        self.params = params
        need, bank, row, number = need_layout(), 1, row_bits(params), NUMBER_BITS
        super().__init__(
            {
                "released": In(1),
                "finished": In(1),
                "released_count": Out(number),
                "finished_count": Out(number),
                "next_transfer": Out(number),
                "next_conv": Out(number),
                "push_conv": In(1),
                "push_ifm": In(1),
                "push_ker": In(1),
                "push_bias": In(1),
                "push_store": In(1),
                "push_pad": In(1),
                "overwrites": In(1),
                "residual": In(1),
                "kernel_rows": In(row + 1),
                "ifm_bank": Out(bank),
                "next_ifm_bank": Out(bank),
                "bias_copy": Out(bank),
                "next_bias_copy": Out(bank),
                "ofm_bank": Out(bank),
                "overwrite_bank": Out(bank),
                "kernel_row": Out(row),
                "next_kernel_row": Out(row),
                "conv_load": Out(need),
                "conv_load_bias": Out(need),
                "conv_ker": Out(need),
                "conv_store": Out(need),
                "conv_store_overwrite": Out(need),
                "ifm_conv": Out(need),
                "bias_conv": Out(need),
                "ker_conv": Out(need),
                "store_conv": Out(need),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = self.params
        transfer = Signal()
        m.d.comb += transfer.eq(
            self.push_ifm | self.push_ker | self.push_bias | self.push_store | self.push_pad
        )
        m.d.sync += [
            self.released_count.eq(self.released_count + self.released),
            self.finished_count.eq(self.finished_count + self.finished),
            self.next_transfer.eq(self.next_transfer + transfer),
            self.next_conv.eq(self.next_conv + self.push_conv),
        ]

        # A record remembers an instruction until it is over, so that its number never grows stale.
        def record(name, over, count):
            it = Signal(need_layout(), name=name)
            with m.If(over & (it.number == count)):
                m.d.sync += it.fresh.eq(0)
            return it

        def of_transfer(name):
            return record(name, self.released, self.released_count)

        def of_conv(name):
            return record(name, self.finished, self.finished_count)

        def take(it, number):
            m.d.sync += [it.fresh.eq(1), it.number.eq(number)]

        def copy(target, source):
            """Value of ``source`` after this cycle."""
            m.d.sync += [
                target.number.eq(source.number),
                target.fresh.eq(
                    source.fresh & ~(self.finished & (source.number == self.finished_count))
                ),
            ]

        def younger(result, one, other):
            result = without_reset(m, result)
            distance = Signal(NUMBER_BITS, name="distance")
            m.d.comb += distance.eq(one.number - other.number)
            m.d.sync += [
                result.fresh.eq(one.fresh | other.fresh),
                result.number.eq(
                    Mux(one.fresh & ~(other.fresh & distance[-1]), one.number, other.number)
                ),
            ]

        last = of_conv("last_conv")  # the last convolution of all
        with m.If(self.push_conv):
            take(last, self.next_conv)
        before_ifm, before_bias, before_ker = (
            of_conv("before_ifm"),
            of_conv("before_bias"),
            of_conv("before_ker"),
        )
        loaded_ifm, loaded_bias, loaded_ker = (
            of_transfer("loaded_ifm"),
            of_transfer("loaded_bias"),
            of_transfer("loaded_ker"),
        )
        for push, before, loaded in (
            (self.push_ifm, before_ifm, loaded_ifm),
            (self.push_bias, before_bias, loaded_bias),
            (self.push_ker, before_ker, loaded_ker),
        ):
            with m.If(push):
                copy(before, last)
                take(loaded, self.next_transfer)

        # ifm and bias
        m.d.comb += self.next_ifm_bank.eq(~self.ifm_bank if p["ifm_banks"] == 2 else 0)
        m.d.comb += self.next_bias_copy.eq(~self.bias_copy)
        with m.If(self.push_ifm):
            m.d.sync += self.ifm_bank.eq(self.next_ifm_bank)
        with m.If(self.push_bias):
            m.d.sync += self.bias_copy.eq(self.next_bias_copy)
        m.d.comb += [
            self.ifm_conv.eq(before_ifm if p["ifm_banks"] == 2 else last),
            self.bias_conv.eq(before_bias),
            self.store_conv.eq(last),
            self.conv_load.eq(loaded_ifm),
            self.conv_ker.eq(loaded_ker),
        ]
        younger(self.conv_load_bias, loaded_ifm, loaded_bias)

        # The kernel ring
        rows, size = p["ker_rows"], Signal(range(p["ker_rows"] + 1))
        end = Signal(range(2 * rows), reset_less=True)
        both = Signal(reset_less=True)
        next_row = without_reset(m, self.next_kernel_row)
        m.d.sync += [
            end.eq(self.kernel_row + size),
            next_row.eq(Mux(end >= rows, end - rows, end)),
            both.eq(size + self.kernel_rows <= rows),
        ]
        m.d.comb += self.ker_conv.eq(Mux(both, before_ker, last))
        with m.If(self.push_ker):
            m.d.sync += [self.kernel_row.eq(self.next_kernel_row), size.eq(self.kernel_rows)]

        # Banks of ofm: the first convolution after a store that does not accumulate takes the other
        # one.
        stored = Signal()
        reads = [of_transfer(f"store_{bank}") for bank in range(p["ofm_banks"])]
        residual = of_transfer("residual")
        m.d.comb += self.overwrite_bank.eq(self.ofm_bank ^ stored if p["ofm_banks"] == 2 else 0)
        with m.If(self.push_store):
            m.d.sync += stored.eq(1)
            for bank, read in enumerate(reads):
                with m.If(self.ofm_bank == bank):
                    take(read, self.next_transfer)
            with m.If(self.residual):
                take(residual, self.next_transfer)
        with m.Elif(self.push_conv & self.overwrites):
            m.d.sync += [stored.eq(0), self.ofm_bank.eq(self.overwrite_bank)]
        with m.If(self.push_ifm):
            # The next convolution reads another bank, or one that is loaded after that store.
            m.d.sync += residual.fresh.eq(0)
        of_bank = [Signal(need_layout(), name=f"reads_{k}") for k in range(2)]
        for chosen, bank in zip(of_bank, (self.ofm_bank, self.overwrite_bank), strict=True):
            m.d.comb += chosen.eq(Mux(bank, reads[1], reads[0]) if len(reads) == 2 else reads[0])
        younger(self.conv_store, of_bank[0], residual)
        younger(self.conv_store_overwrite, of_bank[1], residual)
        return m
