# SPDX-License-Identifier: BSD-2-Clause
"""Target of a virtual board: the bitstream's own SoC, compiled, driven by the same link client as a
physical board."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import TargetError
from ..link.access import Access, total
from ..link.client import LinkClient
from ..link.spi_pipe import SPIPipe
from ..outputs import check_output
from .base import Progress, runs_view
from .link import LinkTarget
from .serial_port import public_name

if TYPE_CHECKING:
    from ...boards.virtual.board import VirtualBoard
    from ...boards.virtual.native import SimulatedBoard
    from .names import TargetName

__all__ = ["OPENING", "SimTarget", "open_board_of", "open_sim"]

#: The first step that is reported of a virtual board.
OPENING = "opening the virtual board"

#: Deadlines in simulated seconds. Nothing disturbs a virtual board's link, so that they matter only
#: if gateware is broken; at a board's own two seconds that would take minutes to be seen.
TIMEOUT, RETRY = 0.25, 0.1


class SimTarget(LinkTarget):
    """Target of a virtual board in this process (docs/how/virtual-board.md): a :class:`LinkTarget`
    that also owns the board.

    Parameters
    ----------
    direct : bool
        Main memory is written, read and summed up by the board's :class:`Backdoor`; over the link
        as ever while the core is busy, and what is no main memory.

    Attributes
    ----------
    board : VirtualBoard
    """

    def __init__(
        self, *, client: LinkClient, name: str, board: SimulatedBoard, direct: bool = False
    ) -> None:
        self.board = board
        self._direct = None
        super().__init__(client=client, name=name, kind="sim")
        if direct:
            from ...boards.virtual.backdoor import Backdoor

            self._direct = Backdoor(board)

    def _backdoor(self, address, size):
        """The :class:`Backdoor` if these bytes can be accessed through it now, else ``None``."""
        if self._direct is None or not self._direct.holds(address, size):
            return None
        if not self.client.quiet:
            # answered after all that an interrupted call has left on its way
            self.client.identify()
        return self._direct if self._direct.quiet() else None

    def transfer(self, accesses: Sequence[Access], progress: Progress | None = None) -> list[bytes]:
        if self._direct is None:
            return super().transfer(accesses, progress)
        found, done, whole = [], 0, total(accesses)
        for access in accesses:

            def advance(part: int, _: int, before: int = done) -> None:
                if progress:
                    progress(before + part, whole)

            size = self._span(access)
            if (memory := self._backdoor(access.address, size)) is None:
                found += super().transfer([access], advance)
            else:
                self.client.count(access)
                found.append(self._directly(memory, access, size))
                advance(access.size, access.size)
            done += access.size
        return found

    @staticmethod
    def _directly(memory, access, size):
        """Executes an access of ``size`` bytes from first to last by the backdoor."""
        if access.data is not None and access.run is None:
            memory.write(access.address, access.data)
            return b""
        image = np.frombuffer(memory.read(access.address, size), np.uint8)
        if access.data is None:
            return runs_view(image, access).tobytes()
        # Bytes between the runs are written as they are: the core is idle, and nothing else changes
        # main memory.
        image = image.copy()
        view = runs_view(image, access)
        view[:] = np.frombuffer(access.data, np.uint8).reshape(view.shape)
        memory.write(access.address, image.tobytes())
        return b""

    def fill(
        self, address: int, size: int, value: int = 0, progress: Progress | None = None
    ) -> None:
        self._check_fill(size, value)
        if (memory := self._backdoor(address, size)) is None:
            return super().fill(address, size, value, progress)
        memory.write(address, bytes([value]) * size)
        if progress:
            progress(size, size)

    def checksum(self, address: int, size: int) -> int:
        memory = self._backdoor(address, size)
        return (
            super().checksum(address, size)
            if memory is None
            else zlib.crc32(memory.read(address, size))
        )

    def close(self) -> None:
        super().close()
        self.board.close()


def open_board_of(
    parsed: TargetName, progress: Callable[[str], object] | None = None
) -> VirtualBoard:
    """Starts the virtual board of a :class:`~.names.TargetName` and waits for the power-up of its
    memory chip.

    Raises
    ------
    BoardError, ParameterError, TargetError
        No such board, preset or size, or none that fits the board.
    ToolMissing, CompileError
        It cannot be compiled; the message says what is missing.
    """
    from ...boards import open_board
    from ...gateware.cores import open_core

    assert parsed.board is not None and parsed.isa is not None
    rate = parsed.options.get("sdram_rate")
    board = open_board(parsed.board).with_sdram_rate(None if rate is None else int(rate))
    package = open_core(parsed.isa)
    space = package.params.SPACE
    preset = parsed.preset or board.preset_for(package)
    space.resolve(preset, parsed.params)  # before anything that takes time
    if progress is not None:
        # A design that is new is elaborated first, which takes seconds without a step of its own.
        progress(OPENING)

    trace = None
    if "trace" in parsed.options:
        from ...boards.virtual.fst import check_fst

        check_output(parsed.options["trace"], f"target {public_name(parsed.text)}: trace")
        if parsed.options["trace"].endswith(".fst"):
            check_fst()
        trace = (parsed.options["trace"], int(parsed.options.get("trace_from", 0)))
    from ...boards.virtual.board import FlashContents, open_virtual

    flash = None
    if "boot" in parsed.options:
        try:
            flash = FlashContents(Path(parsed.options["boot"]).read_bytes())
        except OSError as error:
            raise TargetError(
                f"target {public_name(parsed.text)}: boot = {parsed.options['boot']}: "
                f"{error.strerror}: expected the file of a plan image (quintet image)"
            ) from None

    virtual = open_virtual(
        board,
        package,
        preset=preset,
        params=parsed.params,
        trace=trace,
        on_chip=None if (number := parsed.options.get("on_chip")) is None else int(number),
        run_list=parsed.options.get("run_list") == "yes",
        flash=flash,
        link=parsed.options.get("link", "pipe").replace("pipe", "bytes"),
        progress=progress,
    )
    # A host finds a board that has been on for a while.
    virtual.pipe.sleep(getattr(virtual.soc.backing, "powerup_ns", 0) * 1e-9 + 20e-6)
    return virtual


def open_sim(parsed: TargetName, progress: Callable[[str], object] | None = None) -> SimTarget:
    """Opens the :class:`SimTarget` of a name; errors as for :func:`open_board_of`, and
    ``LinkError`` if it does not answer."""
    from ..link.client import LinkClient

    if parsed.options.get("link") == "uartbone":
        raise TargetError(
            f"target {public_name(parsed.text)}: programs are not loaded over UARTBone; it can be "
            f"served (quintet serve)"
        )
    board = open_board_of(parsed, progress)
    try:
        # Sessions are drawn by a fixed seed: a run is the same every time.
        return SimTarget(
            client=LinkClient(
                board.pipe if board.spi is None else SPIPipe(board.spi),
                seed=1,
                timeout=TIMEOUT,
                retry=RETRY,
            ),
            name=parsed.text,
            board=board,
            direct=parsed.options.get("load") == "direct",
        )
    except BaseException:
        board.close()
        raise
