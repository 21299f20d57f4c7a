# SPDX-License-Identifier: BSD-2-Clause
"""Compile-time estimate from the compiler's rate in earlier compilations on this machine."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .toolchain import digest

__all__ = ["EVERY", "CompileRate"]

#: Seconds between two words about a compilation that goes on.
EVERY = 2.0


class CompileRate:
    """Compiler rate: seconds per byte of source, kept in a folder.

    Parameters
    ----------
    folder : Path
        The cache's.
    compiler : str
        Its identity: another one has another rate.
    """

    def __init__(self, folder: Path, compiler: str) -> None:
        self._path = Path(folder) / f"rate-{digest(compiler)}"

    def expected(self, size: int) -> float | None:
        """Expected seconds for ``size`` bytes; ``None`` if nothing was compiled here before."""
        try:
            seconds, bytes_ = json.loads(self._path.read_text())
            return size * float(seconds) / float(bytes_)
        except (OSError, ValueError, TypeError, ZeroDivisionError):
            return None

    def learn(self, size: int, seconds: float) -> None:
        """Records that ``size`` bytes took ``seconds``. Recent compilations have more weight."""
        before = self.expected(size)
        seconds = seconds if before is None else (seconds + before) / 2
        with suppress(OSError):  # a guess that is not kept harms nobody
            self._path.write_text(json.dumps([seconds, size]))

    @contextmanager
    def reported(self, say: Callable[[str], object], what: str, size: int) -> Iterator[None]:
        """Context manager: reports ``what``, and every :data:`EVERY` seconds the elapsed and the
        expected time of the block; records the time if the block succeeds."""
        began, over, expected = time.monotonic(), threading.Event(), self.expected(size)
        about = "" if expected is None else f", about {max(expected, 1):.0f} s"
        say(what + about)

        def work():
            while not over.wait(EVERY):
                of = "" if expected is None else f" of about {max(expected, 1):.0f}"
                say(f"{what}: {time.monotonic() - began:.0f}{of} s")

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
        self.learn(size, time.monotonic() - began)
