# SPDX-License-Identifier: BSD-2-Clause
"""The command line ``quintet``. Each subcommand is a module, imported only when it is run."""

import argparse
import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from typing import NoReturn

from ..gateware.processes import ended_by_signals
from .console import Console, show
from .errors import Exit, exit_code

__all__ = ["COMMANDS", "main"]

#: Subcommand -> one line of help. Its module, of the same name, exports ``arguments(parser)`` and
#: ``run(args, console)``.
COMMANDS = {
    "demo": "classify handwritten digits on a virtual board",
    "boards": "list the boards, and which core fits which",
    "cores": "list the cores, their parameters and presets",
    "asm": "assemble a program",
    "disasm": "disassemble a program",
    "compile": "compile a trained network (ONNX) for a core",
    "infer": "run a compiled network on inputs",
    "generate": "print the text that a language model writes",
    "compare": "compile a network for every core and compare the results",
    "report": "make an HTML page of another command's results",
    "studio": "draw a digit on a web page and see it recognised by the cores",
    "examples": "list the shipped networks, arrays and jobs, and copy them",
    "run": "run a job on a target",
    "verify": "run a job or a compiled network on two targets and compare",
    "selftest": "test a board: link, memory, every unit of its core",
    "serve": "serve a virtual board on a pseudo-terminal or socket",
    "build": "build a bitstream",
    "check": "simulate the netlist of a build against the virtual board",
    "flash": "load a bitstream into a board",
    "verilog": "write readable Verilog of a SoC or a core",
    "export": "write a compiled network as a C header",
    "image": "write a compiled network as an image for a board's flash memory",
    "mlperf": "serve a compiled network to MLPerf Tiny's runner",
    "csr": "write the memory map of a SoC for other tools",
    "measure": "measure the performance figures of the documents",
    "matrix": "build every board and core that fit together",
    "new": "create the package of a new core or board",
    "doctor": "list what is missing on this machine, and how to install it",
}

#: Modules of commands that do not lie in ``tools/commands``: they lie with what they run, firmware
#: among it, which tools know nothing of.
_PLACES = {
    "check": ".netlist.command",
    "demo": "..firmware.demo.command",
    "examples": "..firmware.examples.command",
    "export": ".export.command",
    "generate": ".language.command",
    "image": ".resident.command",
    "mlperf": ".mlperf.command",
    "report": ".report.command",
    "studio": "..firmware.studio.command",
}


class _Parser(argparse.ArgumentParser):
    """Argument parser whose errors are a single line."""

    def error(self, message: str) -> NoReturn:
        raise _Usage(f"{message} (see {self.prog} --help)")


class _Usage(Exception):
    pass


def _version():
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("quintet")
    except PackageNotFoundError:
        return "unknown"


def _overview():
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {text}" for name, text in COMMANDS.items()]
    return "\n".join(
        [
            "usage: quintet [--version] [--help] COMMAND ...",
            "",
            "Neural-network accelerator cores for FPGAs, behind one bus, with one loader.",
            "",
            "commands:",
            *lines,
            "",
            "quintet COMMAND --help says more. Every command has --json. example:NAME stands for",
            "a file that ships (quintet examples).",
            "Exit codes: 0 success, 1 the answer is no, 2 bad input, 3 no such device or tool, "
            "4 link failure,",
            "5 core fault or abort.",
        ]
    )


def _module(command):
    return importlib.import_module(_PLACES.get(command, f".commands.{command}"), __package__)


def _arguments(command, parser):
    _module(command).arguments(parser)
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object on standard output"
    )


def _parse(argv):
    if not argv or argv[0] in ("-h", "--help", "help"):
        show(_overview())
        return None, None
    if argv[0] == "--version":
        show(f"quintet {_version()}")
        return None, None
    if argv[0] not in COMMANDS:
        import difflib

        close = difflib.get_close_matches(argv[0], COMMANDS, 1)
        raise _Usage(
            f"no command {argv[0]!r}"
            + (f"; did you mean {close[0]}?" if close else "")
            + " (see quintet --help)"
        )
    module = _module(argv[0])
    parser = _Parser(
        prog=f"quintet {argv[0]}",
        description=module.__doc__,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _arguments(argv[0], parser)
    args, unknown = parser.parse_known_args(argv[1:])
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{_meant(unknown, parser)}")
    return module, args


def _meant(unknown, parser):
    """Suggestion at the end of an error about unknown arguments: the option that the first of them
    resembles."""
    import difflib

    options = [text for action in parser._actions for text in action.option_strings]
    words = [word.partition("=")[0] for word in unknown if word.startswith("--")]
    close = [name for word in words for name in difflib.get_close_matches(word, options, 1)]
    return f"; did you mean {close[0]}?" if close else ""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code (:class:`~.errors.Exit`)."""
    if "_ARGCOMPLETE" in os.environ:  # the shell asks how a line may go on
        from .completion import complete

        complete(COMMANDS, _arguments)
    argv = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in argv
    warnings.showwarning = _show_warning
    try:
        module, args = _parse(argv)
        if module is None:
            return Exit.OK
        with ended_by_signals():
            return module.run(args, Console(args.json)) or Exit.OK
    except _Usage as error:
        return _fail(str(error), Exit.BAD_INPUT, as_json)
    except SystemExit as error:  # argparse's --help
        show(end="")
        return error.code if isinstance(error.code, int) else Exit.OK
    except KeyboardInterrupt as error:
        code = getattr(error, "code", Exit.INTERRUPTED)
        said = "interrupted" if code == Exit.INTERRUPTED else "terminated"
        return _fail(said, code, as_json)
    except Exception as error:
        # Amaranth would warn of each unused part of a design that was refused half-way.
        warnings.filterwarnings("ignore", message=".* created but never used")
        code = exit_code(error)
        if code is None:
            if os.environ.get("QUINTET_DEBUG"):
                raise
            return _fail(
                f"internal error: {type(error).__name__}: {error} (QUINTET_DEBUG=1 shows where)",
                Exit.INTERNAL,
                as_json,
            )
        return _fail(str(error), code, as_json, getattr(error, "listing", False))


_show_plainly = warnings.showwarning


def _show_warning(message, category, *rest, **more):
    """Prints the warning about a broken plug-in as a line in the style of the command's errors."""
    from ..gateware.plugins import PluginWarning

    if issubclass(category, PluginWarning):
        show(f"quintet: {message}", file=sys.stderr)
    else:
        _show_plainly(message, category, *rest, **more)


def _fail(message, code, as_json, listing=False):
    """Prints an error and returns its exit code. With ``listing``, the message has one line per
    error location; any other message is printed as a single line."""
    message = message if listing else " ".join(message.split("\n"))
    show(f"quintet: {message}", file=sys.stderr)
    if as_json:
        import json

        show(json.dumps({"error": message, "exit": code}))
    return code


if __name__ == "__main__":
    sys.exit(main())
