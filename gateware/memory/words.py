# SPDX-License-Identifier: BSD-2-Clause
"""Memory-port controller for a synchronous RAM with one cycle of latency."""

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arguments import check_beat_bytes, check_integer
from .port import MemoryPort, RequestLayout

__all__ = ["RAMInterface", "WordServer", "check_size"]


def check_size(size: int, beat_bytes: int, *, largest: int = 1 << 32) -> None:
    """Raises ``ValueError`` unless ``size`` is a whole number of beats and at most ``largest``
    bytes."""
    check_integer("Size", size, beat_bytes, largest, multiple_of=beat_bytes, unit="bytes")


class RAMInterface(wiring.Signature):
    """Interface of a synchronous RAM, seen from its user.

    Members
    -------
    address : Out, of a beat
    enable : Out(1), access in this cycle
    write : Out(1), the access writes (else reads)
    mask : Out(beat_bytes), bytes to write
    write_data : Out, read_data : In.
        Data read stand from the cycle after the access to the next reading access.
    """

    def __init__(self, *, address_width: int, beat_bytes: int) -> None:
        super().__init__(
            {
                "address": Out(address_width),
                "enable": Out(1),
                "write": Out(1),
                "mask": Out(beat_bytes),
                "write_data": Out(8 * beat_bytes),
                "read_data": In(8 * beat_bytes),
            }
        )


class WordServer(wiring.Component):
    """RAM controller: serves a memory port from a RAM, one beat per cycle, with bursts and single
    beats back to back.

    Latency: the first beat of a read is offered two cycles after its request was taken, the
    acknowledgement of a write one cycle after its last beat. A request that leaves the RAM is
    answered with ``error``, and writes nothing.

    Parameters
    ----------
    size : int
        Bytes of the RAM.
    beat_bytes : int
        Bytes of a beat, a power of two.

    Members
    -------
    port : In(MemoryPort), ram : Out(RAMInterface)
    """

    def __init__(self, *, size: int, beat_bytes: int) -> None:
        check_beat_bytes(beat_bytes, (1, 2, 4, 8, 16))
        check_size(size, beat_bytes)
        self.words = size // beat_bytes
        self.beat_bytes = beat_bytes
        super().__init__(
            {
                "port": In(MemoryPort(beat_bytes)),
                "ram": Out(
                    RAMInterface(
                        address_width=max(1, (self.words - 1).bit_length()), beat_bytes=beat_bytes
                    )
                ),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        port, ram = self.port, self.ram
        shift = self.beat_bytes.bit_length() - 1

        busy, write, error = Signal(), Signal(), Signal()
        address, left = Signal.like(ram.address), Signal.like(port.req.payload.beats)
        asked = Signal(RequestLayout())
        low, high = asked.address[shift:][: len(address)], asked.address[shift + len(address) :]

        answered = (
            Signal()
        )  # no answer waits after this cycle, so answers never overtake each other
        step, ends = Signal(), Signal()
        m.d.comb += [
            asked.eq(port.req.payload),
            answered.eq((~port.r.valid | port.r.ready) & (~port.ack.valid | port.ack.ready)),
            step.eq(busy & answered & (~write | port.w.valid)),
            ends.eq(step & (left == 0)),
            port.w.ready.eq(busy & answered & write),
            port.req.ready.eq(~busy | ends),
            ram.address.eq(address),
            ram.enable.eq(step & ~error),
            ram.write.eq(write),
            ram.mask.eq(port.w.payload.mask),
            ram.write_data.eq(port.w.payload.data),
            port.r.payload.data.eq(ram.read_data),
        ]
        with m.If(step):
            m.d.sync += [address.eq(address + 1), left.eq(left - 1)]
        with m.If(port.req.ready):
            m.d.sync += [
                busy.eq(port.req.valid),
                write.eq(asked.write),
                address.eq(low),
                left.eq(asked.beats),
                error.eq((low + asked.beats >= self.words) | (high.any() if len(high) else 0)),
            ]
        with m.If(answered):
            m.d.sync += [
                port.r.valid.eq(step & ~write),
                port.r.payload.error.eq(error),
                port.r.payload.last.eq(left == 0),
                port.ack.valid.eq(ends & write),
                port.ack.payload.error.eq(error),
            ]
        return m


def repeat_bits(mask: Value, times: int) -> Value:
    """Repeats every bit of ``mask`` ``times`` times."""
    return Cat(bit.replicate(times) for bit in mask)
