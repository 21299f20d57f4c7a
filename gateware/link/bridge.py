# SPDX-License-Identifier: BSD-2-Clause
"""The board's side of the host link: requests in frames become bus cycles (docs/link.md)."""
from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from quintet.gateware.bus.soclib import wishbone

from .crc import CRC32, RESIDUE
from .framing import FrameReceiver, FrameTransmitter
from .protocol import ANSWER, INFO_ADDRESS, OVERHEAD, Operation, Status

__all__ = ["LinkBridge"]


class LinkBridge(wiring.Component):
    """Executes the requests of the host, each at most once, and answers them.

    Parameters
    ----------
    info_address : int
        Byte address of the info ROM, which identify reads; a multiple of 4 below 2^32.
    buffer : int
        Bytes of the receive buffer, a power of two of at least 1024 (a frame with 512 bytes of data has 528).

    Members
    -------
    rx : In(stream.Signature(8))
        Bytes from the host. Ready within bounded time, as long as the host takes its answers and every bus cycle ends.
    tx : Out(stream.Signature(8))
        Bytes to the host.
    bus : Out(wishbone.Signature(addr_width=30, data_width=32, granularity=8, features={"err"}))
        Master; one classic cycle for each word. Between words ``cyc`` falls.

    Throughput: a write takes about 5 cycles a byte and a bus cycle a word, a read 1 and a bus cycle a word.

    Raises
    ------
    TypeError, ValueError
        ``info_address`` or ``buffer`` is not what is said above.
    """
    def __init__(self, *, info_address=INFO_ADDRESS, buffer=1024):
        if not isinstance(info_address, int) or isinstance(info_address, bool):
            raise TypeError(f"info_address must be an integer, not {info_address!r}")
        if not 0 <= info_address < 2 ** 32 or info_address % 4:
            raise ValueError(f"info_address must be a multiple of 4 from 0 to 0xfffffffc, not {info_address:#x}")
        if not isinstance(buffer, int) or isinstance(buffer, bool):
            raise TypeError(f"buffer must be an integer, not {buffer!r}")
        if buffer < 1024 or buffer & (buffer - 1):
            raise ValueError(f"buffer must be a power of two of at least 1024, not {buffer!r}")
        self._info_address = info_address
        self._buffer = buffer
        super().__init__({
            "rx": In(stream.Signature(8)),
            "tx": Out(stream.Signature(8)),
            "bus": Out(wishbone.Signature(addr_width=30, data_width=32, granularity=8, features={"err"})),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.receiver = receiver = FrameReceiver(depth=self._buffer)
        m.submodules.transmitter = transmitter = FrameTransmitter()
        m.submodules.crc = crc = CRC32()
        wiring.connect(m, wiring.flipped(self.rx), receiver.i)
        wiring.connect(m, transmitter.o, wiring.flipped(self.tx))
        source, sink, bus = receiver.o, transmitter.i, self.bus

        # One byte is in the engine's hand each cycle. It comes from the frame or from a register, and goes to a register,
        # the CRC, the answer, or several of them. Registers of several bytes take part by rotation.
        byte = Signal(8)
        done = Signal()                 # the byte has been taken
        index = Signal(3)               # counts bytes in the states that need it

        operation = Signal(Operation)
        unknown = Signal()              # there is no such operation
        session = Signal(16)
        foreign = Signal()              # the request is of another session; identify: it begins one
        sequence = Signal(8)
        expected = Signal(8)
        advance = Signal()              # the request is the one expected
        stopped = Signal()
        status = Signal(Status)
        address = Signal(32)            # low two bits: bytes of the first word to pass over
        length = Signal(16, init=-OVERHEAD & 0xFFFF)  # data bytes to go; while a frame is checked: those it has so far
        over = Signal()                 # none are to go
        word = Signal(32)
        select = Signal(4)
        lane = Signal(2)

        identify = operation == Operation.IDENTIFY
        writes = operation == Operation.WRITE
        sums = operation == Operation.CHECKSUM

        turn_session = Signal()
        turn_address = Signal()
        turn_word = Signal()
        session_in = Signal(8)
        m.d.comb += session_in.eq(session[:8])
        with m.If(turn_session):
            m.d.sync += session.eq(Cat(session[8:], session_in))
        with m.If(turn_address):
            m.d.sync += address.eq(Cat(address[8:], byte))
        with m.If(turn_word):
            m.d.sync += word.eq(Cat(word[8:], byte))

        m.d.comb += [
            crc.data.eq(byte),
            sink.p.data.eq(byte),
            bus.adr.eq(address[2:]),
            bus.dat_w.eq(word),
            bus.we.eq(writes),
            bus.sel.eq(select | ~writes.replicate(4)),
        ]
        with m.If(done):
            m.d.sync += index.eq(index + 1)

        def from_frame():
            m.d.comb += [
                byte.eq(source.p.data),
                source.ready.eq(1),
                done.eq(source.valid),
            ]

        def to_answer(value):
            m.d.comb += [
                byte.eq(value),
                sink.valid.eq(1),
                crc.step.eq(sink.ready),
                done.eq(sink.ready),
            ]

        def end_frame():
            """Gives up the frame; the next one is checked from the start."""
            m.d.comb += [
                receiver.release.eq(1),
                crc.init.eq(1),
            ]
            m.d.sync += length.eq(-OVERHEAD & 0xFFFF)
            m.next = "CHECK"

        with m.FSM():
            # First pass over a frame: CRC and length.
            with m.State("CHECK"):
                m.d.comb += [
                    byte.eq(source.p.data),
                    source.ready.eq(1),
                    crc.step.eq(source.valid),
                ]
                m.d.sync += index.eq(0)
                with m.If(source.valid):
                    with m.If(~source.p.end):
                        m.d.sync += length.eq(length + 1)
                    with m.Elif((crc.state == RESIDUE) & ~source.p.bad & ~length[-1]):
                        m.d.comb += [
                            receiver.rewind.eq(1),
                            crc.init.eq(1),
                        ]
                        m.next = "HEADER"
                    with m.Else():
                        end_frame()

            # Second pass. The length is known, so the end is met in RELEASE only.
            with m.State("HEADER"):
                from_frame()
                with m.If(index[2]):
                    m.d.comb += turn_address.eq(done)
                    with m.If(stopped):
                        # The address is that of the failure, and stays.
                        m.d.comb += byte.eq(address[:8])
                    with m.Elif(identify):
                        m.d.comb += byte.eq(Const(self._info_address, 32).word_select(index[:2], 8))
                with m.If(done):
                    with m.Switch(index):
                        with m.Case(0):
                            m.d.sync += [
                                operation.eq(byte[:2]),
                                unknown.eq(byte[2:] != 0),
                            ]
                            with m.If(byte[7]):
                                m.next = "RELEASE"
                        with m.Case(1):
                            m.d.comb += turn_session.eq(1)
                            m.d.sync += foreign.eq(byte != session[:8])
                            with m.If(identify):
                                m.d.comb += session_in.eq(byte)
                        with m.Case(2):
                            m.d.comb += turn_session.eq(1)
                            with m.If(~identify):
                                m.d.sync += foreign.eq(foreign | (byte != session[:8]))
                            with m.Elif(foreign):
                                m.d.comb += session_in.eq(session[:8] + 1)
                                m.d.sync += stopped.eq(0)
                        with m.Case(3):
                            m.d.sync += sequence.eq(Mux(identify, expected, byte))
                        with m.Case(7):
                            m.next = "JUDGE"

            with m.State("JUDGE"):
                distance = Signal(8)
                m.d.comb += distance.eq(sequence - expected)
                m.d.sync += [
                    status.eq(Status.OK),
                    advance.eq((distance == 0) & ~identify),
                    over.eq(0),
                ]
                m.next = "ANSWER"
                with m.If(foreign & ~identify):
                    m.d.sync += status.eq(Status.SESSION)
                with m.Elif(stopped):
                    m.d.sync += status.eq(Status.BUS_ERROR)
                with m.Elif((distance != 0) & ~distance[-1]):
                    m.d.sync += status.eq(Status.SEQUENCE)
                with m.Elif(unknown | (length != 2) & ~writes | (length == 0)):
                    m.d.sync += status.eq(Status.BAD_REQUEST)
                with m.Elif(~writes):
                    m.next = "LENGTH"
                with m.Elif(distance == 0):
                    m.next = "WORD"

            with m.State("LENGTH"):
                from_frame()
                with m.If(done):
                    m.d.sync += length.eq(Cat(length[8:], byte))
                    with m.If(index[0]):
                        m.d.sync += index.eq(0)
                        m.next = "ANSWER"
                        with m.If(sums):
                            m.next = "BUS"

            # Data: a write fills a word and then goes to the bus, everything else the other way round.
            with m.State("WORD"):
                active = Signal()
                m.d.comb += [
                    active.eq((address[:2] == 0) & ~over),
                    byte.eq(word[:8]),
                    done.eq(1),
                    turn_word.eq(done),
                ]
                with m.If(active):
                    with m.If(writes):
                        from_frame()
                    with m.Elif(sums):
                        m.d.comb += crc.step.eq(1)
                    with m.Else():
                        to_answer(word[:8])
                with m.If(done):
                    m.d.sync += [
                        lane.eq(lane + 1),
                        select.eq(Cat(select[1:], active)),
                    ]
                    with m.If(active):
                        m.d.sync += [
                            length.eq(length - 1),
                            over.eq(length == 1),
                        ]
                    with m.If(address[:2] != 0):
                        m.d.sync += address[:2].eq(address[:2] - 1)
                    with m.If(lane == 3):
                        m.d.sync += index.eq(0)
                        m.next = "BUS"
                        with m.If(~writes & (over | active & (length == 1))):
                            m.next = "STATUS"
                            with m.If(sums):
                                m.next = "SUM"

            with m.State("BUS"):
                m.d.comb += [
                    bus.cyc.eq(1),
                    bus.stb.eq(1),
                ]
                with m.If(bus.ack):
                    m.d.sync += [
                        word.eq(bus.dat_r),
                        address[2:].eq(address[2:] + 1),
                    ]
                    m.next = "WORD"
                    with m.If(writes & over):
                        m.next = "ANSWER"
                with m.If(bus.err):
                    m.d.sync += [
                        address.eq(address),
                        status.eq(Status.BUS_ERROR),
                        stopped.eq(1),
                    ]
                    m.next = "FAILURE"
                    with m.If(writes | sums):
                        m.d.comb += crc.init.eq(1)
                        m.next = "ANSWER"

            # The CRC-32 of memory moves to the word, since the answer needs a CRC itself.
            with m.State("SUM"):
                m.d.comb += [
                    byte.eq(~crc.state[:8]),
                    crc.step.eq(1),
                    crc.shift.eq(1),
                    done.eq(1),
                    turn_word.eq(1),
                ]
                with m.If(index[:2] == 3):
                    m.d.comb += crc.init.eq(1)
                    m.d.sync += index.eq(0)
                    m.next = "ANSWER"

            with m.State("ANSWER"):
                with m.Switch(index[:2]):
                    with m.Case(0):
                        to_answer(Cat(operation, Const(ANSWER >> 2, 6)))
                    with m.Case(1, 2):
                        to_answer(session[:8])
                        m.d.comb += turn_session.eq(done)
                    with m.Case(3):
                        to_answer(sequence)
                        with m.If(done):
                            m.d.sync += index.eq(0)
                            with m.If(status != Status.OK):
                                m.next = "FAILURE"
                            with m.Elif(writes):
                                m.next = "STATUS"
                            with m.Elif(sums):
                                m.next = "RESULT"
                            with m.Else():
                                m.next = "BUS"

            with m.State("RESULT"):
                to_answer(word[:8])
                m.d.comb += turn_word.eq(done)
                with m.If(done & (index[:2] == 3)):
                    m.next = "STATUS"

            with m.State("FAILURE"):
                to_answer(expected)
                with m.If(index != 0):
                    m.d.comb += [
                        byte.eq(address[:8]),
                        turn_address.eq(done),
                    ]
                with m.If(done & index[2]):
                    m.next = "STATUS"

            with m.State("STATUS"):
                to_answer(status)
                with m.If(done):
                    m.d.sync += index.eq(0)
                    with m.If(status == Status.OK):
                        m.d.sync += expected.eq(expected + advance)
                    m.next = "CRC"

            with m.State("CRC"):
                to_answer(~crc.state[:8])
                m.d.comb += crc.shift.eq(1)
                with m.If(done & (index[:2] == 3)):
                    m.next = "END"

            with m.State("END"):
                m.d.comb += [
                    sink.valid.eq(1),
                    sink.p.end.eq(1),
                ]
                with m.If(sink.ready):
                    m.next = "RELEASE"

            with m.State("RELEASE"):
                m.d.comb += source.ready.eq(1)
                with m.If(source.valid & source.p.end):
                    end_frame()
        return m
