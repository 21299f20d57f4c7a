# SPDX-License-Identifier: BSD-2-Clause
"""Gateware of the accumulator machine: 32-bit datapath, with registers and program in block RAM
(:mod:`.accumulator` is its declaration, :mod:`.model` its golden model)."""

from types import SimpleNamespace

from amaranth import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, memory
from amaranth.lib.wiring import In, Out

from ..memory.port import MemoryPort
from ..shell.engine import Stall
from .accumulator import OPERAND_BITS, AccumulatorFormat, Mode, Op
from .program import Microprogram
from .staged import RegisterMachine

__all__ = ["MicroMachine"]

#: Words of a memory of the program: at most, and what they are a multiple of.
_PART, _BLOCK = 1024, 256
#: The sinks that are the machine's own.
_X, _P = range(2)


def _parts(words):
    """Splits ``words`` into memories whose sizes are powers of two, since a single memory would
    occupy blocks for the next power: (first address, words) of each."""
    first = 0
    while first < len(words):
        left = -(-(len(words) - first) // _BLOCK) * _BLOCK
        size = min(_PART, 1 << left.bit_length() - 1)
        yield first, size
        first += size


class MicroMachine(RegisterMachine):
    """Accumulator machine: runs a microprogram with two cycles per micro-instruction (operand read,
    execution), shifts by one bit per cycle, and multiplies by one bit in one or two. At most one
    word of main memory is in flight, and none at the end of an instruction.

    Parameters
    ----------
    machine : :class:`~.accumulator.AccumulatorFormat`, the declaration
    program : :class:`~.program.Microprogram`;
        unused shifts and products are not built
    beat_bytes : int, 1, 2, 4 or 8
    address_bits : int, bits of P

    Members
    -------
    start : In, one cycle, while ``ready``; ready : Out, the machine waits for it
    abort : In, level
    show : In, ``shown`` : Out, a cycle later while ``ready``:
        an entry of the array that the declaration says
    sources : In, an array over the declared sources
    a, p : Out; sinks : Out, a bit for each of the declared sinks that takes ``a`` in this cycle
    counts : Out, the declared counts of this cycle; stall : Out, the class
    run : Out, level: the operation ``a`` is to be taken; ran : In, one cycle,
        it is taken; finished : In, one cycle, it is complete
    memory : Out(MemoryPort)

    Attributes
    ----------
    format : the declaration
    """

    def __init__(
        self,
        *,
        machine: AccumulatorFormat,
        program: Microprogram,
        beat_bytes: int,
        address_bits: int,
    ) -> None:
        self.format, self._beat_bytes = machine, beat_bytes
        self._used = {Op(word >> OPERAND_BITS) for word in program.words}
        place, entries = machine.arrays[machine.shown]
        self._shown = place
        super().__init__(
            program,
            {
                "start": In(1),
                "ready": Out(1),
                "abort": In(1),
                "show": In(range(entries)),
                "shown": Out(32),
                "sources": In(data.ArrayLayout(unsigned(32), len(machine.sources))),
                "a": Out(32),
                "p": Out(address_bits),
                "sinks": Out(len(machine.sinks)),
                "counts": Out(max(machine.counts).bit_length()),
                "stall": Out(Stall, init=Stall.OTHER),
                "run": Out(1),
                "ran": In(1),
                "finished": In(1),
                "memory": Out(MemoryPort(beat_bytes)),
            },
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        s = SimpleNamespace(  # signals that several steps use
            valid=Signal(name="valid"),
            second=Signal(name="second"),
            done=Signal(name="done"),
            jumps=Signal(name="jumps"),
            a=Signal(32, reset_less=True, name="a"),
            carry=Signal(name="carry"),
            index=Signal(8, name="index"),
            low=Signal(32, reset_less=True, name="low"),
        )  # low: a product's lower half, where that is read
        self._fetch(m, s)

        def at(*ops):
            """Whether the machine is in the second cycle of one of these operations."""
            return s.second & Cat(s.op == op for op in ops).any()

        s.at = at
        m.d.comb += [self.a.eq(s.a), self.ready.eq(at(Op.WAIT)), s.done.eq(1)]
        self._operand(m, s)
        self._accumulate(m, s)
        self._word(m, s)
        self._unit(m, s)
        self._give(m, s)
        self._jump(m, s)
        return m

    def at(self, label: str, behind: int = 0) -> Value:
        """Whether the current micro-instruction is that of ``label``, or a given number after it;
        valid after elaboration."""
        return self._here == self._program.labels[label] + behind

    def _fetch(self, m, s):
        """Program memory. A micro-instruction lasts two cycles plus its waits; ``s.here`` is its
        address."""
        words = self._program.words
        fetch, word, onward = Signal(range(len(words)), name="fetch"), Signal(16), Signal()
        self._here = s.here = here = Signal.like(fetch, name="here")
        s.following, s.target = (
            Signal.like(fetch, name="following"),
            Signal.like(fetch, name="target"),
        )
        for k, (first, size) in enumerate(_parts(words)):
            m.submodules[f"code_{k}"] = code = memory.Memory(
                shape=16, depth=size, init=words[first : first + size]
            )
            port = code.read_port()
            m.d.comb += [port.addr.eq(fetch), port.en.eq(onward)]
            with m.If(here >> size.bit_length() - 1 == first // size):
                m.d.comb += word.eq(port.data)
        s.op, s.x = word[OPERAND_BITS:], word[:OPERAND_BITS]
        m.d.comb += [
            s.following.eq(here + 1),
            onward.eq(~s.valid | (s.second & s.done)),
            fetch.eq(Mux(s.valid, Mux(s.jumps, s.target, s.following), 0)),
        ]
        with m.If(onward):
            m.d.sync += here.eq(fetch)
        m.d.sync += [s.valid.eq(1), s.second.eq(s.valid & ~(s.second & s.done))]

    def _operand(self, m, s):
        """Register memory, which also holds return addresses, and selection of the operand."""
        x, read, depth, returns = (
            s.x,
            self._registers(m),
            Signal(3),
            Const(self.format.returns >> 3, 5),
        )
        place, mode, calls = Signal(8), x[9:], s.op == Op.CALL
        m.d.comb += [
            place.eq(x[:8] | (s.index & (mode == Mode.INDEXED).replicate(8))),
            self.shown.eq(read.data),
        ]
        with m.Switch(s.op):
            with m.Case(Op.WAIT):
                m.d.comb += read.addr.eq(self._shown | self.show)
            with m.Case(Op.RET):
                m.d.comb += read.addr.eq(Cat((depth - 1)[:3], returns))
            with m.Default():
                m.d.comb += read.addr.eq(place)
        s.returned, s.operand = read.data, Signal(32, name="operand")
        sources = Cat(
            s.low if source.name == "LOW" else self.sources[source]
            for source in self.format.sources
        )
        with m.Switch(mode):
            with m.Case(Mode.SOURCE):
                m.d.comb += s.operand.eq(
                    sources.word_select(
                        x[: max(1, (len(self.format.sources) - 1).bit_length())], 32
                    )
                )
            with m.Case(Mode.NUMBER):
                m.d.comb += s.operand.eq(x[:9])
            with m.Default():
                m.d.comb += s.operand.eq(read.data)
        m.d.comb += [
            self.register_write.en.eq(s.at(Op.ST, Op.CALL)),
            self.register_write.addr.eq(Mux(calls, Cat(depth, returns), place)),
            self.register_write.data.eq(Mux(calls, s.following, s.a)),
        ]
        with m.If(s.at(Op.CALL)):
            m.d.sync += depth.eq(depth + 1)
        with m.If(s.at(Op.RET)):
            m.d.sync += depth.eq(depth - 1)
        with m.If(s.op == Op.WAIT):
            m.d.sync += depth.eq(0)

    def _unit(self, m, s):
        """Operation RUN: a unit takes A and executes."""
        begun = Signal()
        with m.If(s.at(Op.RUN)):
            m.d.comb += [self.run.eq(~begun), s.done.eq(self.finished)]
            m.d.sync += begun.eq((begun | self.ran) & ~self.finished)

    def _give(self, m, s):
        """Output operations: strobes of the sinks, including the core's own registers."""
        m.d.comb += [
            self.sinks.eq((1 << s.x[:4]) & s.at(Op.OUT).replicate(len(self.sinks))),
            self.counts.eq(s.x & s.at(Op.CNT).replicate(len(self.counts))),
        ]
        with m.If(self.sinks[_X]):
            m.d.sync += s.index.eq(s.a)
        if Op.IDX in self._used:
            with m.If(s.at(Op.IDX)):
                m.d.sync += s.index.eq(s.operand)
        with m.If(self.sinks[_P]):
            m.d.sync += self.p.eq(s.a)
        with m.If(s.at(Op.CLS)):
            m.d.sync += self.stall.eq(s.x[:3])

    def _jump(self, m, s):
        """Jumps, and the start of a run."""
        zero = s.a == 0
        met = {
            (Op.JZ,): zero,
            (Op.JNZ,): ~zero,
            (Op.JC,): s.carry,
            (Op.JNC,): ~s.carry,
            (Op.JPOS,): s.a[-1] == 0,
            (Op.JNEG,): s.a[-1],
            (Op.JABORT,): self.abort,
            (Op.JMP, Op.CALL, Op.RET, Op.JTAB): 1,
        }
        with m.Switch(s.op):
            for ops, condition in met.items():
                if self._used.intersection(ops):
                    with m.Case(*ops):
                        m.d.comb += s.jumps.eq(condition)
            with m.Case(Op.WAIT):
                m.d.comb += s.done.eq(self.start)
        m.d.comb += s.target.eq(
            Mux(s.op == Op.RET, s.returned, s.x | (s.a[:5] & (s.op == Op.JTAB).replicate(5)))
        )

    def _accumulate(self, m, s):
        """Accumulator: loads, sums, shifts, products."""
        at, op, x, operand, a, carry = s.at, s.op, s.x, s.operand, s.a, s.carry
        total, minus, left = Signal(33), op == Op.SUB, Signal(5)
        more = minus | (carry & (op == Op.ADC)) if Op.ADC in self._used else minus
        m.d.comb += total.eq(a + (operand ^ minus.replicate(32)) + more)
        # A product: the multiplier, whose lowest bit says whether the operand is added, in a cycle
        # of its own, before a bit leaves A.
        multiplier, summed, adds = s.low, Signal(), Signal()
        low = Const("LOW" in self.format.sources.__members__)
        right = Cat(a[1:], carry & summed, a[0])
        m.d.comb += adds.eq(multiplier[0] & ~summed)
        with m.If(s.second):
            with m.Switch(op):
                with m.Case(Op.LD):
                    m.d.sync += a.eq(operand)
                with m.Case(*(o for o in (Op.ADD, Op.SUB, Op.ADC) if o in self._used)):
                    m.d.sync += Cat(a, carry).eq(total)
                with m.Case(Op.AND):
                    m.d.sync += a.eq(a & operand)
                with m.Case(Op.SHL, Op.SHR):
                    with m.If(left != 0):
                        m.d.sync += [
                            Cat(a, carry).eq(Mux(op == Op.SHL, Cat(Const(0, 1), a), right)),
                            left.eq(left - 1),
                        ]
                if Op.MUL in self._used:
                    with m.Case(Op.MUL):
                        m.d.sync += summed.eq(adds)
                        with m.If(adds):
                            m.d.sync += Cat(a, carry).eq(total)
                        with m.Else():
                            m.d.sync += [
                                Cat(a, carry).eq(right),
                                multiplier.eq(Cat(multiplier[1:], a[0] & low)),
                                left.eq(left - 1),
                            ]
        with m.Else():
            m.d.sync += left.eq(Mux(op == Op.MUL, 0, Mux(x[10], s.index, x)))
            with m.If(s.valid & (op == Op.MUL)):
                m.d.sync += [multiplier.eq(a), a.eq(0)]
        with m.If(at(Op.MUL)):
            m.d.comb += s.done.eq(~adds & (left == 1))
        with m.If(at(Op.SHL, Op.SHR)):
            m.d.comb += s.done.eq(left[1:] == 0)

    def _word(self, m, s):
        """Operations READ, REQUEST and SEND on one word of main memory."""
        at, a, carry, size, port = s.at, s.a, s.carry, self._beat_bytes, self.memory
        upper = Signal()  # wide beats: the word is a beat's upper half
        asked, beat = Signal(), Signal(2)
        request = port.req.payload
        reads, sends = at(Op.READ), at(Op.SEND)
        m.d.comb += [
            port.req.valid.eq((reads & ~asked) | at(Op.REQUEST)),
            request.address.eq(Cat(Const(0, 3 if size == 8 else 2), a[3 if size == 8 else 2 :])),
            request.beats.eq(4 // size - 1 if size < 4 else 0),
            request.write.eq(~reads),
            port.r.ready.eq(reads & asked),
        ]
        with m.If(port.req.valid & port.req.ready):
            m.d.sync += [asked.eq(reads), upper.eq(a[2]), carry.eq(0)]
        with m.If(reads):
            m.d.comb += s.done.eq(port.r.valid & port.r.ready & port.r.payload.last)
        with m.If(at(Op.REQUEST)):
            m.d.comb += s.done.eq(port.req.ready)
        given = port.r.payload.data
        with m.If(port.r.valid & port.r.ready):
            if size == 8:
                m.d.sync += a.eq(Mux(upper, given[32:], given[:32]))
            else:
                m.d.sync += a.eq(Cat(a[8 * size :], given))
            m.d.sync += [carry.eq(carry | port.r.payload.error), asked.eq(~port.r.payload.last)]

        # `asked` of a word that is sent: all its beats are gone.
        last = beat == 4 // size - 1 if size < 4 else Const(1)
        m.d.comb += [port.w.valid.eq(sends & ~asked), port.ack.ready.eq(sends & asked)]
        if size == 8:
            m.d.comb += [
                port.w.payload.data.eq(Cat(a, a)),
                port.w.payload.mask.eq(Mux(upper, 0xF0, 0x0F)),
            ]
        else:
            m.d.comb += [
                port.w.payload.data.eq(
                    a.word_select(beat[: (4 // size - 1).bit_length()], 8 * size)
                ),
                port.w.payload.mask.eq(~0),
            ]
        with m.If(port.w.valid & port.w.ready):
            m.d.sync += [beat.eq(Mux(last, 0, beat + 1)), asked.eq(last)]
        with m.If(sends):
            m.d.comb += s.done.eq(port.ack.valid & asked)
        with m.If(port.ack.valid & port.ack.ready):
            m.d.sync += [carry.eq(port.ack.payload.error), asked.eq(0)]
