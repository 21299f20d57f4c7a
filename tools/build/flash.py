# SPDX-License-Identifier: BSD-2-Clause
"""Loading of bitstreams into a board, with a programmer that the board supports and this machine
has."""

from __future__ import annotations

import glob
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...gateware.processes import run_child
from ..errors import InputError, NoDeviceError

__all__ = [
    "PROGRAMMERS",
    "CopyProgrammer",
    "Programmer",
    "choose_programmer",
    "find_bitstream",
    "flash",
]


@dataclass(frozen=True)
class Programmer:
    """A programmer: an external program that loads bitstreams.

    ``volatile`` and ``permanent`` are argument templates (``{bitstream}``, ``{board}``), ``None``
    if it cannot do that. ``board_names`` maps our boards' names to this program's own.
    """

    name: str
    volatile: tuple[str, ...] | None
    permanent: tuple[str, ...] | None
    suffixes: tuple[str, ...]
    install: str
    board_names: tuple[tuple[str, str], ...] = ()
    #: Arguments that write a file's bytes into flash memory from ``{offset}`` on, ``None`` if it
    #: cannot do that.
    data: tuple[str, ...] | None = None

    def able(self, permanent: bool) -> bool:
        """Whether the programmer can load the FPGA itself or, with ``permanent``, its flash
        memory."""
        return (self.permanent if permanent else self.volatile) is not None

    def ready(self) -> bool:
        """Whether the program is on the PATH."""
        return shutil.which(self.name) is not None

    def command(
        self, board: str, file: str, permanent: bool, offset: int | None = None
    ) -> list[str]:
        """Command line of the programmer; ``offset``: the file is raw data for that address of the
        flash memory."""
        theirs = dict(self.board_names).get(board, board)
        template = self.permanent if permanent else self.volatile
        if offset is not None:
            template = self.data
        assert template is not None  # see `able`
        return [
            self.name,
            *(part.format(bitstream=file, board=theirs, offset=offset) for part in template),
        ]

    def load(
        self,
        board: str,
        bitstream: Path,
        permanent: bool,
        timeout: float,
        offset: int | None = None,
    ) -> tuple[str, list[str]]:
        """Runs the program; returns its output and the command."""
        command = self.command(board, str(bitstream), permanent, offset)
        try:
            done = run_child(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=timeout,
            )
        except subprocess.TimeoutExpired:
            raise NoDeviceError(
                f"{self.name} did not end within {timeout} s; is the board connected?"
            ) from None
        except OSError as error:
            raise NoDeviceError(f"{self.name} cannot be started: {error.strerror}") from None
        if done.returncode:
            lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
            said = lines[-1] if lines else "it printed nothing"
            how = (
                f"signal {-done.returncode}"
                if done.returncode < 0
                else f"exit code {done.returncode}"
            )
            raise NoDeviceError(f"{self.name} failed ({how}): {said}")
        return done.stdout, command


@dataclass(frozen=True)
class CopyProgrammer:
    """A microcontroller of the board that accepts the bitstream as a file: on a volume with a known
    name, or on a serial device.

    ``volumes``: patterns of the folder at which the volume is mounted; ``usb``: (vendor, product)
    of the serial device. ``keeps``: it writes flash memory (else the FPGA itself).
    """

    name: str
    suffixes: tuple[str, ...]
    install: str
    keeps: bool
    volumes: tuple[str, ...] = ()
    usb: tuple[int, int] | tuple[()] = ()
    #: It takes bitstreams only.
    data: None = None

    def able(self, permanent: bool) -> bool:
        """Whether it can load the FPGA itself or, with ``permanent``, its flash memory."""
        return self.keeps == permanent

    def places(self) -> list[str]:
        """Paths to which a bitstream can be written now."""
        if self.usb:
            from serial.tools.list_ports import comports

            return sorted(port.device for port in comports() if (port.vid, port.pid) == self.usb)
        return sorted(
            folder
            for pattern in self.volumes
            for folder in glob.glob(pattern)
            if Path(folder).is_dir()
        )

    def ready(self) -> bool:
        """Whether its volume or device is present."""
        return bool(self.places())

    def load(
        self, board: str, bitstream: Path, permanent: bool, timeout: float
    ) -> tuple[str, list[str]]:
        """Copies the bitstream; returns a message and the equivalent command."""
        places = self.places()
        if len(places) > 1:
            raise NoDeviceError(f"{self.name}: found at {', '.join(places)}; unplug all but one")
        place = Path(places[0]) / bitstream.name if self.volumes else Path(places[0])
        try:
            with open(place, "wb") as target:
                target.write(bitstream.read_bytes())
        except OSError as error:
            raise NoDeviceError(f"{self.name}: cannot write {place}: {error.strerror}") from None
        return f"copied to {place}\n", ["cp", str(bitstream), str(place)]


#: Where systems mount a volume of a name.
_VOLUMES = ("/media/*/{0}", "/media/{0}", "/run/media/*/{0}", "/Volumes/{0}", "/mnt/{0}")
_ULX3S = tuple((f"ulx3s-{size}", "ulx3s") for size in ("12f", "25f", "45f", "85f"))

#: Programmers by name, in no order of preference: that is the board's.
PROGRAMMERS = {
    p.name: p
    for p in (
        Programmer(
            "openFPGALoader",
            ("--board", "{board}", "{bitstream}"),
            ("--board", "{board}", "--write-flash", "{bitstream}"),
            (".bit", ".bin"),
            "apt-get install openfpgaloader, or the package of your system",
            (
                *_ULX3S,
                ("icebreaker", "ice40_generic"),
                ("upduino", "ice40_generic"),
                ("hx8k-breakout", "ice40_generic"),
                ("orangecrab-25f", "orangeCrab"),
                ("orangecrab-85f", "orangeCrab"),
            ),
            data=(
                "--board",
                "{board}",
                "--write-flash",
                "--offset",
                "{offset}",
                "--file-type",
                "raw",
                "{bitstream}",
            ),
        ),
        Programmer(
            "fujprog",
            ("{bitstream}",),
            ("-j", "FLASH", "{bitstream}"),
            (".bit",),
            "apt-get install fujprog, or the package of your system",
        ),
        Programmer(
            "iceprog",
            ("-S", "{bitstream}"),
            ("{bitstream}",),
            (".bin",),
            "apt-get install fpga-icestorm, or the package of your system",
            data=("-o", "{offset}", "{bitstream}"),
        ),
        Programmer(
            "dfu-util",
            None,
            ("-a", "0", "-D", "{bitstream}", "-R"),
            (".bit", ".bin", ".dfu"),
            "apt-get install dfu-util, or the package of your system",
        ),
        Programmer(
            "icesprog",
            None,
            ("{bitstream}",),
            (".bin", ".bit"),
            "building it from the iCESugar project's tools folder",
        ),
        Programmer(
            "ecpdap",
            ("program", "{bitstream}"),
            ("flash", "write", "{bitstream}"),
            (".bit",),
            "cargo install ecpdap",
        ),
        CopyProgrammer(
            "iCELink",
            (".bin", ".bit"),
            "connecting the board, whose volume iCELink must be mounted",
            keeps=True,
            volumes=tuple(pattern.format("iCELink") for pattern in _VOLUMES),
        ),
        CopyProgrammer(
            "STM32",
            (".bin",),
            "connecting the board, whose STM32 is a serial device (0483:5740)",
            keeps=False,
            usb=(0x0483, 0x5740),
        ),
    )
}


def choose_programmer(
    names: Sequence[str], permanent: bool, data: bool = False
) -> Programmer | CopyProgrammer:
    """Chooses the first of a board's programmers that is present and can write the requested
    memory; ``data``: it must also write raw data to flash memory.

    Raises
    ------
    NoDeviceError
        None is there; the message says what to install.
    """
    able = [PROGRAMMERS[n] for n in names if PROGRAMMERS[n].able(permanent)]
    if data:
        able = [programmer for programmer in able if programmer.data is not None]
    if data and not able:
        raise NoDeviceError("no programmer of this board can write a plan image to flash memory")
    if not able:
        way = "its flash memory" if permanent else "the FPGA itself (use --permanent)"
        raise NoDeviceError(f"no programmer of this board can write to {way}")
    for programmer in able:
        if programmer.ready():
            return programmer
    first = able[0]
    raise NoDeviceError(
        f"none of {', '.join(p.name for p in able)} is there; {first.name} comes by: "
        f"{first.install}"
    )


def find_bitstream(path: str | Path, suffixes: Sequence[str]) -> Path:
    """Finds the bitstream at ``path``: a file, or a folder of ``quintet build`` with a single file
    of these suffixes."""
    path = Path(path)
    if path.is_file():
        if path.suffix not in suffixes:
            raise InputError(f"{path}: a bitstream ends in {' or '.join(suffixes)}")
        return path
    if not path.is_dir():
        raise InputError(f"{path}: no such file or folder")
    found = sorted(p for p in path.iterdir() if p.suffix in suffixes)
    if len(found) != 1:
        what = (
            "no bitstream"
            if not found
            else f"{len(found)} bitstreams ({', '.join(p.name for p in found)})"
        )
        raise InputError(f"{path}: {what} ending in {' or '.join(suffixes)}; one was expected")
    return found[0]


def flash(
    board: str,
    names: Sequence[str],
    path: str | Path,
    *,
    permanent: bool = False,
    timeout: int = 300,
    image: tuple[Path, int] | None = None,
) -> dict[str, Any]:
    """Loads the bitstream at ``path`` into ``board`` (its name), with the first usable programmer
    of ``names``. ``image``: a plan image and its address in flash memory, which is written first.

    Returns
    -------
    dict
        ``programmer``, ``command``, ``bitstream``, ``permanent``, ``output`` (what the program
        printed).

    Raises
    ------
    InputError, NoDeviceError
        No bitstream; no programmer, or it failed (its last line is in the message) or did not end
        in ``timeout`` seconds.
    """
    programmer = choose_programmer(names, permanent, data=image is not None)
    bitstream = find_bitstream(path, programmer.suffixes)
    before = ""
    if image is not None:
        assert isinstance(programmer, Programmer)
        before, _ = programmer.load(board, image[0], True, timeout, offset=image[1])
    output, command = programmer.load(board, bitstream, permanent, timeout)
    return {
        "programmer": programmer.name,
        "command": command,
        "bitstream": str(bitstream),
        "permanent": permanent,
        "output": before + output,
    }
