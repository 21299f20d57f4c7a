# SPDX-License-Identifier: BSD-2-Clause
"""A bridge with a memory on its bus, in pysim."""
import random

from amaranth.sim import Simulator

from quintet.gateware.link.bridge import LinkBridge
from quintet.gateware.link.protocol import INFO_ADDRESS
from quintet.tools.link.device_model import WordMemory

__all__ = ["Bench", "header_rom"]


def header_rom(seed=1):
    rom = WordMemory(64, INFO_ADDRESS)
    rom.data[:] = random.Random(seed).randbytes(64)
    return rom


class Bench:
    """Sends bytes to a bridge and collects what it answers, until it has been quiet for ``quiet`` cycles.

    ``stall`` is called before each byte and bus cycle for the number of cycles to wait.
    """
    def __init__(self, regions, *, stall=lambda: 0, quiet=400, **arguments):
        self.dut = LinkBridge(**arguments)
        self.regions = regions
        self.answers = bytearray()
        self.bus_cycles = 0
        self._outgoing = bytearray()
        self._stall = stall
        self.quiet = quiet
        self._idle = 0
        self.sim = Simulator(self.dut)
        self.sim.add_clock(1e-6)
        self.sim.add_testbench(self._work, background=True)

    def run(self, sent):
        """The bytes answered to these."""
        self._outgoing += sent
        self.answers.clear()
        self._idle = 0
        while self._outgoing or self._idle < self.quiet:
            self.sim.advance()
        return bytes(self.answers)

    async def _work(self, ctx):
        rx, tx, bus = self.dut.rx, self.dut.tx, self.dut.bus
        send_wait = take_wait = bus_wait = 0
        answering = False
        while True:
            # What the ports carry in the cycle that begins here.
            if send_wait:
                send_wait -= 1
            sending = bool(self._outgoing) and not send_wait
            ctx.set(rx.valid, sending)
            if sending:
                ctx.set(rx.payload, self._outgoing[0])
            if take_wait:
                take_wait -= 1
            taking = not take_wait
            ctx.set(tx.ready, taking)
            _, _, ready, valid, payload, cycle = await ctx.tick().sample(
                rx.ready, tx.valid, tx.payload, bus.cyc & bus.stb)

            self._idle += 1
            if sending and ready:
                del self._outgoing[0]
                send_wait = self._stall()
                self._idle = 0
            if taking and valid:
                self.answers.append(payload)
                take_wait = self._stall()
                self._idle = 0
            if answering:
                ctx.set(bus.ack, 0)
                ctx.set(bus.err, 0)
                answering = False
                bus_wait = self._stall()
            elif cycle:
                self._idle = 0
                if bus_wait:
                    bus_wait -= 1
                else:
                    self._answer(ctx)
                    answering = True

    def _answer(self, ctx):
        bus = self.dut.bus
        self.bus_cycles += 1
        address = ctx.get(bus.adr) << 2
        region = next((region for region in self.regions if region.covers(address)), None)
        word = region.read(address) if region else None
        if ctx.get(bus.we) and region:
            sel = ctx.get(bus.sel)
            good = region.write(address, ctx.get(bus.dat_w).to_bytes(4, "little"), [sel >> i & 1 for i in range(4)])
            word = b"\xde\xad\xbe\xef" if good else None
        if word is None:
            ctx.set(bus.err, 1)
        else:
            ctx.set(bus.ack, 1)
            ctx.set(bus.dat_r, int.from_bytes(word, "little"))
