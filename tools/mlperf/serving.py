# SPDX-License-Identifier: BSD-2-Clause
"""Server that offers a session as a device under test to programs that open its port."""

from __future__ import annotations

import argparse
import os
import select
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from ..compiler.plan import HostStep
from ..errors import InputError
from ..link.pipe import BytesLike
from .benchmarks import Benchmark
from .device import Device

if TYPE_CHECKING:
    from ..compiler.session import Session

__all__ = ["KEEP_ALIVE", "Port", "StandardPipes", "endpoint_of", "serve"]

#: Seconds of silence after which an empty line goes out while inferences run: the runner gives up
#: after five, and leaves empty lines out.
KEEP_ALIVE = 2.0
#: Seconds between two looks at the port.
LOOK = 0.1


class Port:
    """A session on a board, presented as a device of the benchmark.

    Attributes
    ----------
    device : Device
    clock_hz : float, of the clock whose cycles are counted
    hosted : list of str, operators that the host computes
    """

    def __init__(self, session: Session, benchmark: Benchmark) -> None:
        self._session, self._benchmark = session, benchmark
        plan = session.plan
        clock_hz = plan.clock(session.target.info.clock_hz)
        if clock_hz is None:
            raise ValueError("a device needs a target with a clock")
        self.clock_hz = clock_hz
        self.hosted = sorted(
            {
                node.origin or node.name
                for step in plan.steps
                if isinstance(step, HostStep)
                for node in step.graph.nodes
            }
        )
        board = session.target.info.board or "board"
        self.device = Device(benchmark, self._infer, self.clock_hz, f"quintet {board} {plan.isa}")

    def _infer(self, data):
        (port,), session = self._session.plan.inputs, self._session
        given = self._benchmark.array(data, port)
        before = session.report.cycles or 0
        (found,) = session.outputs(given).values()
        return self._benchmark.result(given, found), session.report.cycles - before

    def summary(self) -> str:
        """One line of statistics over all inferences."""
        device = self.device
        if not device.inferences:
            return "no inference has run"
        cycles = device.cycles / device.inferences
        return (
            f"{device.inferences:,} inferences, {cycles:,.0f} cycles each, "
            f"{1000 * cycles / self.clock_hz:.3f} ms at {self.clock_hz / 1e6:g} MHz"
        )


class StandardPipes:
    """Standard input and output as an endpoint (:mod:`quintet.tools.serve`); ends with its
    input."""

    name = "standard input and output"

    def __init__(self) -> None:
        self.connected, self.ended = True, False

    def publish(self) -> None:
        """Does nothing: the streams are open already."""

    def receive(self, wait: float) -> tuple[bool, bytes]:
        if not select.select([sys.stdin], [], [], wait)[0]:
            return False, b""
        data = os.read(sys.stdin.fileno(), 65536)
        self.ended = not data
        return False, data

    def send(self, data: BytesLike) -> int:
        return os.write(sys.stdout.fileno(), data)

    def wait_to_send(self, seconds: float) -> None:
        """Does nothing: a write blocks by itself."""

    def close(self) -> None:
        """Does nothing: the streams belong to the process."""


class Endpoint(Protocol):
    """Endpoint that the runner connects to: a pseudo-terminal, a socket or standard streams."""

    name: str

    @property
    def connected(self) -> bool: ...

    def publish(self) -> None: ...

    def receive(self, wait: float) -> tuple[bool, bytes]: ...

    def send(self, data: BytesLike) -> int: ...

    def wait_to_send(self, seconds: float) -> None: ...

    def close(self) -> None: ...


def endpoint_of(args: argparse.Namespace) -> Endpoint:
    """Creates the endpoint that the command's arguments request."""
    from ..link.address import parse_address
    from ..serve import PtyEndpoint, SocketEndpoint
    from ..serve.listener import is_loopback

    if args.stdio:
        return StandardPipes()
    if args.socket is None:
        return PtyEndpoint(args.link)
    try:
        host, port = parse_address(args.socket)
    except ValueError as error:
        raise InputError(f"--socket {args.socket}: {error}") from None
    host = host or "127.0.0.1"
    if not is_loopback(host):
        raise InputError(
            f"--socket {args.socket}: this conversation knows no tokens; serve it on 127.0.0.1"
        )
    return SocketEndpoint(host, port)


def serve(
    device: Device,
    endpoint: Endpoint,
    *,
    greet: bool = False,
    stopped: Callable[[], bool] = lambda: False,
) -> None:
    """Transfers bytes between ``endpoint`` and ``device`` until ``stopped()``, an interrupt, or the
    end of standard input. ``greet``: a program that opens the port is told that the device is
    ready."""
    line, greeted = _Line(endpoint), False
    try:
        while not stopped() and not getattr(endpoint, "ended", False):
            _, received = endpoint.receive(LOOK)
            if not endpoint.connected:
                greeted = False
            elif greet and not greeted:
                greeted = True
                line.send(device.greeting())
            with line.kept_alive(bool(received)):
                for answer in device.feed(received):
                    line.send(answer)
    except KeyboardInterrupt:
        return


class _Line:
    """Thread-safe output of whole lines."""

    def __init__(self, endpoint):
        self._endpoint, self._lock = endpoint, threading.Lock()
        self._sent = time.monotonic()

    def send(self, data):
        with self._lock:
            while data:
                taken = self._endpoint.send(data)
                data = data[taken:]
                if data:
                    self._endpoint.wait_to_send(LOOK)
            self._sent = time.monotonic()

    def kept_alive(self, busy):
        return _KeepAlive(self, busy)

    @property
    def silence(self):
        return time.monotonic() - self._sent


class _KeepAlive:
    """Context manager that sends an empty line after each :data:`KEEP_ALIVE` seconds of silence."""

    def __init__(self, line, busy):
        self._line, self._busy, self._over = line, busy, threading.Event()

    def __enter__(self):
        if self._busy:
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()

    def _work(self):
        while not self._over.wait(max(0.01, KEEP_ALIVE - self._line.silence)):
            if self._line.silence >= KEEP_ALIVE:
                self._line.send(b"\r\n")

    def __exit__(self, *_):
        self._over.set()
        if self._busy:
            self._thread.join()
