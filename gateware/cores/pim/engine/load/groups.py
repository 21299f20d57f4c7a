# SPDX-License-Identifier: BSD-2-Clause
"""Group tables written by LOAD: entries for the processor, array ids and biases for the matrix
unit (specification, 3.6)."""

from amaranth import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .....arguments import check_family
from .....isa.parameters import Params
from .....primitives.bram import BlockRAM
from ..commands import (
    bias_bits,
    bias_layout,
    group_bits,
    group_layout,
    group_write_layout,
    ids_layout,
    ids_write_layout,
)

__all__ = ["GroupStore"]


class GroupStore(wiring.Component):
    """Group store with three memories: group entries; sixteen array ids per group with the index of
    its biases; and biases.

    Written only while no program runs; contents are zero after configuration and kept over resets.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    family : as the primitives'

    Members
    -------
    group_write, ids_write, bias_write : In: see :mod:`~..commands`; one each a cycle
    group : In; entry : Out, one cycle later: a group's entry for the processor
    ids_group, ids_index : In; ids : Out, one cycle later
    bias_address : In; bias : Out, two cycles later (0 without a bias store)
    """

    def __init__(self, *, params: Params, family: str | None = None) -> None:
        check_family(family)
        self.params, self.family = params, family
        super().__init__(
            {
                "group_write": In(group_write_layout(params)),
                "ids_write": In(ids_write_layout(params)),
                "bias_write": In(bias_layout(params)),
                "group": In(group_bits(params)),
                "entry": Out(group_layout()),
                "ids_group": In(group_bits(params)),
                "ids_index": In(4),
                "ids": Out(ids_layout(params)),
                "bias_address": In(bias_bits(params)),
                "bias": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()

        def ram(name, write, address, value, read, latency):
            m.submodules[name] = memory = BlockRAM(
                width=len(value), depth=1 << len(address), latency=latency, family=self.family
            )
            m.d.comb += [
                memory.write_en.eq(write.valid),
                memory.write_addr.eq(address),
                memory.write_data.eq(value),
                memory.read_addr.eq(read),
            ]
            return memory.read_data

        write = self.group_write
        m.d.comb += self.entry.eq(
            ram("entries", write, write.group, write.entry.as_value(), self.group, 1)
        )
        write = self.ids_write
        m.d.comb += self.ids.eq(
            ram(
                "ids_memory",
                write,
                Cat(write.index, write.group),
                write.ids.as_value(),
                Cat(self.ids_index, self.ids_group),
                1,
            )
        )
        if self.params["bias_words"]:
            write = self.bias_write
            m.d.comb += self.bias.eq(
                ram("biases", write, write.address, write.data, self.bias_address, 2)
            )
        return m
