# SPDX-License-Identifier: BSD-2-Clause
"""The real pyserial code, on a pseudo-terminal and on a socket."""

import os
import random
import select
import socket
import termios
import threading
import tty

import pytest
from test_link_client import Board, header

from quintet.tools.link.client import LinkClient
from quintet.tools.link.errors import LinkError
from quintet.tools.link.pipe import Pipe
from quintet.tools.link.ports import open_pipe
from quintet.tools.link.serial_pipe import SerialPipe


class Server(threading.Thread):
    """Serves a board on a file descriptor; closes it after ``lifetime`` bytes."""

    def __init__(self, descriptor, lifetime=None):
        super().__init__(daemon=True)
        self.board, self.descriptor, self.lifetime = Board(), descriptor, lifetime
        self.stopping = False
        self.start()

    def run(self):
        seen = 0
        while not self.stopping and (self.lifetime is None or seen < self.lifetime):
            try:
                if select.select([self.descriptor], [], [], 0.02)[0]:
                    data = os.read(self.descriptor, 4096)
                    if not data:
                        break
                    seen += len(data)
                    answer = self.board.feed(data)
                    while answer:
                        answer = answer[os.write(self.descriptor, answer) :]
            except OSError:
                break
        os.close(self.descriptor)

    def stop(self):
        self.stopping = True
        self.join()


@pytest.fixture(params=["terminal", "socket"])
def place(request):
    """A function: serve a board with a lifetime; returns the port's name and the server."""
    servers, others = [], []

    def serve(lifetime=None):
        if request.param == "terminal":
            master, slave = os.openpty()
            tty.setraw(slave)
            others.append(slave)
            name = os.ttyname(slave)
            servers.append(Server(master, lifetime))
        else:
            listener = socket.create_server(("127.0.0.1", 0))
            name = f"socket://127.0.0.1:{listener.getsockname()[1]}"

            def accept():
                connection, _ = listener.accept()
                listener.close()
                servers.append(Server(connection.detach(), lifetime))

            threading.Thread(target=accept, daemon=True).start()
        return name, servers

    yield serve
    for server in servers:
        server.stop()
    for descriptor in others:
        os.close(descriptor)


def test_bulk(place):
    name, _ = place()
    with open_pipe(name) as pipe:
        link = LinkClient(pipe, timeout=20)
        assert link.identify() == header()
        data = random.Random(1).randbytes(40_000)
        link.write(100, data)
        assert link.read(100, 40_000) == data


@pytest.mark.parametrize("lifetime", [100, 6000])
def test_port_that_vanishes_in_mid_transfer(place, lifetime):
    name, _ = place(lifetime)
    pipe = open_pipe(name)
    link = LinkClient(pipe, timeout=20)
    link.identify()
    with pytest.raises(LinkError, match="went away") as caught:
        link.write(0, bytes(range(1, 201)) * 1000)
    assert name in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(LinkError, match="is closed"):
        link.read(0, 4)
    link.close()


def test_ports_that_cannot_be_opened(tmp_path):
    with pytest.raises(OSError):
        open_pipe(str(tmp_path / "none"))
    with pytest.raises((OSError, ValueError)):
        open_pipe("nothing://here")
    with pytest.raises(OSError):
        open_pipe("socket://127.0.0.1:1")


def test_bytes_discarded_between_a_look_and_its_read(monkeypatch):
    """As a served board does with what its last host has not read."""
    master, slave = os.openpty()
    tty.setraw(slave)
    real = select.select

    def flushing(*args):
        found = real(*args)
        if discard:
            termios.tcflush(slave, termios.TCIFLUSH)
        return found

    monkeypatch.setattr("serial.serialposix.select.select", flushing)
    with SerialPipe(os.ttyname(slave)) as pipe:
        for _ in range(3):
            discard = True
            os.write(master, b"left over")
            assert pipe.read(100, 1) == b""
            discard = False
            os.write(master, b"fresh")
            assert pipe.read(100, 1) == b"fresh"
        os.close(master)
        with pytest.raises(LinkError, match="went away"):
            for _ in range(2):
                pipe.read(100, 1)
    os.close(slave)


def test_line_rate_is_known_for_real_ports_only():
    master, slave = os.openpty()
    with SerialPipe(os.ttyname(slave), baud=115200) as pipe:
        assert pipe.bytes_per_second == 11520
        assert pipe.read(10, 0.01) == b""
        start = pipe.now()
        pipe.sleep(0.01)
        assert pipe.now() >= start + 0.01
    for descriptor in (master, slave):
        os.close(descriptor)


def test_pipe_has_to_be_filled_in():
    for call in (lambda: Pipe().write(b""), lambda: Pipe().read(1, 0)):
        with pytest.raises(TypeError, match="does not say how"):
            call()
