# SPDX-License-Identifier: BSD-2-Clause
"""Hosts of a served board: those that come, that go, that are too many, and that wait
(docs/how/link.md, "Served boards")."""

import contextlib
import os
import random
import struct
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

from quintet.firmware.opentpu import digits
from quintet.gateware.link.protocol import MAX_DATA, Operation
from quintet.tools import open_target
from quintet.tools.errors import InputError, NoDeviceError, TargetError
from quintet.tools.link.client import LinkClient
from quintet.tools.link.errors import LinkError, RefusedError
from quintet.tools.link.frames import Answer, Decoder, Request
from quintet.tools.link.notices import Notice, decode_notice, encode_notice
from quintet.tools.link.pipe import Pipe
from quintet.tools.link.ports import open_pipe
from quintet.tools.link.served import ServedPipe
from quintet.tools.serve import ServeError, SocketEndpoint, listener, server
from tests.tools.tools_slow_board import BYTE, SlowBoard, connect, served

#: Simulated so slowly that the board takes 4 KB a second, as one of some size does: 100 KB last 25
#: seconds.
SLOW = 4096 * BYTE
HELLO = b"\0" + encode_notice(Notice.HELLO)
TOKEN = "a-token.of_some~length"


@pytest.fixture(params=["terminal", "socket"])
def kind(request):
    return request.param


def send(name, data):
    """A program that sends and goes, after a while in which it all has come."""
    if name.startswith("socket://"):
        with connect(name) as rude:
            rude.sendall(data)
            time.sleep(0.1)
    else:
        handle = os.open(name, os.O_RDWR | os.O_NOCTTY)
        while data:
            data = data[os.write(handle, data) :]
        time.sleep(0.1)
        os.close(handle)


def identify(name):
    """Seconds that a new host waits for identify, all answers that it gets to see, and how many
    frames were damaged."""
    began = time.monotonic()
    with open_pipe(name) as pipe:
        pipe.write(HELLO + Request(Operation.IDENTIFY, length=64).encode(b"\x77\0", 0))
        decoder, answers, seconds = Decoder(), [], None
        while time.monotonic() < began + (10 if seconds is None else seconds + 0.3):
            answers += filter(None, map(Answer.decode, decoder.feed(pipe.read(4096, 0.1))))
            seconds = time.monotonic() - began if answers and seconds is None else seconds
        return seconds, answers, decoder.damaged


def only_ours(answers, damaged):
    return (
        len(answers) == 1
        and answers[0].operation == Operation.IDENTIFY
        and answers[0].session[0] == 0x77
        and not damaged
    )


# Those that go


@pytest.mark.parametrize(
    "noise", [random.Random(1).randbytes(100_000), bytes(100_000), b"\1\2\3" * 33_333]
)
def test_noise_does_not_block_the_next_host(kind, noise):
    with served(SlowBoard(SLOW), kind) as name:
        send(name, noise)
        seconds, answers, damaged = identify(name)
    assert seconds < 1.5 and only_ours(answers, damaged), (seconds, answers, damaged)


def test_requests_of_a_host_that_left_are_neither_answered_to_the_next_nor_executed(kind):
    board = SlowBoard(SLOW)
    session = b"\x11\1"
    requests = [Request(Operation.IDENTIFY, length=64).encode(b"\x11\0", 0)]
    requests += [
        Request(Operation.WRITE, 4 * n, data=b"\xee" * 4).encode(session, n) for n in range(100)
    ]
    requests += [Request(Operation.READ, 0, 1024).encode(session, n) for n in range(100, 110)]
    with served(board, kind) as name:
        send(name, b"\0" + b"".join(requests))
        time.sleep(0.05)  # less than any program needs to start
        seconds, answers, damaged = identify(name)
    assert seconds < 1.5 and only_ours(answers, damaged), (seconds, answers, damaged)
    assert board.memory.data.count(0xEE) < 4 * 50


def test_a_loader_that_is_killed_leaves_nothing_behind(kind):
    board = SlowBoard(SLOW)
    code = (
        "import sys; from quintet.tools import open_target; t = open_target(sys.argv[1]); "
        "print('open', flush=True)\n"
        "while True: t.write(0, bytes(range(1, 251)) * 200)"
    )
    with served(board, kind) as name:
        loader = subprocess.Popen(
            [sys.executable, "-c", code, name], stdout=subprocess.PIPE, text=True
        )
        assert loader.stdout.readline() == "open\n"
        time.sleep(0.3)
        loader.kill()
        loader.wait()
        loader.stdout.close()
        time.sleep(0.05)  # less than any program needs to start
        seconds, answers, damaged = identify(name)
        assert seconds < 1.5 and only_ours(answers, damaged), (seconds, answers, damaged)
        with open_target(name) as target:
            target.write(0x8000, b"ours")
            assert target.read(0x8000, 4) == b"ours" and target.client.repeats == 0


class Script:
    """An endpoint that brings what it is told to, turn by turn, and takes all or (``takes`` false)
    nothing."""

    connected = True

    def __init__(self, *turns):
        self.turns, self.sent, self.takes = list(turns), bytearray(), True

    def receive(self, wait):
        return self.turns.pop(0) if self.turns else (False, b"")

    def send(self, data):
        if self.takes:
            self.sent += data
        return len(data) * self.takes

    def forget(self):
        self.forgotten = bytes(self.sent)

    def wait_to_send(self, seconds):
        pass


def test_a_host_that_was_idle_goes_on(monkeypatch, kind):
    """While the board rests its time goes on with the wall's; what was told to a host that did not
    read is no silence of the board."""
    monkeypatch.setattr(server, "REST", 1000)
    with served(SlowBoard(1_000_000), kind) as name:
        target = open_target(name)
        target.write(0, b"1234")
        time.sleep(2.5)
        assert target.read(0, 4) == b"1234" and target.client.repeats == 0
        target.close()


class Losing(Pipe):
    """``pipe`` on a line that loses every ``every``-th frame that the host sends, once armed."""

    def __init__(self, pipe, every):
        self._pipe, self._every, self._count, self.armed = pipe, every, 0, False
        self.name = pipe.name

    def write(self, data):
        self._count += self.armed
        if not self.armed or self._count % self._every:
            self._pipe.write(data)

    def read(self, limit, timeout):
        return self._pipe.read(limit, timeout)

    def close(self):
        self._pipe.close()


def test_lost_frames_cost_round_trips_of_the_board(kind):
    """A retry waits 0.1 s of the board's time: 2.5 million cycles, which would take 6 s at
    400,000 simulated cycles a second."""
    with served(SlowBoard(400_000), kind) as name:
        line = Losing(open_pipe(name), every=8)
        client = LinkClient(ServedPipe(line), seed=1)
        client.identify()
        for place in range(8):
            client.write_word(4 * place, place)
        line.armed, began = True, client.pipe.now()
        for place in range(32):
            client.write_word(4 * place, place + 1)
        assert client.repeats >= 4 and client.pipe.now() - began < 0.2
        line.armed = False
        assert client.read(0, 128) == struct.pack("<32I", *range(1, 33))
        client.close()


def turns(board, endpoint, count, framed=True):
    serving = server._Server(board, endpoint, framed)
    for _ in range(count):
        serving.turn()
    return serving


def test_a_hello_begins_a_host_though_the_end_of_the_last_was_not_seen():
    """A terminal that is closed and opened again between two looks."""
    stale = (
        b"\0"
        + b"".join(Request(Operation.IDENTIFY, length=64).encode(b"\x11\0", n) for n in range(5))
        + b"cut o"
    )
    fresh = HELLO + Request(Operation.IDENTIFY, length=64).encode(b"\x77\0", 0)
    for cut in range(len(fresh)):
        endpoint = Script((False, stale + fresh[:cut]), (False, fresh[cut:]))
        turns(SlowBoard(1e9), endpoint, 12)
        answers = [
            answer for frame in Decoder().feed(endpoint.sent) if (answer := Answer.decode(frame))
        ]
        assert [answer.session[0] for answer in answers if answer.session[0] != 0x11] == [0x77]
        # What was answered before the hello had come whole could not be known as stale; nothing is
        # behind it.
        assert answers[-1].session[0] == 0x77


def test_what_the_last_host_got_in_part_is_dropped_and_ended():
    """An answer that is under way while the next host says hello: its rest is dropped, and what is
    read already does not spoil the notice behind it."""
    endpoint = Script((False, Request(Operation.IDENTIFY, length=64).encode(b"\x11\0", 0)))
    serving = turns(SlowBoard(1e9), endpoint, 4)
    endpoint.sent.clear()
    serving._out[:] = Answer(Operation.READ, b"\x11\1", 1, 0, bytes(range(100))).encode()
    endpoint.send = lambda data, send=endpoint.send: send(data[:20])
    serving._deliver()
    assert len(serving._out) > 20
    endpoint.turns.append((False, HELLO))
    del endpoint.send
    serving.turn()
    cut, *frames = bytes(endpoint.sent).split(b"\0")
    assert len(cut) == 20 and endpoint.forgotten == cut
    assert decode_notice(next(frame for frame in frames if frame))[0] == Notice.TIME


def test_a_fence_passes_exactly_what_lies_behind_it():
    chance = random.Random(4)
    fence = server._Fence(3)
    stale = [
        Answer(Operation.READ, b"\x11\1", n, 0, chance.randbytes(50)).encode() for n in range(4)
    ]
    other = Answer(Operation.IDENTIFY, b"\0\1", 0, 0, bytes(server._Fence(2)._length)).encode()
    ours = Answer(Operation.IDENTIFY, b"\0\2", 0, 0, bytes(fence._length)).encode()
    stream = b"noise\0" + b"".join(stale) + other + ours + b"what follows\0and mo"
    for _ in range(200):
        fence, at, rest = server._Fence(3), 0, None
        while rest is None:
            size = chance.choice([1, 3, 40, 400])
            rest = fence.passes(stream[at : at + size])
            at += size
        assert rest + stream[at:] == b"what follows\0and mo"


def test_a_fence_without_an_answer_does_not_shut_the_link_for_ever(monkeypatch):
    monkeypatch.setattr(server, "REST", 4000)
    board = SlowBoard(1e9)
    board.device.feed = lambda data: b""  # as while it is being reset
    endpoint = Script((True, b""))
    serving = turns(board, endpoint, 5)
    assert serving._fence is None


def test_uartbone_hosts_that_go():
    board = SlowBoard(1e9)
    board.device.feed = bytes  # an echo
    endpoint = Script((False, b"one"), (True, b""), (False, b""), (False, HELLO))
    turns(board, endpoint, 8, framed=False)
    assert bytes(endpoint.sent) == b"one" + HELLO


def test_bytes_beyond_all_measure_are_lost(monkeypatch):
    monkeypatch.setattr(server, "BACKLOG", 1000)
    board = SlowBoard(1e9)
    endpoint = Script(*[(False, b"x" * 600)] * 5)
    board.advance = lambda *_, **__: None
    turns(board, endpoint, 5)
    assert board.waiting == 1200


def test_a_host_that_takes_nothing_loses_answers_and_the_next_frame_is_whole(monkeypatch):
    monkeypatch.setattr(server, "PATIENCE", 0)
    board = SlowBoard(1e9)
    endpoint = Script(
        (False, HELLO), (False, Request(Operation.IDENTIFY, length=64).encode(b"\x77\0", 0))
    )
    endpoint.takes = False
    serving = turns(board, endpoint, 6)
    assert len(serving._out) < 200
    endpoint.takes = True
    for _ in range(20):
        serving.turn()
        time.sleep(0.01)
    notices = [decode_notice(frame) for frame in bytes(endpoint.sent).split(b"\0") if frame]
    assert notices and all(notice[0] == Notice.TIME for notice in notices)


# Those that are too many


def test_a_second_host_is_refused_at_once_and_the_first_not_disturbed(quintet):
    board = SlowBoard(SLOW * 4)
    with served(board) as name, open_target(name) as first:
        first.write(0, b"first")
        began = time.monotonic()
        with pytest.raises(
            NoDeviceError, match=f"^cannot open {name}: busy: another program holds it$"
        ):
            open_target(name)
        assert time.monotonic() - began < 1
        with connect(name) as raw:  # one that talks much, and listens afterwards
            raw.sendall(bytes(1000) * 50)
            heard = b""
            while piece := raw.recv(1000):
                heard += piece
            assert decode_notice(heard.strip(b"\0")) == (
                Notice.REFUSED,
                b"busy: another program holds it",
            )
        ran = quintet("run", digits.job(8), "--on", name)
        assert (
            ran.code == 3
            and ran.err == f"quintet: cannot open {name}: busy: another program holds it\n"
        )
        assert first.read(0, 5) == b"first" and first.client.repeats == first.client.damaged == 0
    assert board.device.session[1] == 1  # nobody else was in


def test_callers_that_say_nothing_leave_room(monkeypatch):
    monkeypatch.setattr(listener, "CALLERS", 3)
    monkeypatch.setattr(listener, "PARTING", 0.3)
    with served(SlowBoard(SLOW)) as name, open_target(name) as first:
        silent = [connect(name) for _ in range(6)]
        time.sleep(0.6)
        with pytest.raises(NoDeviceError, match="busy"):
            open_target(name)
        assert first.read(0, 4) == bytes(4)
        for connection in silent:
            connection.close()


# Those that wait


def test_a_slow_machine_does_not_multiply_requests(kind):
    """In the wall's time every answer would be seconds late: repeated again and again, or given
    up."""
    board = SlowBoard(SLOW / 2)
    with served(board, kind) as name, open_target(f"{name}?timeout=0.5") as target:
        data = random.Random(2).randbytes(5000)
        before, repeats = board.taken, target.client.repeats
        began, board_began = time.monotonic(), target.client.pipe.now()
        target.write(0, data)
        assert time.monotonic() - began > 1 and target.client.pipe.now() - board_began < 0.5
        assert target.client.repeats == repeats and board.taken - before < 5000 + 40 * (
            5000 // MAX_DATA + 1
        )
        assert target.read(0, 500) == data[:500]


def test_time_goes_on_while_the_board_rests(monkeypatch):
    monkeypatch.setattr(server, "REST", 1000)
    board = SlowBoard(SLOW)
    with served(board) as name, open_target(name) as target:
        time.sleep(0.3)
        began, cycle = target.client.pipe.now(), board.cycle
        target.client.pipe.sleep(0.2)
        assert 0.2 <= target.client.pipe.now() - began < 2 and board.cycle - cycle < 2000
        assert target.read(0, 4) == bytes(4)


class Wire:
    """A pipe that brings what it is told to, in a time of its own."""

    name, bytes_per_second = "wire", 300_000

    def __init__(self, *pieces):
        self.pieces, self.time, self.sent, self.closed = list(pieces), 100.0, b"", False

    def now(self):
        return self.time

    def write(self, data):
        self.sent += data

    def read(self, limit, timeout):
        self.time += 1e-3 if self.pieces else timeout
        return self.pieces.pop(0) if self.pieces else b""

    def close(self):
        self.closed = True


def told(seconds):
    return encode_notice(Notice.TIME, struct.pack("<Q", round(seconds * 1e9)))


def test_time_of_the_wall_and_of_the_board():
    pipe = ServedPipe(
        Wire(
            b"ans",
            b"wer\0",
            told(5),
            told(5.5) + b"more\0" + told(5.6),
            told(5.7),
            told(1),
            told(2.0),
            told(2.5),
        )
    )
    assert pipe._pipe.sent == HELLO and pipe.now() == 100
    assert pipe.read(100, 1) == b"answer\0" and pipe.now() == pytest.approx(100.002)
    pipe.sleep(0.4)
    assert (
        pipe.now() == pytest.approx(100.603)
        and pipe.read(3, 0) == b"mor"
        and pipe.read(100, 0) == b"e\0"
    )
    # A server that was started again: time stands, and goes on.
    pipe.sleep(0.2)
    assert pipe.now() == pytest.approx(101.703)
    assert pipe.read(100, 0.1) == b"" and pipe.now() == pytest.approx(102.203)
    with pytest.raises(LinkError, match="^wire: the server has said nothing for 30 s$"):
        pipe.read(1, 0.1)


def test_a_board_without_a_server_stays_as_it_is():
    pipe = ServedPipe(Wire(b"\1" * 70_000, b"\0x\0"))
    assert pipe.read(1 << 17, 1) == b"\1" * 70_000 and pipe.read(10, 1) == b"\0x\0"
    assert pipe.read(10, 0.5) == b"" and pipe.now() == pytest.approx(100.502)
    pipe.sleep(2)
    assert pipe.now() == pytest.approx(102.502)


def test_refusals_are_told_in_printable_characters():
    wire = Wire(encode_notice(Notice.REFUSED, b"no\x1b[2J\xff"))
    pipe = ServedPipe(wire)
    with pytest.raises(RefusedError, match=r"^no\\x1b\[2J.$"):
        pipe.read(1, 1)
    assert wire.closed


def test_notices():
    body = random.Random(3).randbytes(100)
    for kind in Notice:
        encoded = encode_notice(kind, body)[:-1]
        assert (
            decode_notice(encoded) == (kind, body) and Answer.decode(bytes([kind]) + body) is None
        )
        assert all(
            decode_notice(encoded[:at] + bytes([encoded[at] ^ 0x55 or 1]) + encoded[at + 1 :])
            is None
            for at in range(0, 100, 7)
        )
    assert (
        decode_notice(b"") is None
        and decode_notice(Request(Operation.READ, 0, 4).encode(b"\1\1", 0)[:-1]) is None
    )
    board = SlowBoard(1)
    assert board.device.feed(HELLO) == b""  # a board says nothing to it


# Tokens


def test_token(quintet):
    with served(SlowBoard(SLOW * 4), token=TOKEN) as name:
        for query, reason in (
            ("", "it wants a token, as in socket://HOST:PORT[?]token="),
            (f"?token={TOKEN}x", "the token is wrong"),
        ):
            began = time.monotonic()
            with pytest.raises(NoDeviceError, match=f"^cannot open {name}: {reason}"):
                open_target(name + query)
            assert time.monotonic() - began < 1
        with open_target(f"{name}?token={TOKEN}&timeout=5") as target:
            assert target.read(0, 4) == bytes(4) and target.name == f"{name}?token=..&timeout=5"
            with pytest.raises(NoDeviceError, match="busy"):
                open_target(f"{name}?token={TOKEN}")
            with pytest.raises(NoDeviceError, match="token is wrong"):
                open_target(f"{name}?token={TOKEN[:-1]}")
        ran = quintet("demo", "--on", f"{name}?token=wrong-{TOKEN}")
        assert ran.code == 3 and "token is wrong" in ran.err and TOKEN not in ran.err
        for noise in (b"\1" * 1000, b"\0\0hello\0", encode_notice(Notice.TIME, TOKEN.encode())):
            with connect(name) as raw:
                raw.sendall(noise)
                assert b"it wants a token" in raw.recv(1000)


def test_callers_without_a_word_are_refused_in_time_and_in_nobodys_way(monkeypatch):
    monkeypatch.setattr(listener, "GREETING", 0.3)
    with (
        served(SlowBoard(SLOW * 4), token=TOKEN) as name,
        connect(name) as silent,
        connect(name) as slow,
    ):
        with open_target(f"{name}?token={TOKEN}") as target:
            assert target.read(0, 4) == bytes(4)
        greeting = HELLO[:1] + encode_notice(Notice.HELLO, TOKEN.encode())
        slow.sendall(greeting[:5])
        time.sleep(0.05)
        slow.sendall(greeting[5:] + Request(Operation.IDENTIFY, length=64).encode(b"\x77\0", 0))
        assert b"QNTT" in slow.recv(1000) + slow.recv(1000)
        assert b"it wants a token" in silent.recv(1000)


def test_silent_callers_do_not_lock_out_who_has_the_token(monkeypatch):
    monkeypatch.setattr(listener, "CALLERS", 3)
    with served(SlowBoard(SLOW * 4), token=TOKEN) as name:
        silent = [connect(name) for _ in range(8)]
        with open_target(f"{name}?token={TOKEN}") as target:
            assert target.read(0, 4) == bytes(4)
        for connection in silent:
            connection.close()


@pytest.mark.parametrize("token", [None, TOKEN])
@pytest.mark.parametrize("pieces", [1, 3, 100])
def test_a_page_of_a_browser_reaches_no_board(token, pieces):
    """A page may post any bytes to this machine, though it cannot read the answer."""
    board = SlowBoard(SLOW * 4)
    write = Request(Operation.WRITE, address=0, data=b"page").encode(b"\x77\0", 0)
    post = b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n\0" + write
    with served(board, token=token) as name, connect(name) as page:
        step = -(-len(post) // pieces)
        with contextlib.suppress(OSError):
            for at in range(0, len(post), step):
                page.sendall(post[at : at + step])
                time.sleep(0.005 if pieces > 1 else 0)
        with contextlib.suppress(ConnectionResetError):
            assert page.recv(1000) == b""
        with open_target(name + (f"?token={token}" if token else "")) as target:
            assert target.read(0, 4) == bytes(4)


def test_a_server_without_a_token_takes_any():
    with served(SlowBoard(SLOW * 4)) as name, open_target(f"{name}?token={TOKEN}") as target:
        assert target.read(0, 4) == bytes(4)


def test_where_a_token_is_wanted():
    from quintet.tools.commands.serve import _place

    def place(where, token=None, framed=True):
        return _place(SimpleNamespace(socket=where, token=token), framed)

    for where in ("7000", ":7000", "127.0.0.1:7000", "127.1.2.3:7000", "[::1]:7000"):
        assert place(where)[1] is None and place(where, TOKEN)[1] == TOKEN
    for where in ("0.0.0.0:0", "[::]:0", "192.0.2.1:7000"):
        made = {place(where)[1] for _ in range(3)}
        assert (
            len(made) == 3
            and all(len(token) >= 20 for token in made)
            and place(where, TOKEN)[1] == TOKEN
        )
        with pytest.raises(InputError, match="UARTBone knows no tokens"):
            place(where, framed=False)
    assert place(None) == (None, None) and place("127.0.0.1:1", framed=False) == (
        ("127.0.0.1", 1),
        None,
    )


# Nonsense


@pytest.mark.parametrize(
    "options, code, word",
    [
        (("--socket", ":x"), 2, "--socket :x: expected a port"),
        (("--socket", "99999"), 2, "from 0 to 65535"),
        (("--socket", "\N{SUPERSCRIPT TWO}"), 2, "expected a port"),
        (("--socket", "9" * 5000), 2, "expected a port"),
        (("--socket", "::1:70"), 2, "IPv6 address in brackets"),
        (("--socket", "host.invalid:70"), 3, "cannot listen on host.invalid"),
        (("--socket", "a..b:70"), 3, "cannot listen on a..b"),
        (("--socket", ""), 2, "expected a port"),
        (("--socket", "192.0.2.1:0"), 3, "cannot listen on 192.0.2.1:0"),
        (("--token", TOKEN), 2, "--token is for a socket"),
        (("--socket", "0", "--token", "short"), 2, "8 to 128 letters"),
        (("--socket", "0", "--token", "with white space"), 2, "8 to 128 letters"),
    ],
)
def test_nonsense_where_to_serve(quintet, options, code, word):
    ran = quintet("serve", "sim:ulx3s-85f/opentpu", *options)
    assert ran.code == code and ran.err.count("\n") == 1 and word in ran.err, ran.err


def test_port_in_use():
    with (
        served(SlowBoard(SLOW)) as name,
        pytest.raises(ServeError, match=f"^cannot listen on {name.removeprefix('socket://')}: "),
    ):
        SocketEndpoint(port=int(name.rpartition(":")[2]))


@pytest.mark.parametrize(
    "port, kind, word",
    [
        ("socket://:x", TargetError, "expected socket://HOST:PORT with a port from 1 to 65535"),
        ("socket://", TargetError, "socket://HOST:PORT"),
        ("socket://h:99999", TargetError, "socket://HOST:PORT"),
        ("socket://::1:7", TargetError, "socket://HOST:PORT"),
        ("socket://h:1?token=short", TargetError, "token: expected 8 to 128"),
        ("socket://h:1?token=", TargetError, "token: expected"),
        (
            f"/dev/ttyS0?token={TOKEN}",
            TargetError,
            "expected baud=N or timeout=SECONDS for a port, speed=HZ for SPI, "
            "token=TEXT for a socket",
        ),
        ("socket://host.invalid:1", NoDeviceError, "cannot open socket://host.invalid:1"),
        ("socket://a..b:1", NoDeviceError, "cannot open socket://a..b:1: no name of a host"),
        ("socket://127.0.0.1:1", NoDeviceError, "cannot open socket://127.0.0.1:1"),
    ],
)
def test_nonsense_where_to_connect(quintet, port, kind, word):
    with pytest.raises(kind, match="^[^\n]+$") as caught:
        open_target(port)
    assert word in str(caught.value)
    ran = quintet("run", digits.job(8), "--on", port)
    assert ran.code == kind.code and ran.err.count("\n") == 1 and word in ran.err


def test_socket_that_takes_nothing():
    import socket as sockets

    from quintet.tools.link.socket_pipe import SocketPipe

    with sockets.create_server(("127.0.0.1", 0)) as deaf:
        pipe = SocketPipe(f"socket://127.0.0.1:{deaf.getsockname()[1]}", write_timeout=0.2)
        with pytest.raises(LinkError, match="went away: it has taken nothing for 0.2 s"):
            pipe.write(bytes(1 << 24))
        with pytest.raises(LinkError, match="is closed"):
            pipe.write(b"x")


def test_client_is_told_why_it_was_refused_in_mid_write():
    with served(SlowBoard(SLOW)) as name, open_target(name):
        client = LinkClient(ServedPipe(open_pipe(name)))
        time.sleep(0.2)
        with pytest.raises(RefusedError, match="busy"):
            client.write(0, bytes(200_000))
