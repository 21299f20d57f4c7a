# SPDX-License-Identifier: BSD-2-Clause
"""Loads a bitstream into a board with the programmer that the board and this machine have."""
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .errors import InputError, NoDeviceError

__all__ = ["PROGRAMMERS", "Programmer", "choose_programmer", "find_bitstream", "flash"]


@dataclass(frozen=True)
class Programmer:
    """A program that loads bitstreams.

    ``volatile`` and ``permanent`` are argument templates (``{bitstream}``, ``{board}``), ``None`` where it has no such way.
    ``board_names`` maps our boards' names to this program's own.
    """
    name: str
    volatile: tuple | None
    permanent: tuple | None
    suffixes: tuple
    install: str
    board_names: tuple = ()

    def command(self, board, bitstream, permanent):
        template = self.permanent if permanent else self.volatile
        if template is None:
            return None
        theirs = dict(self.board_names).get(board, board)
        return [self.name, *(part.format(bitstream=bitstream, board=theirs) for part in template)]


_ULX3S = tuple((f"ulx3s-{size}", "ulx3s") for size in ("12f", "25f", "45f", "85f"))

#: Programmers by name, in no order of preference: that is the board's.
PROGRAMMERS = {p.name: p for p in (
    Programmer("openFPGALoader", ("--board", "{board}", "{bitstream}"),
               ("--board", "{board}", "--write-flash", "{bitstream}"), (".bit", ".bin"),
               "apt-get install openfpgaloader, or the package of your system",
               (*_ULX3S, ("icebreaker", "ice40_generic"))),
    Programmer("fujprog", ("{bitstream}",), ("-j", "FLASH", "{bitstream}"), (".bit",),
               "apt-get install fujprog, or the package of your system"),
    Programmer("iceprog", ("-S", "{bitstream}"), ("{bitstream}",), (".bin",),
               "apt-get install fpga-icestorm, or the package of your system"),
    Programmer("dfu-util", None, ("-a", "0", "-D", "{bitstream}", "-R"), (".bit", ".bin", ".dfu"),
               "apt-get install dfu-util, or the package of your system"),
)}


def choose_programmer(names, permanent):
    """The first of a board's programmers that is on the PATH and has the way asked for.

    Raises
    ------
    NoDeviceError
        None is there; the message says what to install.
    """
    able = [PROGRAMMERS[n] for n in names if (PROGRAMMERS[n].permanent if permanent else PROGRAMMERS[n].volatile)]
    if not able:
        way = "its flash memory" if permanent else "the FPGA itself (use --permanent)"
        raise NoDeviceError(f"no programmer of this board can write to {way}")
    for programmer in able:
        if shutil.which(programmer.name):
            return programmer
    first = able[0]
    raise NoDeviceError(f"none of {', '.join(p.name for p in able)} is on the PATH; "
                        f"{first.name} comes by: {first.install}")


def find_bitstream(path, suffixes):
    """The bitstream at ``path``: a file, or the one file of these suffixes in a folder that ``quintet build`` made."""
    path = Path(path)
    if path.is_file():
        if path.suffix not in suffixes:
            raise InputError(f"{path}: a bitstream ends in {' or '.join(suffixes)}")
        return path
    if not path.is_dir():
        raise InputError(f"{path}: no such file or folder")
    found = sorted(p for p in path.iterdir() if p.suffix in suffixes)
    if len(found) != 1:
        what = "no bitstream" if not found else f"{len(found)} bitstreams ({', '.join(p.name for p in found)})"
        raise InputError(f"{path}: {what} ending in {' or '.join(suffixes)}; one was expected")
    return found[0]


def flash(board, names, path, *, permanent=False, timeout=300):
    """Load the bitstream at ``path`` into ``board`` (its name), with the first usable one of ``names``.

    Returns
    -------
    dict
        ``programmer``, ``command``, ``bitstream``, ``permanent``, ``output`` (what the program printed).

    Raises
    ------
    InputError, NoDeviceError
        No bitstream; no programmer, or it failed (its last line is in the message) or did not end in ``timeout`` seconds.
    """
    programmer = choose_programmer(names, permanent)
    bitstream = find_bitstream(path, programmer.suffixes)
    command = programmer.command(board, str(bitstream), permanent)
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=timeout)
    except subprocess.TimeoutExpired:
        raise NoDeviceError(f"{programmer.name} did not end within {timeout} s; is the board connected?") from None
    except OSError as error:
        raise NoDeviceError(f"{programmer.name} cannot be started: {error.strerror}") from None
    if done.returncode:
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        said = lines[-1] if lines else "it printed nothing"
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
        raise NoDeviceError(f"{programmer.name} failed ({how}): {said}")
    return {"programmer": programmer.name, "command": command, "bitstream": str(bitstream), "permanent": permanent,
            "output": done.stdout}
