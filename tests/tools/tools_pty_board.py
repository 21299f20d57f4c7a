# SPDX-License-Identifier: BSD-2-Clause
"""A board on a pseudo-terminal: the link's protocol in Python in front of a :class:`FakeBoard`,
real pyserial before it."""

import os
import select
import threading
import tty

from quintet.tools.link.device_model import DeviceModel
from tests.tools.tools_fake_board import CONTROL, INFO, SOC, FakeBoard


class Region:
    """Words of a :class:`FakeBoard`."""

    def __init__(self, board, base, size):
        self.board, self.base, self.size = board, base, size

    def covers(self, address):
        return 0 <= address - self.base < self.size

    def read(self, address):
        if address == INFO or INFO < address < INFO + 64:
            return self.board.header[address - INFO :][:4]
        return self.board.read(address, 4).ljust(4, b"\0")

    def write(self, address, word, lanes):
        if address >= CONTROL:
            self.board.write(address, word)
        else:
            for lane in range(4):
                if lanes[lane]:
                    self.board.memory[address + lane] = word[lane]
        return True


class PtyBoard:
    """``path`` is the port; it vanishes after ``vanish_after`` received bytes. A context
    manager."""

    def __init__(self, vanish_after=None, **options):
        self.board = FakeBoard(call_seconds=None, **options)
        self.device = DeviceModel(
            [
                Region(self.board, 0, self.board.memory.size),
                Region(self.board, CONTROL, 4096),
                Region(self.board, SOC, 256),
                Region(self.board, INFO, 4096),
            ]
        )
        self.left = vanish_after
        self.master, slave = os.openpty()
        tty.setraw(slave)
        self.path = os.ttyname(slave)
        self.slave = slave  # kept open: a terminal without a user hangs up
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while not self.stop.is_set():
            if not select.select([self.master], [], [], 0.02)[0]:
                continue
            data = os.read(self.master, 4096)
            if self.left is not None:
                self.left -= len(data)
                if self.left <= 0:
                    os.close(self.slave)
                    os.close(self.master)
                    self.master = self.slave = None
                    return
            answers = self.device.feed(data)
            while answers:
                answers = answers[os.write(self.master, answers) :]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        for handle in (self.slave, self.master):
            if handle is not None:
                os.close(handle)
