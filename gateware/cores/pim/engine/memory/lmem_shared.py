# SPDX-License-Identifier: BSD-2-Clause
"""Local memory in an SPRAM: 16 bits, one access a cycle, which all units share (specification, section 9)."""
from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .....arguments import check_family
from .....primitives.spram import SPRAM
from ..commands import LMemRead, LMemWrite, address_bits, lmem_word_bytes

__all__ = ["SharedMemory", "in_spram"]


def in_spram(params, family):
    """Whether the local memory lies in an SPRAM: 16 to 32 KiB of words of at most 16 bits, and not on an ECP5."""
    return family != "ecp5" and params["vec_bytes"] <= 2 and params["lmem_bytes"] in (1 << 14, 1 << 15)


class SharedMemory(wiring.Component):
    """The faces of :class:`~.lmem.LocalMemory`, one access to 16 bits a cycle: a word at an odd address takes two.

    Writes go before reads, among either matrix before vector before transfer unit. A word read comes in the cycle after the access.
    Parameters and members as :class:`~.lmem.LocalMemory`'s.
    """
    def __init__(self, *, params, family=None):
        check_family(family)
        if not in_spram(params, family):
            raise ValueError(f"A shared local memory needs 16 or 32 KiB, words of at most 2 bytes and no ECP5, not "
                             f"{params['lmem_bytes']} bytes, {params['vec_bytes']} bytes, family {family!r}")
        self.params, self.family = params, family
        super().__init__({
            "read": In(LMemRead(params)).array(3), "write": In(LMemWrite(params)).array(3), "zero": In(1), "zeroing": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.ram = ram = SPRAM(family=self.family)
        lanes, bits = lmem_word_bytes(self.params), address_bits(self.params)
        requests = [face.request for face in self.write] + [face.request for face in self.read]

        # Who goes: the one whose second half is due, else the first.
        locked, second = Signal(6), Signal()
        wants = Cat(*(request.valid for request in requests))
        goes = Signal(6)
        m.d.comb += goes.eq(Mux(second, locked, wants & (~wants + 1)) & ~self.zeroing.replicate(6))
        address, write = Signal(bits, name="byte"), Signal.like(self.write[0].request.payload, name="write_request")
        for face, go in zip(self.write, goes[:3], strict=True):
            with m.If(go):
                m.d.comb += [write.eq(face.request.payload), address.eq(face.request.payload.address)]
        for face, go in zip(self.read, goes[3:], strict=True):
            with m.If(go):
                m.d.comb += address.eq(face.request.payload)
        crosses = address[0] if lanes == 2 else 0
        for request, go in zip(requests, goes, strict=True):
            m.d.comb += request.ready.eq(go & (second | ~crosses))
        m.d.sync += [second.eq(goes.any() & crosses & ~second), locked.eq(goes)]

        # The access
        word = Signal(bits - 1)
        m.d.comb += [
            word.eq(address[1:] + second), ram.address.eq(word), ram.enable.eq(goes.any()), ram.write.eq(goes[:3].any()),
        ]
        low, high = write.data[:8], write.data[-8:]
        if lanes == 2:
            # At an odd address the low byte goes to the upper half of its word, then the high byte to the lower half of the next.
            lower = Mux(address[0], write.mask[1] & second, write.mask[0])
            upper = Mux(address[0], write.mask[0] & ~second, write.mask[1])
            m.d.comb += ram.write_data.eq(Mux(address[0], Cat(high, low), write.data))
        else:
            lower, upper = write.mask[0] & ~address[0], write.mask[0] & address[0]
            m.d.comb += ram.write_data.eq(Cat(low, low))
        m.d.comb += ram.mask.eq(Cat(lower, lower, upper, upper))

        sweep = Signal(bits - 1)
        with m.If(self.zeroing):
            m.d.comb += [ram.address.eq(sweep), ram.enable.eq(1), ram.write.eq(1), ram.mask.eq(0xF), ram.write_data.eq(0)]
            m.d.sync += sweep.eq(sweep + 1)
            with m.If(sweep.all()):
                m.d.sync += self.zeroing.eq(0)
        with m.If(self.zero):
            m.d.sync += self.zeroing.eq(1)

        # Words read
        answers, odd, kept = Signal(3), Signal(), Signal(8)
        m.d.sync += [
            answers.eq(Cat(*(face.request.ready & face.request.valid for face in self.read))),
            odd.eq(address[0]), kept.eq(ram.read_data[8:]),
        ]
        data = Mux(odd, Cat(kept, ram.read_data[:8]), ram.read_data) if lanes == 2 else \
            Mux(odd, ram.read_data[8:], ram.read_data[:8])
        for face, answer in zip(self.read, answers, strict=True):
            m.d.comb += [face.data.eq(data), face.valid.eq(answer)]
        return m
