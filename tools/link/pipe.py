# SPDX-License-Identifier: BSD-2-Clause
"""Pipes of bytes to a board."""

import time

__all__ = ["Pipe"]


class Pipe:
    """A pipe of bytes, as ``LinkClient`` uses it.

    Attributes
    ----------
    name : str
        For messages.
    bytes_per_second : float or None
        What the line carries each way; ``None`` if it has no rate of its own.
    served : bool
        A server tells the time of the board behind it: :meth:`now` counts that time.
    """

    name = "pipe"
    bytes_per_second = None
    served = False

    def write(self, data):
        """Sends all of ``data``. :class:`~.errors.LinkError` if that is not possible."""
        raise TypeError(f"{type(self).__name__} does not say how to write")

    def read(self, limit, timeout):
        """At most ``limit`` bytes; waits for the first of them, ``timeout`` seconds of :meth:`now`
        at most. Empty at timeout."""
        raise TypeError(f"{type(self).__name__} does not say how to read")

    def close(self):
        """Gives the pipe back; may be called again."""

    def now(self):
        """Seconds, from any start. A virtual board counts simulated time."""
        return time.monotonic()

    def sleep(self, seconds):
        """Lets ``seconds`` of :meth:`now` pass."""
        time.sleep(seconds)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
