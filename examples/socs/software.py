# SPDX-License-Identifier: BSD-2-Clause
"""Compiles the program of the SoCs in these folders, and runs commands."""

import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
#: Compilers for RISC-V, of which the first that is found is used.
COMPILERS = ("riscv64-unknown-elf-gcc", "riscv32-unknown-elf-gcc", "riscv-none-elf-gcc")


def words(data: bytes) -> list[int]:
    """Little-endian words of 32 bits."""
    return np.frombuffer(data + bytes(-len(data) % 4), "<u4").tolist()


def run(*command: object, **options: object) -> str:
    """Runs a command; returns its standard output. Ends the program with the command's errors if it
    fails."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def compile_program(
    folder: Path, flags: Iterable[str], includes: Iterable[Path], stack: int
) -> bytes:
    """Compiles ``digits.c`` for a RISC-V whose stack ends at ``stack``, in ``folder``."""
    compiler = next(filter(shutil.which, COMPILERS), None)
    if compiler is None:
        sys.exit(f"no compiler for RISC-V: expected one of {', '.join(COMPILERS)}")
    program, binary = folder / "program.elf", folder / "program.bin"
    run(
        compiler, *flags, "-Os", "-ffreestanding", "-nostdlib", "-Wall", "-Wextra", "-Werror",
        f"-Wl,-T{HERE / 'link.ld'},--defsym=_stack={stack:#x}", *(f"-I{path}" for path in includes),
        HERE / "start.S", HERE / "digits.c", "-o", program,
    )  # fmt: skip
    run(compiler.replace("gcc", "objcopy"), "-O", "binary", program, binary)
    return binary.read_bytes()
