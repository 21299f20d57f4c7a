# SPDX-License-Identifier: BSD-2-Clause
"""FST traces, a compressed waveform format, converted from a VCD when a simulation is closed.

``vcd2fst`` (it comes with GTKWave) is used where it is on the PATH, since it is fast; else the
library of the extra ``fst``.
"""

import importlib.util
import shutil
from pathlib import Path

from ...gateware.processes import run_child
from ...gateware.requirements import extra_command
from .toolchain import ToolMissing

__all__ = ["check_fst", "write_fst"]


def check_fst() -> None:
    """Raises :class:`ToolMissing` if no converter to FST is installed."""
    if shutil.which("vcd2fst") is None and importlib.util.find_spec("pylibfst") is None:
        raise ToolMissing(
            f"an FST trace needs vcd2fst (of GTKWave) on the PATH, or pylibfst: "
            f"`{extra_command('fst')}`; a trace whose name does not end in .fst is written as VCD "
            f"and needs neither"
        )


def write_fst(vcd: str | Path, fst: str | Path) -> None:
    """Converts the file ``vcd`` into the file ``fst``.

    Raises
    ------
    ToolMissing, OSError, RuntimeError
    """
    check_fst()
    program = shutil.which("vcd2fst")
    if program is None:
        _convert(Path(vcd), Path(fst))
        return
    done = run_child([program, str(vcd), str(fst)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"vcd2fst failed: {(done.stderr or done.stdout).strip()[-500:]}")


def _convert(vcd, fst):
    from pylibfst import ffi, lib

    writer = lib.fstWriterCreate(str(fst).encode(), 1)
    if writer == ffi.NULL:
        raise OSError(f"cannot write {fst}")
    lib.fstWriterSetPackType(writer, lib.FST_WR_PT_LZ4)
    handles = {}  # of the VCD's identifiers: (handle, bits)
    try:
        with open(vcd, encoding="latin-1") as lines:
            for line in lines:
                if line[0] == "#":
                    lib.fstWriterEmitTimeChange(writer, int(line[1:]))
                elif line[0] == "b":
                    value, name = line[1:].split()
                    handle, bits = handles[name]
                    # A VCD leaves leading zeros out.
                    lib.fstWriterEmitValueChange(writer, handle, value.rjust(bits, "0").encode())
                elif line[0] in "01":
                    lib.fstWriterEmitValueChange(
                        writer, handles[line[1:].strip()][0], line[:1].encode()
                    )
                elif line[0] == "$":
                    _declare(lib, ffi, writer, handles, line.split())
    finally:
        lib.fstWriterClose(writer)
    # The library says nothing of a write that failed.
    reader = lib.fstReaderOpen(str(fst).encode())
    if reader == ffi.NULL:
        raise OSError("what was written does not read back: is the disk full?")
    lib.fstReaderClose(reader)


def _declare(lib, ffi, writer, handles, words):
    if words[0] == "$timescale":
        lib.fstWriterSetTimescaleFromString(writer, "".join(words[1:-1]).encode())
    elif words[0] == "$scope":
        lib.fstWriterSetScope(writer, lib.FST_ST_VCD_MODULE, words[2].encode(), ffi.NULL)
    elif words[0] == "$upscope":
        lib.fstWriterSetUpscope(writer)
    elif words[0] == "$var":
        # One identifier may have several names: they share a handle.
        bits, name = int(words[2]), words[3]
        handle, _ = handles.get(name, (0, bits))
        made = lib.fstWriterCreateVar(
            writer,
            lib.FST_VT_VCD_WIRE,
            lib.FST_VD_IMPLICIT,
            bits,
            " ".join(words[4:-1]).encode(),
            handle,
        )
        handles.setdefault(name, (made, bits))
