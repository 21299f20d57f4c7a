# SPDX-License-Identifier: BSD-2-Clause
import random
import zlib

import pytest
from link_bench import Bench, header_rom

from quintet.gateware.link.bridge import LinkBridge
from quintet.gateware.link.protocol import Operation, Status
from quintet.tools.link.device_model import DeviceModel, WordMemory
from quintet.tools.link.frames import Answer, Decoder, Request, frame

SESSION = b"\x5a\x01"


def identify(nonce=0x5A, sequence=0):
    return Request(Operation.IDENTIFY, length=64).encode(bytes([nonce, 0]), sequence)


def answers(received):
    decoder = Decoder()
    found = [Answer.decode(contents) for contents in decoder.feed(received)]
    assert decoder.damaged == 0 and None not in found
    return found


@pytest.fixture
def bench():
    memory = WordMemory(4096)
    memory.data[:] = random.Random(0).randbytes(4096)
    bench = Bench([memory, header_rom()])
    bench.memory = memory
    return bench


def ask(bench, *requests, sequence=0, session=SESSION):
    sent = b"".join(request.encode(session, sequence + number) for number, request in enumerate(requests))
    return answers(bench.run(sent))


def test_identify_opens_a_session(bench):
    answer, = answers(bench.run(identify()))
    assert (answer.status, answer.session, answer.sequence) == (Status.OK, SESSION, 0)
    assert answer.data == bytes(bench.regions[1].data)


def test_read_write_checksum(bench):
    bench.quiet = 1300    # the first pass over the longest frame
    image = bytearray(bench.memory.data)
    bench.run(identify())
    requests = []
    for address, size in ((0, 4), (1, 1), (2, 2), (3, 1), (3, 2), (5, 7), (8, 8), (1023, 512), (256, 512)):
        requests += [Request(Operation.READ, address, size), Request(Operation.CHECKSUM, address, size)]
        requests.append(Request(Operation.WRITE, address, data=bytes(range(1, size + 1)) if size < 255 else bytes(size)))
    for number, (request, answer) in enumerate(zip(requests, ask(bench, *requests), strict=True)):
        assert (answer.operation, answer.sequence, answer.status) == (request.operation, number, Status.OK)
        span = slice(request.address, request.address + request.span)
        if request.operation == Operation.WRITE:
            image[span] = request.data
            assert answer.data == b""
        elif request.operation == Operation.READ:
            assert answer.data == image[span]
        else:
            assert answer.data == zlib.crc32(image[span]).to_bytes(4, "little")
    assert bench.memory.data == image


def test_word_is_written_in_one_cycle(bench):
    bench.run(identify())
    ask(bench, Request(Operation.WRITE, 16, data=b"abcd"), Request(Operation.WRITE, 22, data=b"abcd"))
    assert bench.memory.writes == 3


def test_repeated_write_is_answered_not_executed(bench):
    bench.run(identify())
    first = Request(Operation.WRITE, 0, data=b"one!").encode(SESSION, 0)
    second = Request(Operation.WRITE, 0, data=b"two!").encode(SESSION, 1)
    got = answers(bench.run(first + first + second + first + second))
    assert [answer.status for answer in got] == [Status.OK] * 5
    assert [answer.sequence for answer in got] == [0, 0, 1, 0, 1]
    assert bench.memory.writes == 2
    assert bench.memory.data[:4] == b"two!"


def test_gap_is_not_executed(bench):
    bench.run(identify())
    answer, = ask(bench, Request(Operation.WRITE, 0, data=b"late"), sequence=3)
    assert (answer.status, answer.expected) == (Status.SEQUENCE, 0)
    assert bench.memory.writes == 0


def test_numbers_wrap(bench):
    bench.run(identify())
    for number in range(257):
        answer, = ask(bench, Request(Operation.WRITE, 4, data=b"%04d" % number), sequence=number)
        assert answer.status == Status.OK
    assert bench.memory.writes == 257 and bench.memory.data[4:8] == b"0256"


def test_bus_error_stops_the_session(bench):
    bench.run(identify())
    data = bytes(range(12))
    got = ask(bench, Request(Operation.READ, 0, 4), Request(Operation.WRITE, 4090, data=data),
              Request(Operation.WRITE, 0, data=b"no!!"), Request(Operation.READ, 0, 4))
    assert [answer.status for answer in got] == [Status.OK] + [Status.BUS_ERROR] * 3
    assert {(answer.expected, answer.address & ~3) for answer in got[1:]} == {(1, 4096)}
    assert bench.memory.data[4090:] == data[:6] and bench.memory.data[:4] != b"no!!"
    # A repeat of identify changes nothing, a new session goes on.
    assert answers(bench.run(identify()))[0].status == Status.BUS_ERROR
    answer, = answers(bench.run(identify(0x5B)))
    assert (answer.status, answer.session, answer.sequence) == (Status.OK, b"\x5b\x02", 1)


def test_bus_error_in_a_read(bench):
    bench.run(identify())
    got = answers(bench.run(Request(Operation.READ, 4088, 16).encode(SESSION, 0)))
    assert (got[0].status, got[0].address & ~3) == (Status.BUS_ERROR, 4096)
    bench.run(identify(7))
    got = answers(bench.run(Request(Operation.CHECKSUM, 4088, 16).encode(b"\x07\x02", 0)))
    assert (got[0].status, got[0].address & ~3) == (Status.BUS_ERROR, 4096)


def test_other_session_is_refused(bench):
    bench.run(identify())
    for session in (b"\x5a\x00", b"\x5b\x01", b"\0\0"):
        answer, = ask(bench, Request(Operation.WRITE, 0, data=b"none"), session=session)
        assert (answer.status, answer.session) == (Status.SESSION, SESSION)
    assert bench.memory.writes == 0


def test_repeated_identify_keeps_the_session(bench):
    bench.run(identify())
    ask(bench, Request(Operation.WRITE, 0, data=b"1234"))
    answer, = answers(bench.run(identify()))
    assert (answer.session, answer.sequence) == (SESSION, 1)


@pytest.mark.parametrize("contents", [
    b"\x02" + SESSION + bytes(5),                      # a write without data
    b"\x01" + SESSION + bytes(5),                      # a read without length
    b"\x01" + SESSION + bytes(5) + b"\1",
    b"\x01" + SESSION + bytes(5) + b"\1\0\0",
    b"\x03" + SESSION + bytes(5) + b"\1\0\0",
    b"\x05" + SESSION + bytes(5) + b"\1\0",            # no such operation
    b"\x42" + SESSION + bytes(5) + b"\1\0",
])
def test_bad_requests(bench, contents):
    bench.run(identify())
    answer, = answers(bench.run(frame(contents)))
    assert answer.status == Status.BAD_REQUEST
    assert bench.bus_cycles == 16
    answer, = ask(bench, Request(Operation.WRITE, 0, data=b"good"))
    assert answer.status == Status.OK


@pytest.mark.parametrize("contents", [
    b"", b"\1\2\3", bytes(7),
    b"\x82" + SESSION + bytes(5) + b"\1\0",            # an answer, looped back
])
def test_no_answer(bench, contents):
    bench.run(identify())
    assert bench.run(frame(contents)) == b""


def test_damaged_frames_do_nothing(bench):
    bench.run(identify())
    good = Request(Operation.WRITE, 0, data=b"a\0cd").encode(SESSION, 0)
    noise = random.Random(5)
    for position in range(0, len(good) - 1, 3):
        broken = bytearray(good)
        broken[position] ^= 1 << noise.randrange(8)
        assert bench.run(bytes(broken)) == b"" or 0 in broken[:-1]
        assert bench.run(good[:position] + b"\0") == b""
    assert bench.memory.writes == 0


def test_noise_never_makes_it_deaf(bench):
    bench.run(identify())
    noise = random.Random(6)
    bench.quiet = 2500
    for number, amount in enumerate((1, 500, 1022, 1023, 1024, 3000)):
        assert bench.run(bytes(noise.randrange(1, 256) for _ in range(amount))) == b""
        answer, = answers(bench.run(b"\0" + Request(Operation.READ, 0, 4).encode(SESSION, number)))
        assert answer.data == bench.memory.data[:4]


def test_frame_of_exactly_the_buffer(bench):
    bench.run(identify())
    bench.quiet = 2500
    address = 0x0101_0101 & 0xFFF
    for size in (1005, 1006, 1007, 1008, 1500):
        sent = Request(Operation.WRITE, address, data=b"\xAA" * size).encode(SESSION, 0)
        got = answers(bench.run(sent))
        assert (len(sent) <= 1023) == bool(got), len(sent)
        bench.run(identify(size & 0xFF))


@pytest.mark.parametrize("seed", range(2))
def test_random_requests_against_the_model(seed):
    chance = random.Random(seed)
    regions = [[WordMemory(1024), header_rom()] for _ in range(2)]
    model = DeviceModel(regions[0])
    bench = Bench(regions[1], stall=lambda: chance.choice((0, 0, 0, 0, 1, 2, 7)))
    expected, nonce = 0, 1
    for _ in range(40):
        sent = b""
        for _ in range(chance.randrange(1, 6)):
            if chance.random() < 0.1:
                nonce = chance.randrange(1, 4)
                sent += identify(nonce)
                continue
            operation = chance.choice([Operation.READ, Operation.WRITE, Operation.CHECKSUM])
            address, size = chance.choice([chance.randrange(1000), chance.randrange(1000) & ~3]), chance.randrange(1, 24)
            address = chance.choice([address] * 9 + [1020])
            data = bytes(chance.choice([0, 0, 1, 255]) for _ in range(size))
            request = Request(operation, address, size, data if operation == Operation.WRITE else b"")
            encoded = request.encode(model.session, expected + chance.choice([0] * 12 + [-1, 1, 5]))
            if chance.random() < 0.1:
                encoded = encoded[:chance.randrange(len(encoded))] + chance.randbytes(2)
            sent += encoded
            expected += 1
        wanted = model.feed(sent)
        got = bench.run(sent)
        expected = model.expected

        def plain(received):
            return [(a.operation, a.session, a.sequence, a.status, a.data) + (
                (a.expected,) if a.status == Status.SEQUENCE else
                (a.expected, a.address & ~3) if a.status == Status.BUS_ERROR else ()) for a in answers(received)]
        assert plain(got) == plain(wanted)
        assert regions[0][0].data == regions[1][0].data
    assert regions[0][0].writes == regions[1][0].writes


@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
@pytest.mark.parametrize("name, value, error", [
    ("info_address", "0", TypeError), ("info_address", 2, ValueError), ("info_address", 1 << 32, ValueError),
    ("info_address", -4, ValueError), ("buffer", 1024.0, TypeError), ("buffer", 512, ValueError),
    ("buffer", 1025, ValueError),
])
def test_arguments(name, value, error):
    with pytest.raises(error, match=name):
        LinkBridge(**{name: value})
