# SPDX-License-Identifier: BSD-2-Clause
"""Memories of the small engine: local memory, biases and the table of vtanh, accessed by bytes;
weights, two columns at a time."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ....isa.parameters import Params
from ....primitives.bram import BlockRAM
from ....primitives.spram import SPRAM
from ..params import weight_bytes
from ..tables import TANH
from .instructions import ARRAYS_AT, BIAS_AT, REGION_BITS, TABLE_AT, scratch_at

__all__ = ["Store", "spram_blocks"]

_BLOCK = 2 * SPRAM.WORDS
#: More bytes than these are SPRAM's.
_MOST_IN_BLOCK_RAM = 8192


def spram_blocks(params: Params) -> list[int]:
    """Number of SPRAM blocks for local memory, and for the weights."""
    return [
        0 if size <= _MOST_IN_BLOCK_RAM else -(-size // _BLOCK)
        for size in (params["lmem_bytes"], weight_bytes(params))
    ]


class Store(wiring.Component):
    """Memories of the small engine at the addresses of :mod:`.instructions`.

    Members
    -------
    address : In, 18 bits; read : Out, 8 bits, a cycle later, but for weights
    write, data : In: a byte, at ``address``; nothing is read in this cycle
    row : In, 16 bits: byte address among the weights, even; weights : Out, 16 bits, a cycle later
    """

    def __init__(self, *, params: Params, family: str | None = None) -> None:
        self.params, self.family = params, family
        super().__init__(
            {
                "address": In(REGION_BITS + 2),
                "read": Out(8),
                "write": In(1),
                "data": In(8),
                "row": In(REGION_BITS),
                "weights": Out(16),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        params, address = self.params, self.address
        region, was = address[REGION_BITS:], Signal(2)
        m.d.sync += was.eq(region)
        local, weights = spram_blocks(params)
        if self.family == "ecp5":
            local = weights = 0
        odd = Signal()
        m.d.sync += odd.eq(address[0])
        here = self.write & (region == 0)
        if local:
            word = self._sprams(m, "local", local, address[1:REGION_BITS], here)
            lmem = word.word_select(odd, 8)
        else:
            lmem = self._bytes(m, "local", params["lmem_bytes"], address, address, here)
        there = self.write & (region == ARRAYS_AT >> REGION_BITS)
        if weights:
            m.d.comb += self.weights.eq(
                self._sprams(
                    m, "weights", weights, Mux(there, address, self.row)[1:REGION_BITS], there
                )
            )
        else:
            half = weight_bytes(params) // 2
            m.d.comb += self.weights.eq(
                Cat(
                    self._bytes(
                        m,
                        f"weights_{k}",
                        half,
                        address[1:],
                        self.row[1:],
                        there & (address[0] == k),
                    )
                    for k in range(2)
                )
            )
        biases = self._bytes(
            m,
            "biases",
            scratch_at(params) - BIAS_AT + 4,
            address,
            address,
            self.write & (region == BIAS_AT >> REGION_BITS),
        )
        m.d.comb += self.read.eq(Mux(was[1], biases, lmem))
        if params["act_unit"]:
            table = [value >> 8 * k & 255 for value in TANH[:-1] for k in range(2)]
            m.submodules.table = rom = memory.Memory(shape=8, depth=len(table), init=table)
            port = rom.read_port()
            m.d.comb += port.addr.eq(address)
            with m.If(was == TABLE_AT >> REGION_BITS):
                m.d.comb += self.read.eq(port.data)
        return m

    def _bytes(self, m, name, depth, write_address, read_address, write):
        m.submodules[name] = ram = BlockRAM(width=8, depth=depth, latency=1, family=self.family)
        m.d.comb += [
            ram.write_addr.eq(write_address),
            ram.read_addr.eq(read_address),
            ram.write_data.eq(self.data),
            ram.write_en.eq(write),
        ]
        return ram.read_data

    def _sprams(self, m, name, count, word, write):
        found, which = [], Signal(range(count), name=f"{name}_which")
        m.d.sync += which.eq(word[14:])
        for k in range(count):
            m.submodules[f"{name}_{k}"] = ram = SPRAM(family=self.family)
            mine = word[14:] == k if count > 1 else 1
            m.d.comb += [
                ram.address.eq(word),
                ram.enable.eq(mine),
                ram.write.eq(write),
                ram.write_data.eq(Cat(self.data, self.data)),
                ram.mask.eq(Mux(self.address[0], 0b1100, 0b0011)),
            ]
            found.append(ram.read_data)
        return Cat(found).word_select(which, 16) if count > 1 else found[0]
