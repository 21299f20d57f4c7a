# SPDX-License-Identifier: BSD-2-Clause
"""A virtual board without a simulation: the link's protocol in Python, at a speed of choice, with
the interface that a server needs."""

import socket
import struct
import threading
import time
import zlib
from contextlib import contextmanager

from quintet.gateware.link.protocol import INFO_ADDRESS
from quintet.tools.link.device_model import DeviceModel, WordMemory
from quintet.tools.serve import PtyEndpoint, SocketEndpoint, serve

#: Cycles that the board needs for each byte it takes.
BYTE = 8
TEXT = zlib.compress(b'{"board": "slow"}')


class SlowBoard:
    """Simulates ``rate`` cycles in a second of the wall. ``taken`` counts the bytes it got."""

    clock_hz = 25_000_000
    busy = False
    silence = 64

    def __init__(self, rate):
        self.rate, self.cycle, self.taken = rate, 0, 0
        self.memory, rom = WordMemory(1 << 16), WordMemory(1024, INFO_ADDRESS)
        header = struct.pack(
            "<4s2H4s9I16s",
            b"QNTT",
            1,
            16,
            b"",
            0,
            0,
            1 << 16,
            0,
            0,
            0,
            INFO_ADDRESS + 64,
            len(TEXT),
            self.clock_hz,
            b"slow",
        )
        rom.data[: 64 + len(TEXT)] = header + TEXT
        self.device = DeviceModel([self.memory, rom])
        self._to_board, self._from_board = bytearray(), bytearray()

    @property
    def pipe(self):
        return self

    @property
    def waiting(self):
        return len(self._to_board)

    def write(self, data):
        self._to_board += data

    def take(self):
        data = bytes(self._from_board)
        self._from_board.clear()
        return data

    def forget(self):
        self._to_board.clear()
        self._from_board.clear()

    def advance(self, cycles, wanted, silence):
        began, self.cycle = self.cycle, self.cycle + cycles
        count = self.cycle // BYTE - began // BYTE
        piece = self._to_board[:count]
        del self._to_board[:count]
        self.taken += len(piece)
        self._from_board += self.device.feed(piece)
        time.sleep(cycles / self.rate)


@contextmanager
def served(board, kind="socket", **options):
    """``board`` behind an endpoint; yields the name of the port."""
    endpoint = PtyEndpoint() if kind == "terminal" else SocketEndpoint(**options)
    stop = threading.Event()
    server = threading.Thread(target=serve, args=(board, endpoint, stop.is_set), daemon=True)
    server.start()
    try:
        yield endpoint.name
    finally:
        stop.set()
        server.join()
        endpoint.close()


def connect(name):
    """A plain connection to a ``socket://`` port."""
    host, _, port = name.removeprefix("socket://").rpartition(":")
    return socket.create_connection((host, int(port)), timeout=5)
