# SPDX-License-Identifier: BSD-2-Clause
import random
import zlib
from itertools import product

import pytest

from quintet.gateware.link.microcode import PROGRAM, Step, When, assemble
from quintet.gateware.link.protocol import Operation, Status
from quintet.tools.link.device_model import DeviceModel, WordMemory
from quintet.tools.link.frames import Answer, Decoder, Request, frame
from quintet.tools.measure.link.bench import MEMORY, Bench
from tests.support.shares import fewer

SESSION = b"\x5a\x02"
FIRST = 8  # the number after those that filled the memory
WORD = 0x8000_0100  # a word whose writes are seen


def identify(nonce=0x5A):
    return Request(Operation.IDENTIFY, length=64).encode(bytes([nonce, 0]), 0)


def write(data, address=WORD):
    return Request(Operation.WRITE, address, data=data)


def answers(received):
    decoder = Decoder()
    found = [Answer.decode(contents) for contents in decoder.feed(received)]
    assert decoder.damaged == 0 and None not in found
    return found


def ask(bench, *requests, sequence=FIRST, session=SESSION, quiet=10_000):
    sent = b"".join(
        request.encode(session, sequence + number) for number, request in enumerate(requests)
    )
    return answers(bench.run(sent, quiet))


@pytest.fixture(params=[False, True], ids=["plain", "pipelined"])
def bench(request):
    """A bench with 4 KiB of known memory (``image``), in session ``SESSION``."""
    with Bench(pipelined=request.param) as bench:
        bench.image = bytearray(random.Random(0).randbytes(4096))
        bench.run(identify(0xA5))
        pieces = [write(bytes(bench.image[at : at + 512]), at) for at in range(0, 4096, 512)]
        assert [answer.status for answer in ask(bench, *pieces, sequence=0, session=b"\xa5\1")] == [
            Status.OK
        ] * FIRST
        (bench.opened,) = answers(bench.run(identify()))
        bench.log()
        yield bench


def test_identify_opens_a_session(bench):
    assert (bench.opened.status, bench.opened.session, bench.opened.sequence) == (
        Status.OK,
        SESSION,
        FIRST,
    )
    assert bench.opened.data == bench.header


def test_read_write_checksum(bench):
    requests = []
    for address, size in (
        (0, 4),
        (1, 1),
        (2, 2),
        (3, 1),
        (3, 2),
        (5, 7),
        (8, 8),
        (1023, 512),
        (256, 512),
    ):
        requests += [
            Request(Operation.READ, address, size),
            Request(Operation.CHECKSUM, address, size),
            write(bytes(range(1, size + 1)) if size < 255 else bytes(size), address),
        ]
    requests.append(Request(Operation.READ, 0, 4096))
    for number, (request, answer) in enumerate(zip(requests, ask(bench, *requests), strict=True)):
        assert (answer.operation, answer.sequence, answer.status) == (
            request.operation,
            number + FIRST,
            Status.OK,
        )
        span = slice(request.address, request.address + request.span)
        if request.operation == Operation.WRITE:
            bench.image[span] = request.data
            assert answer.data == b""
        elif request.operation == Operation.READ:
            assert answer.data == bench.image[span]
        else:
            assert answer.data == zlib.crc32(bench.image[span]).to_bytes(4, "little")


def test_length_zero_is_65536(bench):
    read, checksum = ask(
        bench,
        Request(Operation.READ, 0, 1 << 16),
        Request(Operation.CHECKSUM, 0, 1 << 16),
        quiet=500_000,
    )
    assert len(read.data) == MEMORY and read.data[:4096] == bench.image
    assert checksum.data == zlib.crc32(read.data).to_bytes(4, "little")


def test_word_is_written_in_one_cycle(bench):
    ask(bench, write(b"abcd"), write(b"abcd", WORD + 2), write(b"x", WORD + 3))
    assert bench.log() == [
        (WORD, 0x64636261, 15),
        (WORD, 0x62610000, 12),
        (WORD + 4, 0x00006463, 3),
        (WORD, ord("x") << 24, 8),
    ]


def test_addresses_carry(bench):
    data = random.Random(3).randbytes(512)
    start = 0x8001_FF00
    got = ask(bench, write(data, start), Request(Operation.READ, start, 512))
    assert got[1].data == data
    assert [entry[0] for entry in bench.log()] == list(range(start, start + 512, 4))


def test_repeated_write_is_answered_not_executed(bench):
    first, second = (
        write(data).encode(SESSION, FIRST + number)
        for number, data in enumerate((b"one!", b"two!"))
    )
    got = answers(bench.run(first + first + second + first + second))
    assert [answer.status for answer in got] == [Status.OK] * 5
    assert [answer.sequence - FIRST for answer in got] == [0, 0, 1, 0, 1]
    assert [entry[1].to_bytes(4, "little") for entry in bench.log()] == [b"one!", b"two!"]


def test_repeated_read_is_read_again(bench):
    read = Request(Operation.READ, 0, 4).encode(SESSION, FIRST)
    assert [answer.data for answer in answers(bench.run(read + read))] == [bench.image[:4]] * 2


def test_gap_is_not_executed(bench):
    (answer,) = ask(bench, write(b"late"), sequence=FIRST + 3)
    assert (answer.status, answer.expected) == (Status.SEQUENCE, FIRST)
    (answer,) = ask(bench, write(b"late"), sequence=FIRST + 127)
    assert answer.status == Status.SEQUENCE
    assert bench.log() == []


def test_numbers_wrap(bench):
    for number in range(FIRST, 300):
        (answer,) = ask(bench, write(b"%04d" % number), sequence=number)
        assert answer.status == Status.OK and answer.sequence == number & 0xFF
    assert [entry[1].to_bytes(4, "little") for entry in bench.log()] == [
        b"%04d" % number for number in range(FIRST, 300)
    ]


def test_bus_error_stops_the_session(bench):
    data = bytes(range(12))
    got = ask(
        bench,
        Request(Operation.READ, 0, 4),
        write(data, MEMORY - 6),
        write(b"no!!"),
        Request(Operation.READ, 0, 4),
    )
    assert [answer.status for answer in got] == [Status.OK] + [Status.BUS_ERROR] * 3
    assert {(answer.expected, answer.address & ~3) for answer in got[1:]} == {(FIRST + 1, MEMORY)}
    assert bench.log() == []
    # A repeat of identify changes nothing, a new session goes on.
    assert answers(bench.run(identify()))[0].status == Status.BUS_ERROR
    (answer,) = answers(bench.run(identify(0x5B)))
    assert (answer.status, answer.session, answer.sequence) == (Status.OK, b"\x5b\x03", FIRST + 1)
    (answer,) = ask(
        bench, Request(Operation.READ, MEMORY - 6, 6), session=b"\x5b\x03", sequence=FIRST + 1
    )
    assert answer.data == data[:6]


@pytest.mark.parametrize("operation", [Operation.READ, Operation.CHECKSUM])
def test_bus_error_in_a_read(bench, operation):
    (got,) = ask(bench, Request(operation, MEMORY - 8, 16))
    assert (got.status, got.expected, got.address & ~3) == (Status.BUS_ERROR, FIRST, MEMORY)


def test_other_session_is_refused(bench):
    for session in (b"\x5a\x01", b"\x5b\x02", b"\0\0"):
        (answer,) = ask(bench, write(b"none"), session=session)
        assert (answer.status, answer.session) == (Status.SESSION, SESSION)
    assert bench.log() == []


def test_repeated_identify_keeps_the_session(bench):
    ask(bench, write(b"1234"))
    (answer,) = answers(bench.run(identify()))
    assert (answer.session, answer.sequence) == (SESSION, FIRST + 1)


def strided(operation, address, run, stride, data=b"", length=0):
    return Request(operation, address, length, data, run, stride)


def test_every_alignment_of_runs(bench):
    """Nothing is written, read or summed up outside the runs, wherever they begin and however far
    apart they are."""
    number = FIRST
    for start, run, gap in product(
        range(4), (1, 2, 3, 4, 5, 6, 7, 8, 255, 256), (0, 1, 2, 3, 4, 61)
    ):
        stride, count = run + gap, 3 if run > 8 else 5
        places = [start + stride * n + at for n in range(count) for at in range(run)]
        data = random.Random(stride).randbytes(len(places))
        got = ask(
            bench,
            strided(Operation.WRITE_STRIDED, start, run, stride, data[:480]),
            strided(Operation.READ_STRIDED, start, run, stride, length=len(places)),
            strided(Operation.CHECKSUM_STRIDED, start, run, stride, length=len(places)),
            Request(Operation.READ, 0, 4096),
            strided(Operation.FILL, start, run, stride, b"\xa0\xa1\xa2\xa3", len(places)),
            Request(Operation.READ, 0, 4096),
            sequence=number,
            quiet=30_000,
        )
        number += len(got)
        assert [answer.status for answer in got] == [Status.OK] * 6
        for place, byte in zip(places, data[:480], strict=False):
            bench.image[place] = byte
        wanted = bytes(bench.image[place] for place in places)
        assert got[1].data == wanted
        assert got[2].data == zlib.crc32(wanted).to_bytes(4, "little")
        assert got[3].data == bench.image
        for place in places:
            bench.image[place] = 0xA0 | place & 3
        assert got[5].data == bench.image


def test_run_is_written_in_whole_words(bench):
    """Bytes of a run inside one aligned word go in one cycle; the last run may be cut short."""
    ask(
        bench,
        strided(Operation.WRITE_STRIDED, WORD + 3, 3, 9, b"abcdefg"),
        strided(Operation.FILL, WORD, 4, 8, b"wxyz", 6),
    )
    assert bench.log() == [
        (WORD, ord("a") << 24, 8),
        (WORD + 4, 0x6362, 3),
        (WORD + 12, 0x00666564, 7),
        (WORD + 20, ord("g") << 8, 2),
        (WORD, 0x7A797877, 15),
        (WORD + 8, 0x7877, 3),
    ]


def test_strides_of_either_sign(bench):
    start = 0x8001_8000
    for number, stride in enumerate((0, -4, -7, -300, 32_000, 0x7FFF + 7, -0x7FF8)):
        written, read = ask(
            bench,
            strided(Operation.WRITE_STRIDED, start, 2, stride, b"abcdef"),
            strided(Operation.READ_STRIDED, start, 2, stride, length=6),
            sequence=FIRST + 2 * number,
        )
        assert written.status == Status.OK and read.data == (b"abcdef" if stride else b"efefef")
        assert [address for address, _, _ in bench.log()] == [
            start + n * stride & ~3 for n in range(3)
        ]


def test_fill_of_65536_bytes(bench):
    filled, read = ask(
        bench,
        strided(Operation.FILL, 0, 256, 256, b"fill"),
        Request(Operation.READ, 0, 1 << 16),
        quiet=500_000,
    )
    assert filled.status == Status.OK and read.data == b"fill" * (MEMORY // 4)


def test_bus_error_in_a_run(bench):
    """Runs before the failure are written, the failing word is named, nothing behind it happens."""
    start, data = MEMORY - 12, bytes(range(1, 10))
    got = ask(bench, strided(Operation.WRITE_STRIDED, start, 3, 6, data), write(b"no!!"))
    assert {(answer.status, answer.expected, answer.address & ~3) for answer in got} == {
        (Status.BUS_ERROR, FIRST, MEMORY)
    }
    (opened,) = answers(bench.run(identify(0x5B)))
    (read,) = ask(bench, Request(Operation.READ, start, 12), session=opened.session)
    assert read.data[:3] + read.data[6:9] == data[:6] and bench.log() == []
    (failed,) = ask(
        bench,
        strided(Operation.FILL, MEMORY - 8, 1, 8, b"abcd", 3),
        session=opened.session,
        sequence=FIRST + 1,
    )
    assert (failed.status, failed.expected, failed.address & ~3) == (
        Status.BUS_ERROR,
        FIRST + 1,
        MEMORY,
    )
    (opened,) = answers(bench.run(identify(0x5C)))
    for kind in (Operation.READ_STRIDED, Operation.CHECKSUM_STRIDED):
        (failed,) = ask(
            bench,
            strided(kind, MEMORY - 8, 1, 8, length=3),
            session=opened.session,
            sequence=FIRST + 1,
        )
        assert (failed.status, failed.expected, failed.address & ~3) == (
            Status.BUS_ERROR,
            FIRST + 1,
            MEMORY,
        )
        (opened,) = answers(bench.run(identify(0x5C + kind)))


def test_repeated_runs_are_answered_not_executed(bench):
    first = strided(Operation.WRITE_STRIDED, WORD, 1, 4, b"ab").encode(SESSION, FIRST)
    second = strided(Operation.FILL, WORD, 1, 4, b"fill", 2).encode(SESSION, FIRST + 1)
    got = answers(bench.run(first + second + first + second))
    assert [(answer.status, answer.sequence - FIRST) for answer in got] == [
        (Status.OK, 0),
        (Status.OK, 1),
    ] * 2
    assert [(address - WORD, word) for address, word, _ in bench.log()] == [
        (0, ord("a")),
        (4, ord("b")),
        (0, ord("f")),
        (4, ord("f")),
    ]


@pytest.mark.parametrize(
    "contents",
    [
        b"\x02" + SESSION + b"\x08" + bytes(4),  # a write without data
        b"\x01" + SESSION + b"\x08" + bytes(4),  # a read without length
        b"\x01" + SESSION + b"\x08" + bytes(4) + b"\1",
        b"\x01" + SESSION + b"\x08" + bytes(4) + b"\1\0\0",
        b"\x03" + SESSION + b"\x08" + bytes(4) + b"\1\0\0",
        b"\x0d" + SESSION + b"\x08" + bytes(4) + b"\1\0",  # no such operation
        b"\x42" + SESSION + b"\x08" + bytes(4) + b"\1\0",
        b"\x00" + SESSION + b"\x08" + bytes(4),  # identify without length
        b"\x0e" + SESSION + b"\x08\3\4\0" + bytes(4) + b"abc",
        b"\x05" + SESSION + b"\x08\3\4\0" + bytes(4) + b"\1\0\0",
        b"\x04" + SESSION + b"\x08abcd\3\4\0" + bytes(4) + b"\1\0\0",
    ],
)
def test_bad_requests(bench, contents):
    (answer,) = answers(bench.run(frame(contents)))
    assert answer.status == Status.BAD_REQUEST and bench.log() == []
    (answer,) = ask(bench, write(b"good"))
    assert answer.status == Status.OK


def test_strided_requests_that_end_too_early(bench):
    """A request may end within its run, step, pattern, address or length."""
    for kind, least in (
        (Operation.WRITE_STRIDED, 8),
        (Operation.READ_STRIDED, 9),
        (Operation.CHECKSUM_STRIDED, 9),
        (Operation.FILL, 13),
    ):
        for size in range(4, least):
            (answer,) = answers(bench.run(frame(bytes([kind]) + SESSION + b"\x08" + bytes(size))))
            assert (answer.operation, answer.status) == (kind, Status.BAD_REQUEST)
    assert bench.log() == [] and ask(bench, write(b"good"))[0].status == Status.OK


@pytest.mark.parametrize(
    "contents",
    [
        b"",
        b"\1\2\3",
        bytes(7),
        b"\x82" + SESSION + b"\x08" + bytes(4) + b"\1\0",  # an answer, looped back
    ],
)
def test_no_answer(bench, contents):
    assert bench.run(frame(contents)) == b""
    assert ask(bench, write(b"good"))[0].status == Status.OK


def test_damaged_frames_do_nothing(bench):
    good = write(b"a\0cd").encode(SESSION, FIRST)
    for position in range(len(good) - 1):
        for bit in range(8):
            broken = bytearray(good)
            broken[position] ^= 1 << bit
            assert bench.run(bytes(broken)) == b""
        assert bench.run(good[:position] + b"\0") == b""
        assert bench.run(good[position + 1 :]) == b""
    assert bench.log() == []
    assert ask(bench, write(b"good"))[0].status == Status.OK


def test_noise_never_makes_it_deaf(bench):
    noise = random.Random(6)
    for number, amount in enumerate((1, 500, 1022, 1023, 1024, 3000)):
        assert bench.run(bytes(noise.randrange(1, 256) for _ in range(amount))) == b""
        (answer,) = answers(
            bench.run(b"\0" + Request(Operation.READ, 0, 4).encode(SESSION, FIRST + number))
        )
        assert answer.data == bench.image[:4]


def test_frame_of_exactly_the_buffer(bench):
    lengths = []
    for number, size in enumerate((1004, 1005, 1006, 1007, 1008, 1500, 2100)):
        sent = write(b"\xaa" * size, 0x101).encode(SESSION, FIRST + len(lengths))
        got = answers(bench.run(sent))
        assert (len(sent) <= 1023) == bool(got), len(sent)
        if got:
            lengths.append(len(sent))
            assert got[0].status == Status.OK
        (answer,) = ask(bench, Request(Operation.READ, 0x101, size), sequence=FIRST - 1)
        assert (answer.data == b"\xaa" * size) == bool(got), number
    assert max(lengths) == 1023


class Words(WordMemory):
    """Words that keep what was written: address, bytes that count, lanes."""

    def __init__(self, size, base):
        super().__init__(size, base)
        self.log = []

    def write(self, address, word, lanes):
        self.log.append(
            (
                address,
                int.from_bytes(
                    bytes(w if used else 0 for w, used in zip(word, lanes, strict=True)), "little"
                ),
                sum(used << lane for lane, used in enumerate(lanes)),
            )
        )
        return super().write(address, word, lanes)


@pytest.mark.parametrize("seed", range(8))
def test_random_requests_against_the_model(seed):
    chance = random.Random(seed)
    with Bench(seed=seed, stall_percent=chance.choice([0, 10, 60])) as bench:
        memory, words = WordMemory(MEMORY), Words(1 << 18, 0x8000_0000)
        words.data[0x2_0000:0x2_0040] = bench.header
        model = DeviceModel([memory, words])
        expected, nonce = 0, 1
        for _ in range(fewer(60)):
            sent = b""
            for _ in range(chance.randrange(1, 6)):
                if chance.random() < 0.1:
                    nonce = chance.randrange(1, 4)
                    sent += identify(nonce)
                    continue
                operation = chance.choice(
                    [kind for kind in Operation if kind != Operation.IDENTIFY]
                )
                base = chance.choice([0, 0x8000_0000])
                size = chance.randrange(1, 24)
                run = chance.choice([chance.randrange(1, 12), 256])
                address = base + chance.choice([chance.randrange(900), chance.randrange(900) & ~3])
                if chance.random() < 0.05:
                    address = MEMORY - chance.randrange(1, 9)
                data = bytes(
                    chance.choice([0, 0, 1, 255])
                    for _ in range(4 if operation == Operation.FILL else size)
                )
                # Strides of all kinds: runs that touch, overlap, go backwards, end outside.
                stride = run + chance.choice([0, 1, 5, chance.randrange(-20, 40)])
                request = Request(
                    operation, address, size, data if operation.writes else b"", run, stride
                )
                encoded = request.encode(
                    model.session, expected + chance.choice([0] * 12 + [-1, 1, 5])
                )
                if chance.random() < 0.05:
                    # Whole, with anything in it, or with too little.
                    head = (
                        bytes([chance.choice([chance.randrange(8), chance.randrange(128)])])
                        + model.session
                        + bytes([expected & 0xFF])
                    )
                    rest = (
                        bytes([0, chance.randrange(3), chance.randrange(2)])
                        + bytes(3)
                        + chance.randbytes(chance.randrange(3))
                    )
                    contents = (
                        head
                        + chance.randbytes(chance.choice([0, 3, 4]))
                        + rest[: chance.randrange(9)]
                    )
                    # 65,536 bytes take longer than the bench waits.
                    encoded = frame(contents if contents[-2:] != bytes(2) else contents[:4])
                elif chance.random() < 0.1:
                    encoded = encoded[: chance.randrange(len(encoded))] + chance.randbytes(2)
                sent += encoded
                expected += 1
            wanted = model.feed(sent)
            got = bench.run(sent)
            expected = model.expected
            assert [plain(answer) for answer in answers(got)] == [
                plain(answer) for answer in answers(wanted)
            ]
        (opened,) = answers(bench.run(b"\0" + identify(9)))
        (read,) = ask(
            bench,
            Request(Operation.READ, 0, MEMORY),
            session=opened.session,
            sequence=opened.sequence,
        )
        assert read.data == memory.data
        assert bench.log() == words.log


def plain(answer):
    """Fields of an answer that have a meaning."""
    return (answer.operation, answer.session, answer.sequence, answer.status, answer.data) + (
        (answer.expected,)
        if answer.status == Status.SEQUENCE
        else (answer.expected, answer.address & ~3)
        if answer.status == Status.BUS_ERROR
        else ()
    )


def test_assembled_program():
    words = assemble()
    # Zeros, which block RAM may read as after configuration, go to the first step and do nothing.
    assert not any(words[1].values()) or words[0] != words[1]
    for word in words:
        assert word["target"] % 2 == 0 and word["target"] < len(words) <= 256
        assert not (word["take"] and word["emit"])
    for name, step in PROGRAM.items():
        assert step.goto in PROGRAM and (step.then in PROGRAM or step.when == When.NEVER), name


def reachable(start, *, without=()):
    """Steps that some run of the program comes to from ``start``, edges (from, to) left out."""
    found, waiting = set(), [start]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        step = PROGRAM[name]
        waiting += [
            to
            for to in (step.goto, *([step.then] if step.when else []))
            if (name, to) not in without
        ]
    return found


def test_program_executes_good_frames_only():
    """Over all runs of the program: without the edge that the CRC guards, nothing reaches the bus
    or the transmitter."""
    idle = reachable("start", without={("checked", "rewind")})
    assert idle == {"start", "check", "checked", "drop"}
    assert not any(PROGRAM[name].bus or PROGRAM[name].emit for name in idle)
    assert PROGRAM["checked"].when == When.GOOD and PROGRAM["checked"].then == "rewind"
    assert [name for name, step in PROGRAM.items() if "rewind" in (step.goto, step.then)] == [
        "checked"
    ]


def test_program_always_comes_back():
    """Every step of the bridge's program reaches the next frame; a step that repeats itself waits
    for a frame, the bus or a word's lanes."""
    for name in PROGRAM:
        assert "check" in reachable(name), name
    loops = [name for name, step in PROGRAM.items() if step.when and step.then == name]
    assert all(PROGRAM[name].take or PROGRAM[name].data for name in loops)


def test_every_request_is_answered_once():
    """A frame that is judged passes one answer's end before it is given up, unless it is an answer
    itself."""
    for name in PROGRAM:
        if name in ("start", "check", "checked", "drop", "rewind", "operation", "end", "release"):
            continue
        assert "drop" not in reachable(name, without={("end", "release")}), name


def test_assembler_refuses():
    with pytest.raises(ValueError, match="no step 'nowhere'"):
        assemble({"start": Step(goto="nowhere")})
    with pytest.raises(ValueError, match="expected at most 256"):
        assemble(
            {"start": Step(goto="0")} | {str(n): Step(goto=str((n + 1) % 200)) for n in range(200)}
        )
