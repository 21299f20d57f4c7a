# SPDX-License-Identifier: BSD-2-Clause
"""User-facing errors, each with the exit code of the command that reports it
(docs/reference/command-line.md)."""

import sys

from ..gateware.suggestions import close_names, suggestion

__all__ = [
    "Exit",
    "InputError",
    "JobError",
    "NoDeviceError",
    "QuintetError",
    "TargetError",
    "close_names",
    "exit_code",
    "suggestion",
]


class Exit:
    """Exit codes of every command."""

    OK = 0
    NO = 1  # the answer is no: mismatch, clock not reached
    BAD_INPUT = 2
    NO_DEVICE = 3  # no such device or tool
    LINK = 4
    FAULT = 5  # core fault or abort
    INTERNAL = 70  # a defect of quintet itself
    INTERRUPTED = 130  # and 128 with the number of any other signal that ended it


class QuintetError(Exception):
    """An error that the user can put right; the message is one line that names what and where."""

    code = Exit.BAD_INPUT


class InputError(QuintetError):
    """Error in the usage of a command, or invalid input."""


class JobError(InputError):
    """Error of a job that cannot run: the message names file, key, value and what was expected."""


class TargetError(InputError):
    """Error of a malformed target name, or of a target that cannot run this job."""


class NoDeviceError(QuintetError):
    """Error of a missing device, or of a tool that is not installed."""

    code = Exit.NO_DEVICE


#: Errors of modules that do not know this one: (module, class, exit code). Looked up only if
#: already imported, so that naming them costs nothing.
_FOREIGN = (
    ("quintet.tools.link.errors", "LinkError", Exit.LINK),
    ("quintet.gateware.isa.asm", "AsmError", Exit.BAD_INPUT),
    ("quintet.boards", "BoardError", Exit.BAD_INPUT),
    ("quintet.boards.virtual.toolchain", "ToolMissing", Exit.NO_DEVICE),
    ("quintet.boards.virtual.cache", "CacheError", Exit.BAD_INPUT),
    ("quintet.boards.virtual.simulation", "TraceError", Exit.BAD_INPUT),
    ("quintet.boards.virtual.compile", "CompileError", Exit.NO_DEVICE),
    ("quintet.gateware.isa.files", "FileError", Exit.BAD_INPUT),
    ("quintet.gateware.isa.parameters", "ParameterError", Exit.BAD_INPUT),
    ("quintet.gateware.isa.outcome", "UndefinedResult", Exit.FAULT),
    ("quintet.gateware.primitives.pll", "PLLError", Exit.BAD_INPUT),
    ("quintet.gateware.cores", "CoreError", Exit.BAD_INPUT),
)


def exit_code(error: BaseException) -> int | None:
    """Exit code for ``error``, or ``None`` if it is not an error that a user can cause."""
    if isinstance(error, QuintetError):
        return error.code
    for module, name, code in _FOREIGN:
        kind = getattr(sys.modules.get(module), name, None)
        if kind is not None and isinstance(error, kind):
            return code
    return None
