# SPDX-License-Identifier: BSD-2-Clause
"""Decoder, controller and array in pysim: words in, registers and capture out."""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from quintet.gateware.cores.imagine.engine.array import Array
from quintet.gateware.cores.imagine.engine.controller import Controller
from quintet.gateware.cores.imagine.engine.decode import Decoder
from quintet.gateware.cores.imagine.engine.issue import Issue
from tests.support.simulating import design, simulator


class Bench(wiring.Component):
    """Words of the array in, one by one as the controller takes them."""

    def __init__(self, mapping, family=None):
        self.mapping = mapping
        self.decoder, self.controller = Decoder(mapping=mapping), Controller(mapping=mapping)
        self.array, self.issue = Array(mapping=mapping, family=family), Issue(mapping=mapping)
        super().__init__(
            {
                "word": In(32),
                "valid": In(1),
                "taken": Out(1),
                "go": Out(1),
                "fault": Out(5),
                "serial": In(1),
                "out": In(1),
                "result": Out(mapping.width),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.decoder, m.submodules.controller = decoder, controller = (
            self.decoder,
            self.controller,
        )
        m.submodules.array, m.submodules.issue = array, issue = self.array, self.issue
        wiring.connect(m, decoder.ops, issue.ops)
        m.d.comb += [
            decoder.words.payload.word.eq(self.word),
            decoder.words.valid.eq(self.valid),
            self.taken.eq(decoder.words.ready),
            issue.enable.eq(controller.swept),
            issue.capture.eq(self.serial),
            issue.emit.eq(0),
            controller.op.eq(issue.op),
            controller.go.eq(issue.go.replicate(2)),
            self.go.eq(issue.go),
            self.fault.eq(issue.op.fault),
            controller.capture.eq(self.serial),
            controller.out.eq(self.out),
            array.root.eq(controller.root),
            self.result.eq(array.word),
            self.idle.eq(issue.empty & issue.quiet),
        ]
        return m


def simulate(mapping, words, probe=None, limit=200_000, vcd=None):
    """Runs ``words`` and returns (RAMs by (row, col), cycles in which each word started)."""
    bench = Bench(mapping) if vcd else design(Bench, mapping)
    starts = []
    rams = {}

    async def drive(ctx):
        for _ in range(limit):
            if ctx.get(bench.controller.swept):
                break
            await ctx.tick()
        fed = cycle = 0
        while len(starts) < len(words):
            ctx.set(bench.valid, fed < len(words))
            if fed < len(words):
                ctx.set(bench.word, words[fed])
            if ctx.get(bench.taken) and fed < len(words):
                fed += 1
            if ctx.get(bench.go):
                assert ctx.get(bench.fault) == 0, (
                    f"word {len(starts)}: fault {ctx.get(bench.fault)}"
                )
                starts.append(cycle)
            await ctx.tick()
            cycle += 1
            assert cycle < limit
        ctx.set(bench.valid, 0)
        for _ in range(400):
            await ctx.tick()
        for c in range(mapping.cols):
            for r in range(mapping.rows):
                rams[r, c] = contents(ctx, bench, r, c)

    sim = simulator(bench)
    sim.add_clock(1e-8)
    sim.add_testbench(drive)
    if vcd:
        with sim.write_vcd(vcd):
            sim.run()
    else:
        sim.run()
    return rams, starts


def contents(ctx, bench, row, col):
    mapping = bench.mapping
    bank = bench.array.banks[col][row // mapping.halves]
    ram = bank.ram
    if mapping.ram == "sdp2":
        ram = ram.parts[row % 2]
    return [int(ctx.get(ram.memory.data[k])) for k in range(mapping.depth)]
