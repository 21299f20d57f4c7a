# SPDX-License-Identifier: BSD-2-Clause
"""Output of a command: results on standard output, messages and progress on standard error."""

import errno
import io
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol, TextIO

from .errors import InputError
from .text import visible, visible_lines

__all__ = ["Console", "ProgressReport", "show"]

#: Units of a whole command, and of bars that count items; other bars are of bytes.
_WHOLE = ("builds", "cores", "tables")
_COUNTED = (*_WHOLE, "inputs")


class ProgressReport(Protocol):
    """Progress callback: ``what`` names the bar, ``done`` of ``total`` is its state, ``note``
    replaces the count beside it."""

    def __call__(
        self, what: str, done: int = 0, total: int | None = None, note: str = ""
    ) -> None: ...


def show(text: object = "", end: str = "\n", file: TextIO | None = None) -> None:
    """Prints text on standard output or ``file``. Control characters, for example of file names,
    are shown as escapes (:func:`~.text.visible_lines`).

    A reader that has gone (``quintet cores | head``) or a closed stream is no error; what follows
    is discarded.

    Raises
    ------
    InputError
        Standard output cannot be written, as on a full disk. What follows is shown to nobody.
    """
    file = file or sys.stdout
    if file is None:  # closed before this process began
        return
    text = visible_lines(str(text))
    try:
        try:
            print(text, end=end, file=file, flush=True)
        except UnicodeEncodeError:
            # signs that its encoding has not got: tables, µ, bytes of a file's name that are no
            # text
            coded = text.encode(file.encoding, "backslashreplace").decode(file.encoding)
            print(coded, end=end, file=file, flush=True)
    except (OSError, ValueError) as error:
        # Text that it holds already must not fail again when Python ends.
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, file.fileno())
            os.close(nowhere)
        gone = isinstance(error, (BrokenPipeError, ValueError)) or error.errno == errno.EBADF
        if not gone and file is sys.stdout:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(f"cannot write standard output: {reason}") from None


def is_terminal(file: TextIO | None) -> bool:
    """Whether ``file``, a standard stream that may be closed, is a terminal."""
    try:
        return file is not None and file.isatty()
    except ValueError:
        return False


class Console:
    """Console output of one command: results, notes and progress.

    With ``as_json`` standard output carries one object (:meth:`result`) and nothing else. Progress
    bars appear on a terminal only.
    """

    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json
        self.began = time.monotonic()
        #: When the last note was shown; `signs_of_life` measures silence from here.
        self.spoken = self.began

    def note(self, text: str) -> None:
        """Prints a message for the user that is not part of the result."""
        self.spoken = time.monotonic()
        show(text, file=sys.stderr)

    @contextmanager
    def signs_of_life(self, describe: Callable[[], str], silence: float = 4.0) -> Iterator[None]:
        """Context manager: prints the text of ``describe()`` whenever ``silence`` seconds have
        passed without a note. A terminal has a spinner with the elapsed time instead
        (:meth:`progress`)."""
        if is_terminal(sys.stderr):
            yield
            return
        ended = threading.Event()
        self.spoken = time.monotonic()

        def watch():
            while not ended.wait(max(0.0, self.spoken + silence - time.monotonic())):
                if time.monotonic() - self.spoken >= silence:
                    self.note(describe())

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()

    def out(self, text: object = "") -> None:
        """Prints a line of human-readable result; silent with ``--json``."""
        if not self.as_json:
            show(text)

    def result(self, values: Any) -> None:
        """Prints the result as a JSON object; does nothing without ``--json``."""
        if self.as_json:
            show(json.dumps(values, indent=2, default=str))

    def table(
        self, columns: Sequence[str], rows: Sequence[Sequence[object]], title: str | None = None
    ) -> None:
        """Prints a human-readable table, at most as wide as the terminal.

        ``columns``: names; one that begins with ``>`` is right-aligned. The first column names the
        row and is not folded, unless a name is longer than half a terminal."""
        if self.as_json:
            return
        cells = [[visible_lines(str(cell)) for cell in row] for row in rows]
        from rich import box
        from rich.console import Console as Rich
        from rich.table import Table
        from rich.text import Text

        table = Table(
            box=box.SIMPLE_HEAD,
            title=title,
            title_justify="left",
            title_style="bold",
            pad_edge=False,
            collapse_padding=True,
        )
        for number, name in enumerate(columns):
            table.add_column(
                name.lstrip(">"),
                justify="right" if name.startswith(">") else "left",
                overflow="fold",
                no_wrap=number == 0 and max((len(row[0]) for row in cells), default=0) <= 40,
            )
        for row in cells:
            table.add_row(*(Text(cell) for cell in row))
        if is_terminal(sys.stdout):
            # A closed terminal is no error.
            with suppress(OSError):
                Rich(file=sys.stdout, highlight=False).print(table)
            return
        # A pipe has no width, unless COLUMNS says one: lines are not folded there. Nor does it need
        # blanks at their ends.
        text, width = io.StringIO(), os.environ.get("COLUMNS", "")
        Rich(
            file=text,
            width=int(width) if width.isdecimal() and int(width) else 1000,
            highlight=False,
        ).print(table, crop=False)
        show("\n".join(line.rstrip() for line in text.getvalue().splitlines()))

    @contextmanager
    def progress(self) -> Iterator[ProgressReport]:
        """Context manager of progress bars, on a terminal only; gives a :class:`ProgressReport`.

        Without a ``total`` it shows a spinner. Names in :data:`_COUNTED` count items, others bytes;
        the bars of :data:`_WHOLE` stay beside those of their parts."""
        if not is_terminal(sys.stderr):
            yield _report_nothing
            return
        from rich.console import Console as Rich
        from rich.progress import (
            BarColumn,
            Progress,
            SpinnerColumn,
            TaskID,
            TextColumn,
            TimeElapsedColumn,
        )

        bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
            console=Rich(file=sys.stderr),
            transient=True,
        )
        tasks: dict[str, TaskID] = {}
        began: dict[str, tuple[float, int]] = {}

        def report(what: str, done: int = 0, total: int | None = None, note: str = "") -> None:
            what, note = visible(what), visible(note)
            bar.start()
            if what not in tasks:
                for other in [name for name in tasks if name not in _WHOLE]:
                    bar.remove_task(tasks.pop(other))
                tasks[what] = bar.add_task(what, total=total, count="")
                began[what] = (time.monotonic(), done)
            bar.update(
                tasks[what],
                completed=done,
                total=total,
                count=note or _count(what, done, total, began),
            )

        try:
            yield report
        finally:
            bar.stop()


def _report_nothing(what: str, done: int = 0, total: int | None = None, note: str = "") -> None:
    """A :class:`ProgressReport` that does nothing, for streams that are no terminals."""


def _count(what: str, done: int, total: int | None, began: Mapping[str, tuple[float, int]]) -> str:
    """Text beside a progress bar; ``began`` holds the time of its start and the count at that
    time."""
    if not total:
        return ""
    if what not in _COUNTED:
        return f"{done / 1024:,.0f} of {total / 1024:,.0f} KiB"
    text, (since, before) = f"{done:,} of {total:,}", began[what]
    seconds = time.monotonic() - since
    if done > before and seconds > 1:
        rate = (done - before) / seconds
        minutes, left = divmod(round((total - done) / rate), 60)
        text += f", {rate:.3g} a second, {minutes}:{left:02d} left"
    return text
