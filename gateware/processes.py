# SPDX-License-Identifier: BSD-2-Clause
"""Child processes that end with the command that started them, and locks between commands."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["Ended", "Locked", "child", "ended_by_signals", "file_lock", "run_child"]

#: Seconds that a child has to end by itself.
_GRACE = 3.0
_POSIX = os.name == "posix"
_children: set[subprocess.Popen] = set()


class Ended(KeyboardInterrupt):
    """Exception: a signal requested the end of this process; ``code`` is the exit code for that
    signal."""

    def __init__(self, number: int):
        self.code = 128 + number
        super().__init__()


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Context manager: INT, TERM and HUP end the children, and raise :class:`Ended` in the main
    thread.

    A signal that this process ignores, as HUP under ``nohup``, stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number, _):
        for process in list(_children):
            _signal(process, signal.SIGTERM)
        raise Ended(number)

    before = {}
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) not in (signal.SIG_IGN, None):
            before[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def child(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen]:
    """Context manager of a child process in its own process group (``options`` as for
    :class:`subprocess.Popen`). Leaving the block ends it and all processes that it started."""
    options.setdefault("stdin", subprocess.DEVNULL)
    with subprocess.Popen(command, start_new_session=_POSIX, **options) as process:
        _children.add(process)
        try:
            yield process
        except BaseException:
            _end(process)
            raise
        finally:
            _children.discard(process)


def run_child(
    command: Sequence[str],
    *,
    input: str | bytes | None = None,
    timeout: float | None = None,
    capture_output: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess:
    """Runs a command like :func:`subprocess.run`; if it is abandoned, all processes that it started
    end too."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with child(command, **options) as process:
        out, err = process.communicate(input, timeout)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _signal(process, number):
    with suppress(OSError):
        if _POSIX:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)


def _end(process):
    if _POSIX:
        _signal(process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
        # Others of its group may go on without it.
        _signal(process, signal.SIGKILL)
    else:
        with suppress(OSError):
            subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True)
        process.kill()


class Locked(Exception):
    """Error: another process holds a lock; ``holder`` says which, and since when."""

    def __init__(self, holder: str):
        self.holder = holder
        super().__init__(holder)


@contextmanager
def file_lock(path: str | os.PathLike, *, wait: bool) -> Iterator[None]:
    """Context manager that holds the lock file ``path``, created if needed; the system releases it
    when the process ends. Without locks on the platform it does nothing.

    Raises
    ------
    Locked
        Another process holds it, and ``wait`` is false.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    with open(path, "a+", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            handle.seek(0)
            raise Locked(handle.read(200).strip() or "another process") from None
        handle.truncate(0)
        command = os.path.basename(sys.argv[0] or "python")
        handle.write(f"{command}, process {os.getpid()}, since {time.strftime('%F %T')}\n")
        handle.flush()
        yield
