# SPDX-License-Identifier: BSD-2-Clause
"""The accumulator machine: gateware against its golden model on random microprograms, value by
value and cycle by cycle."""

import enum
import random

import pytest

from quintet.gateware.microcode.accumulator import accumulator_machine
from quintet.gateware.microcode.engine import MicroMachine
from quintet.gateware.microcode.model import MachineModel, MicrocodeLimit
from quintet.gateware.microcode.program import Microprogram
from quintet.gateware.microcode.statement import MicrocodeError
from tests.support.simulating import simulate


class Source(enum.IntEnum):
    LOW, GIVEN, P_TWICE = range(3)


class Sink(enum.IntEnum):
    X, P, SEEN = range(3)


class Count(enum.IntFlag):
    ONE, TWO = 1, 2


MACHINE = accumulator_machine(
    sources=Source,
    sinks=Sink,
    counts=Count,
    arrays={"LIST": (0, 16)},
    returns=0xF8,
    shown="LIST",
    variables=range(16, 0xF8),
)
_GIVEN = 0x8765_4321


class Memory(dict):
    """Words by address; those of the second half of main memory fail."""

    def read(self, address):
        return self.get(address & ~3, 0), int(address >= 1 << 31)

    def write(self, address, word):
        self[address & ~3] = word
        return int(address >= 1 << 31)


def random_program(rnd, statements=60):
    """Forward jumps and loops over variables of any content, operations of a unit, words of memory;
    all that A was is seen at the end of each."""
    names = [f"V{k}" for k in range(6)]

    def operand():
        return rnd.choice(
            (
                rnd.choice(names),
                rnd.choice(names),
                f"#{rnd.choice((0, 1, 3, 511, 512, 1 << 31, rnd.getrandbits(32)))}",
                f"LIST.{rnd.randrange(16)}",
                "LIST+X",
                "$LOW",
                "$GIVEN",
                "$P_TWICE",
            )
        )

    lines = ["wait"] + [f"ld #{rnd.getrandbits(32)}; st {name}" for name in names]
    for k in range(statements):
        kind = rnd.randrange(12)
        if kind < 4:
            lines.append(
                f"{rnd.choice(('ld', 'add', 'adc', 'sub', 'and'))} {operand()}"
                if kind
                else f"mul {operand().replace('$LOW', '$GIVEN')}"
            )
        elif kind == 4:
            lines.append(f"st {rnd.choice((*names, 'LIST+X', f'LIST.{rnd.randrange(16)}'))}")
        elif kind == 5:
            lines.append(f"{rnd.choice(('shl', 'shr'))} {rnd.choice(('X', rnd.randrange(1, 32)))}")
        elif kind == 6:
            lines.append(
                rnd.choice(("and #15; out X", f"idx #{rnd.randrange(16)}"))
                if rnd.random() < 0.7
                else "out P"
            )
        elif kind == 7:
            lines += [
                f"{rnd.choice(('jz', 'jnz', 'jc', 'jnc', 'jneg', 'jpos'))} over{k}",
                f"add {operand()}",
                f"over{k}:",
            ]
        elif kind == 8:
            lines += [
                "call twice",
                f"ld #{rnd.randrange(1, 9)}; st N",
                f"loop{k}: ld {operand()}; add N; out SEEN",
                f"ld N; sub #1; st N; jnz loop{k}",
            ]
        elif kind == 9:
            lines.append("run")
        elif kind == 10:
            lines += [
                f"ld #{rnd.choice((64, 1 << 31)) + 4 * rnd.randrange(8)}; st AT; request; ld "
                f"{operand()}; send; ld AT; read; out SEEN",
                f"jnc right{k}; ld #7; right{k}: out SEEN",
            ]
        else:
            lines.append("cnt ONE,TWO; cls WORK; jabort end; cnt ONE")
        lines.append("out SEEN")
    lines += [
        "end: and #3; jtab table",
        ".align 32",
        "table: jmp done; jmp more; jmp done",
        "more: add #2; cnt TWO",
        "done: out SEEN",
        "wait",
        "twice: call once",
        "once: shl 1; out SEEN",
        "ret",
    ]
    return Microprogram(MACHINE, {"random": "\n".join(lines)})


def on_model(program, abort=False):
    seen, memory = [], Memory()
    model = MachineModel(
        MACHINE,
        program,
        sources={Source.GIVEN: lambda: _GIVEN, Source.P_TWICE: lambda: 2 * (model.p & 0xFF)},
        sinks={Sink.SEEN: seen.append},
        unit=lambda a: a & 7,
        memory=memory,
        latency=1,
    )
    model.abort = abort
    model.run()
    before = model.cycles
    model.run(limit=1_000_000)
    return seen, model, memory, model.cycles - before


def on_gateware(program, abort=False):
    """The same; a unit that waits for as many cycles as the lowest three bits say, memory that
    answers in the next cycle."""
    dut = MicroMachine(machine=MACHINE, program=program, beat_bytes=4, address_bits=8)
    seen, memory, counts, shown, cycles = [], Memory(), [0, 0], [], [0]

    async def bench(ctx):
        ctx.set(dut.sources[Source.GIVEN], _GIVEN)
        ctx.set(dut.abort, abort)
        ctx.set(dut.memory.req.ready, 1)
        ctx.set(dut.memory.w.ready, 1)
        while not ctx.get(dut.ready):
            await ctx.tick()
        ctx.set(dut.start, 1)
        await ctx.tick()
        ctx.set(dut.start, 0)
        address = ran = answers = acknowledges = None
        while not ctx.get(dut.ready):
            port = dut.memory
            ctx.set(dut.sources[Source.P_TWICE], 2 * ctx.get(dut.p))
            ctx.set(port.r.valid, answers is not None)
            if answers is not None:
                ctx.set(port.r.payload.data, answers[0])
                ctx.set(port.r.payload.error, answers[1])
                ctx.set(port.r.payload.last, 1)
            ctx.set(port.ack.valid, acknowledges is not None)
            if acknowledges is not None:
                ctx.set(port.ack.payload.error, acknowledges)
            waiting = ran if ran is not None else ctx.get(dut.a) & 7 if ctx.get(dut.run) else None
            ctx.set(dut.ran, ran is None and waiting is not None)
            ctx.set(dut.finished, waiting == 0)
            ran = waiting - 1 if waiting else None
            if ctx.get(dut.sinks[Sink.SEEN]):
                seen.append(ctx.get(dut.a))
            for k in range(2):
                counts[k] += ctx.get(dut.counts[k])
            answers = acknowledges = None
            if ctx.get(port.req.valid):
                address = ctx.get(port.req.payload.address)
                answers = None if ctx.get(port.req.payload.write) else memory.read(address)
            if ctx.get(port.w.valid):
                acknowledges = memory.write(address, ctx.get(port.w.payload.data))
            cycles[0] += 1
            await ctx.tick()
        for k in range(16):
            ctx.set(dut.show, k)
            await ctx.tick()
            shown.append(ctx.get(dut.shown))

    simulate(dut, bench)
    return seen, counts, shown, memory, cycles[0]


@pytest.mark.parametrize("seed", range(8))
def test_gateware_does_as_the_model(seed):
    program = random_program(random.Random(seed))
    seen, model, memory, cycles = on_model(program, seed % 4 == 3)
    got = on_gateware(program, seed % 4 == 3)
    assert got[0] == seen
    assert got[1:4] == (list(model.counts.values()), model.registers[:16], memory)
    assert got[4] - 1 == cycles  # and one until `ready` is seen


def test_a_limit_ends_a_run():
    program = Microprogram(MACHINE, {"part": "wait\nagain: jmp again"})
    with pytest.raises(MicrocodeLimit) as error:
        MachineModel(MACHINE, program).run().run(limit=100)
    assert (
        str(error.value)
        == "The microprogram still runs after 100 cycles, at part, line 2, 'jmp again'"
    )


def test_listing_says_cycles():
    program = Microprogram(MACHINE, {"part": "wait\nld #3; out X; shl 4; shl X; mul #5; run; wait"})
    assert [line.split()[2] for line in program.listing().splitlines()] == [
        "2+",
        "2",
        "2",
        "5",
        "2+",
        "33+",
        "2+",
        "2+",
    ]
    model = MachineModel(MACHINE, program, unit=lambda a: 9)
    model.run().run()
    assert [line.split()[2] for line in model.listing().splitlines()] == [
        "0",
        "2",
        "2",
        "5",
        "4",
        "35",
        "11",
        "0",
    ]


def test_a_product_does_not_read_what_it_changes():
    with pytest.raises(
        MicrocodeError,
        match=(
            r"part, line 1: Nothing is called 'LOW' for 'mul \$LOW', expected one of GIVEN, "
            r"P_TWICE"
        ),
    ):
        Microprogram(MACHINE, {"part": "mul $LOW"})


@pytest.mark.parametrize(
    "change, message",
    [
        (
            {"sinks": enum.IntEnum("Sink", ["P", "X"], start=0)},
            "Sinks of a machine begin with X and P, not with P, X",
        ),
        (
            {"sources": enum.IntEnum("Source", [f"S{k}" for k in range(33)], start=0)},
            "A machine has at most 32 members of Source, not 33",
        ),
    ],
)
def test_declarations_refused(change, message):
    given = {
        "sources": Source,
        "sinks": Sink,
        "counts": Count,
        "arrays": {"LIST": (0, 16)},
        "returns": 0xF8,
        "shown": "LIST",
        "variables": range(16, 99),
    }
    with pytest.raises(ValueError) as error:
        accumulator_machine(**given | change)
    assert str(error.value) == message
