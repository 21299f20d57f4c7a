# SPDX-License-Identifier: BSD-2-Clause
"""Device side of the protocol with MLPerf Tiny's runner: commands end in ``%``; answers are lines,
followed by ``m-ready``."""

from collections.abc import Callable, Iterator

import numpy as np

from ..errors import QuintetError
from ..text import visible
from .benchmarks import Benchmark

__all__ = ["Device"]

FIRMWARE = "ULPMark for tinyML Firmware V0.0.1"
#: Bytes of the longest command: `db` and 31 bytes in hexadecimal digits, with a margin.
LONGEST = 512
#: Bytes of a line of `db print`.
PRINTED = 8
#: Warm-up inferences if a command names none; most inferences of a command.
WARMUPS, MOST = 10, (1 << 31) - 1

_HELP = f"""{FIRMWARE}

help           : print this information
name           : print the name of the device
profile        : print firmware and model
timestamp      : print the device's time
db load N      : expect N bytes of an input
db HH[HH]*     : bytes of the input, two digits each
db print       : print the bytes that were loaded
infer N [W=10] : N inferences after W to warm up
results        : print the results of the last inference"""


class Device:
    """Device under test: answers the runner's commands.

    Parameters
    ----------
    benchmark : Benchmark
    infer : callable(bytes) -> (list of float, int)
        One inference: the line of results, and the cycles that it took.
    clock_hz : float, of those cycles
    vendor : str, in the device's name
    """

    def __init__(
        self,
        benchmark: Benchmark,
        infer: Callable[[bytes], tuple[list[float], int]],
        clock_hz: float,
        vendor: str = "quintet",
    ) -> None:
        self.benchmark, self._infer, self._clock_hz, self._vendor = (
            benchmark,
            infer,
            clock_hz,
            vendor,
        )
        #: Inferences, and cycles of all of them: the device's time is these cycles over the clock.
        self.inferences, self.cycles = 0, 0
        self._command = bytearray()
        self._buffer, self._size = bytearray(), 0
        self._results = None

    def greeting(self) -> bytes:
        """The device's output after power-up."""
        return b"m-init-done\r\nm-ready\r\n"

    def feed(self, received: bytes) -> Iterator[bytes]:
        """Yields the answers to the commands that end within ``received``."""
        for byte in received:
            if byte != ord("%"):
                # A line longer than any command is an unknown one.
                if len(self._command) < LONGEST:
                    self._command.append(byte)
                continue
            words = self._command.decode("ascii", "replace").strip("\0\r\n ").split()
            self._command.clear()
            for line in self._answer(words):
                yield f"{line}\r\n".encode("ascii", "replace")
            yield b"m-ready\r\n"

    def _answer(self, words):
        match words:
            case ["name"]:
                yield f"m-name-dut-[{self._vendor}]"
            case ["profile"]:
                yield f"m-profile-[{FIRMWARE}]"
                yield f"m-model-[{self.benchmark.name}]"
            case ["timestamp"]:
                yield self._lap()
            case ["help"]:
                yield from _HELP.splitlines()
            case ["results"]:
                yield from self._result_line()
            case ["db", *rest]:
                yield from self._bytes(rest)
            case ["infer", *rest]:
                yield from self._inferences(rest)
            case _:
                yield f"e-[Unknown command: {visible(' '.join(words)[:80])}]"

    def _lap(self):
        return f"m-lap-us-{int(self.cycles * 1_000_000 // self._clock_hz)}"

    def _result_line(self):
        if self._results is None:
            yield "e-[No inference has run]"
        else:
            yield f"m-results-[{','.join(f'{value:.6f}' for value in self._results)}]"

    # The input

    def _bytes(self, words):
        match words:
            case []:
                yield "e-[Command 'db' requires a subcommand]"
            case ["load"]:
                yield "e-[Command 'db load' requires the # of bytes]"
            case ["load", number, *_]:
                yield from self._expect(_number(number))
            case ["print", *_]:
                for at in range(0, len(self._buffer), PRINTED):
                    yield f"m-buffer-{self._buffer[at : at + PRINTED].hex('-')}"
            case [digits, *_]:
                yield from self._take(digits)

    def _expect(self, size):
        if size is None or size < 1:
            yield "e-[Command 'db load' must be >0 bytes]"
        elif size != self.benchmark.size:
            yield (
                f"e-[Supplied buffer size {size}: an input of {self.benchmark.name} has "
                f"{self.benchmark.size} bytes]"
            )
        else:
            self._size = size
            self._buffer.clear()
            yield f"m-[Expecting {size} bytes]"

    def _take(self, digits):
        if len(digits) % 2:
            yield "e-[Insufficient number of hex digits]"
            return
        if not self._size or len(self._buffer) == self._size:
            yield "e-[No bytes are expected: 'db load' comes first]"
            return
        for at in range(0, len(digits), 2):
            pair = digits[at : at + 2]
            if any(digit not in "0123456789abcdefABCDEF" for digit in pair):
                yield f"e-[Invalid hex digit '{visible(pair)}']"
                return
            self._buffer.append(int(pair, 16))
            if len(self._buffer) == self._size:
                yield "m-load-done"
                return  # further digits mean nothing

    # Inferences

    def _inferences(self, words):
        number = _number(words[0]) if words else 1
        warmups = _number(words[1]) if len(words) > 1 else WARMUPS
        if number is None or number < 1:
            yield "e-[Inference iterations must be >0]"
        elif warmups is None or warmups < 0:
            yield "e-[Inference warmup must be >=0]"
        elif max(number, warmups) > MOST:
            yield f"e-[Inference iterations and warmup must be <={MOST}]"
        elif not self._size or len(self._buffer) < self._size:
            yield (
                f"e-[An input of {self.benchmark.size} bytes is expected, {len(self._buffer)} are "
                f"loaded]"
            )
        else:
            yield from self._run(number, warmups)

    def _run(self, number, warmups):
        given = bytes(self._buffer)
        try:
            yield f"m-warmup-start-{warmups}"
            for _ in range(warmups):
                self._one(given)
            yield "m-warmup-done"
            yield f"m-infer-start-{number}"
            yield self._lap()
            for _ in range(number):
                self._one(given)
            yield self._lap()
        except QuintetError as error:
            self._results = None
            yield f"e-[{visible(str(error)).replace('[', '(').replace(']', ')')}]"
            return
        yield "m-infer-done"
        yield from self._result_line()

    def _one(self, given):
        results, cycles = self._infer(given)
        if not np.isfinite(results).all():
            raise QuintetError("a result is not a finite number")
        self._results = results
        self.inferences += 1
        self.cycles += cycles


def _number(text):
    """Parses a decimal number; ``None`` if the text is not one."""
    return int(text) if text.removeprefix("-").isdecimal() else None
