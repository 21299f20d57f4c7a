# SPDX-License-Identifier: BSD-2-Clause
"""Link bridge, the board side of the host link: framed requests become bus cycles
(docs/how/link.md)."""

from types import SimpleNamespace

from amaranth.hdl import Cat, Const, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from quintet.gateware.bus.soclib import wishbone
from quintet.gateware.parts.queues import StreamBuffer

from ..arguments import check_integer
from .crc import CRC32, RESIDUE
from .framing import FrameReceiver, FrameTransmitter
from .microcode import Action, Source, Step, When, assemble
from .protocol import ANSWER, INFO_ADDRESS, Operation, Status
from .runs import RunWalker

__all__ = ["LinkBridge"]


class LinkBridge(wiring.Component):
    """Link bridge: executes each request of the host at most once, and answers it.

    Parameters
    ----------
    info_address : int
        Byte address of the info ROM, which identify reads; a multiple of 4 below 2^32.
    pipelined : bool
        For clocks above some 60 MHz: the engine's program in logic instead of block RAM (2 of an
        iCE40's), output registers of the buffers' block RAM, and a register in front of the
        transmitter.
    family : "ecp5", "ice40" or None
    buffer : int
        Bytes of the receive buffer, a power of two from 1024 to 32768; a frame may have one less,
        encoded.

    Members
    -------
    rx : In(stream.Signature(8))
        Bytes from the host. Ready within bounded time, as long as the host takes its answers and
        every bus cycle ends.
    tx : Out(stream.Signature(8))
        Bytes to the host.
    bus : Out(wishbone.Signature(addr_width=30, data_width=32, granularity=8, features={"err"}))
        Master; one classic cycle for each word. Between words ``cyc`` falls.

    Throughput: a write takes about 5 cycles a byte (7 if ``pipelined``) and a bus cycle a word, a
    read 1 and a bus cycle a word; bytes leave in every second (third) cycle at most.

    Raises
    ------
    ValueError
        An argument violates these rules.
    """

    def __init__(
        self,
        *,
        info_address: int = INFO_ADDRESS,
        buffer: int = 1024,
        pipelined: bool = False,
        family: str | None = None,
    ) -> None:
        check_integer("info_address", info_address, 0, (1 << 32) - 1, multiple_of=4)
        # Lengths of frames have 15 bits and a sign.
        check_integer("buffer", buffer, 1024, 32768, power_of_two=True)
        self._info_address = info_address
        self._pipelined = bool(pipelined)
        latency = 2 if pipelined else 1
        self._receiver = FrameReceiver(depth=buffer, latency=latency, family=family)
        self._transmitter = FrameTransmitter(latency=latency, family=family)
        super().__init__(
            {
                "rx": In(stream.Signature(8)),
                "tx": Out(stream.Signature(8)),
                "bus": Out(
                    wishbone.Signature(
                        addr_width=30, data_width=32, granularity=8, features={"err"}
                    )
                ),
            }
        )

    def _in_logic(self, m, layout, program, step, holds, go):
        """Address of the next microstep. Both possible steps are looked up at once, and the
        condition, which is late, selects one."""
        following = []
        for number, name in enumerate(("goes_on", "branches")):
            rom = m.submodules[name] = Memory(shape=layout, depth=128, init=program[number::2])
            look = rom.read_port(domain="comb")
            m.d.comb += look.addr.eq(step.target >> 1)
            following.append(look.data)
        with m.If(go):
            m.d.sync += step.eq(Mux(holds, following[1], following[0]))

    def _in_block(self, m, layout, program, step, holds, go):
        m.submodules.program = rom = Memory(
            shape=layout, depth=256, attrs={"rom_style": "block"}, init=program
        )
        fetch = rom.read_port()
        reset = ResetSignal("sync", allow_reset_less=True)
        m.d.comb += [
            step.eq(fetch.data),
            fetch.addr.eq(Mux(reset, 0, step.target | holds)),
            fetch.en.eq(go | reset),
        ]

    def elaborate(self, platform: object) -> Module:
        m, s = Module(), SimpleNamespace()  # `s`: signals that several steps use
        m.submodules.receiver = receiver = self._receiver
        m.submodules.transmitter = transmitter = self._transmitter
        m.submodules.crc = crc = CRC32()
        wiring.connect(m, wiring.flipped(self.rx), receiver.i)
        wiring.connect(m, transmitter.o, wiring.flipped(self.tx))
        source, sink, bus = receiver.o, transmitter.i, self.bus
        if self._pipelined:
            # The way from a step to its byte, and from there into the transmitter's buffer, is too
            # long for one cycle.
            m.submodules.encoder = encoder = StreamBuffer(shape=sink.p.shape())
            wiring.connect(m, encoder.o, transmitter.i)
            sink = encoder.i

        # The step of this cycle. It is all zero after configuration, which leads to address 0.
        layout = data.StructLayout(
            {"source": 4, "action": 4, "when": 5, "target": 8, **dict.fromkeys(Step.FLAGS, 1)}
        )
        program = [layout.const(word) for word in assemble()]
        s.step = Signal(layout)
        holds = Signal()  # the condition
        s.go = Signal()  # the step ends with this cycle
        (self._in_logic if self._pipelined else self._in_block)(
            m, layout, program, s.step, holds, s.go
        )

        s.byte = Signal(8)
        s.operation = Signal(Operation, reset_less=True)
        s.unknown = Signal(reset_less=True)  # there is no such operation
        s.nonce, s.count = Signal(8), Signal(8, name="count")
        s.foreign = Signal(
            reset_less=True
        )  # the request is of another session; identify: it begins one
        s.sequence = Signal(8, reset_less=True)
        s.expected = Signal(8)
        s.stopped = Signal()
        s.status = Signal(Status, reset_less=True)
        s.word = Signal(32, reset_less=True)

        s.strided = s.operation[2]
        s.blank = s.operation[:2] == Operation.IDENTIFY
        s.carries = s.operation[:2] == Operation.WRITE
        s.sums = s.operation[:2] == Operation.CHECKSUM
        s.writes = s.carries | (s.blank & s.strided)
        s.distance = Signal(8, reset_less=True)
        # A cycle late: there are other steps between those that change either and those that ask.
        m.d.sync += s.distance.eq(s.sequence - s.expected)

        # A lane without data is passed over at once.
        m.submodules.runs = s.runs = RunWalker()
        take, emit = Signal(), Signal()
        ready = Signal()  # nothing is to be waited for
        sums = Signal()  # the byte goes through the CRC, which takes two cycles,
        final = Signal()  # and this is not the first of them
        m.d.comb += [
            take.eq(s.step.take & s.runs.active),
            emit.eq(s.step.emit & s.runs.active),
            ready.eq(
                ~(
                    (take & ~source.valid)
                    | (emit & ~sink.ready)
                    | (s.step.bus & ~(bus.ack | bus.err))
                )
            ),
            sums.eq(s.step.crc & s.runs.active & ~source.p.end),
            final.eq(crc.last | ~sums),
            s.go.eq(ready & final),
        ]

        def does(*actions):
            """Whether the current step has one of these actions and is executed in this cycle."""
            found = Signal(name="does_" + "_".join(action.name.lower() for action in actions))
            with m.Switch(s.step.action):
                with m.Case(*(int(action) for action in actions)):
                    m.d.comb += found.eq(s.go)
            return found

        self._choose_byte(m, s, crc, source)

        m.d.comb += [
            # The end of a frame is left to DROP and REWIND.
            source.ready.eq((take & ~source.p.end & final) | receiver.release | receiver.rewind),
            receiver.release.eq(does(Action.DROP)),
            receiver.rewind.eq(does(Action.REWIND)),
            sink.valid.eq(emit & final),
            sink.p.data.eq(s.byte),
            sink.p.end.eq(s.step.action == Action.END),
            crc.data.eq(s.byte),
            crc.step.eq(ready & sums),
            crc.shift.eq(s.step.crc_shift),
            crc.init.eq(s.step.crc_init),
            bus.cyc.eq(s.step.bus),
            bus.stb.eq(s.step.bus),
            bus.adr.eq(s.runs.address[2:]),
            bus.dat_w.eq(s.word),
            bus.we.eq(s.writes),
            bus.sel.eq(s.runs.select | ~s.writes.replicate(4)),
        ]

        self._session(m, s, does)
        m.d.comb += [
            s.runs.byte.eq(s.byte),
            s.runs.go.eq(s.go),
            s.runs.receive.eq(does(Action.COUNT_UP) & ~source.p.end),
            s.runs.begin.eq(does(Action.DROP)),
            s.runs.size.eq(does(Action.LENGTH)),
            s.runs.land.eq(does(Action.LAND)),
            s.runs.place.eq(s.step.address),
            s.runs.stride.eq(s.step.stride),
            s.runs.data.eq(s.step.data),
            s.runs.advance.eq(s.step.advance),
            s.runs.many.eq(s.strided),
        ]
        with m.If((s.step.word | (s.step.bus & ~s.writes)) & s.go):
            m.d.sync += s.word.eq(Mux(s.step.bus, bus.dat_r, Cat(s.word[8:], s.byte)))
        self._choose_condition(m, s, crc, source, holds)
        return m

    def _choose_byte(self, m, s, crc, source):
        """Byte that the step processes, from the source that it names. Registers of several bytes
        supply their lowest."""
        info = Const(self._info_address, 32)
        sources = {
            Source.FRAME: source.p.data,
            Source.OPERATION: Cat(s.operation, Const(ANSWER >> 3, 5)),
            Source.NONCE: s.nonce,
            Source.COUNT: s.count,
            Source.SEQUENCE: s.sequence,
            Source.EXPECTED: s.expected,
            Source.ADDRESS: s.runs.address[:8],
            Source.WORD: s.word[:8],
            Source.STATUS: s.status,
            Source.CRC: ~crc.state[:8],
            Source.INFO0: info[:8],
            Source.INFO1: info[8:16],
            Source.INFO2: info[16:24],
            Source.INFO3: info[24:],
        }
        with m.Switch(s.step.source):
            for number, value in sources.items():
                with m.Case(int(number)):
                    m.d.comb += s.byte.eq(value)

    @staticmethod
    def _session(m, s, does):
        """Registers of request and session, from which answers and conditions are formed."""
        other = Signal()
        m.d.comb += other.eq(s.byte != Mux(s.step.action == Action.SAME_COUNT, s.count, s.nonce))
        with m.If(does(Action.OPERATION)):
            m.d.sync += [
                s.operation.eq(s.byte[:3]),
                s.unknown.eq(s.byte[3:] != 0),
            ]
        with m.If(does(Action.SAME_NONCE, Action.SAME_COUNT, Action.NONCE)):
            m.d.sync += s.foreign.eq(other | (s.foreign & (s.step.action == Action.SAME_COUNT)))
        with m.If(does(Action.NONCE)):
            m.d.sync += s.nonce.eq(s.byte)
        with m.If(does(Action.COUNT) & s.foreign):
            m.d.sync += [
                s.count.eq(s.count + 1),
                s.stopped.eq(0),
            ]
        with m.If(does(Action.SEQUENCE)):
            m.d.sync += s.sequence.eq(s.byte)
        with m.If(does(Action.ACCEPT) & (s.distance == 0) & (s.strided | ~s.blank)):
            m.d.sync += s.expected.eq(s.expected + 1)
        # The source FRAME of the step OPERATION is status OK.
        with m.If(does(Action.OPERATION, Action.STATUS, Action.STOP)):
            m.d.sync += s.status.eq(s.step.source[:3])
        with m.If(does(Action.STOP)):
            m.d.sync += s.stopped.eq(1)

    def _choose_condition(self, m, s, crc, source, holds):
        """Condition that the step tests."""
        runs = s.runs
        # Late as well: the end of a frame goes through no CRC.
        residue = Signal(reset_less=True)
        m.d.sync += residue.eq(crc.state == RESIDUE)
        conditions = {
            When.NEVER: Const(0),
            When.MORE: ~source.p.end,
            When.GOOD: residue & ~source.p.bad & ~runs.left[-1],
            When.ANSWER: source.p.data[7],  # of a step that takes its byte from the frame
            When.BLANK: s.blank,
            When.WRITES: s.writes,
            When.SUMS: s.sums,
            When.FOREIGN: s.foreign,
            When.STOPPED: s.stopped,
            When.AHEAD: (s.distance != 0) & ~s.distance[-1],
            When.PAST: s.distance[-1],
            # Run, step and pattern of a frame that is too short leave less than nothing.
            When.BAD: s.unknown | Mux(s.carries, runs.empty | runs.left[-1], ~runs.two),
            When.LANES: runs.inside,
            When.UNFINISHED: ~runs.over,
            When.ERROR: self.bus.err,
            When.FAILED: s.status != Status.OK,
            When.STRIDED: s.strided,
            When.RUNS: ~runs.empty,
            When.SPARE: runs.spare,
        }
        with m.Switch(s.step.when):
            for number, value in conditions.items():
                with m.Case(int(number)):
                    m.d.comb += holds.eq(value)
