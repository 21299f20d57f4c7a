# SPDX-License-Identifier: BSD-2-Clause
"""Shell completion (by argcomplete) of commands, options, boards, cores, presets, targets and
measurements (docs/start/install.md)."""

import argparse
import os
from collections.abc import Callable, Collection, Mapping

__all__ = ["complete", "parser"]


def _boards(**_):
    from ..boards import board_names

    return board_names()


def _cores(**_):
    from ..gateware.cores import core_names

    return core_names()


def _presets(parsed_args, **_):
    from ..gateware.cores import core_names, open_core

    named = getattr(parsed_args, "isa", None) or getattr(parsed_args, "core", None)
    packages = [named] if isinstance(named, str) and named in core_names() else core_names()
    return sorted({preset for name in packages for preset in open_core(name).params.SPACE.presets})


def _targets(**_):
    from ..boards import open_board
    from ..gateware.cores import open_core

    fits = [
        f"{board}/{core}"
        for board in _boards()
        for core in _cores()
        if open_core(core).has_core and open_board(board).presets(open_core(core))
    ]
    return [
        "model",
        "auto",
        *(f"model:{core}" for core in _cores()),
        *(f"sim:{pair}" for pair in fits),
    ]


def _builds(**_):
    """Completions for builds that a plan can be compiled for: boards with a core, and targets."""
    return [
        *(name.removeprefix("sim:") for name in _targets() if name.startswith("sim:")),
        *_targets(),
    ]


def _measures(**_):
    from .measure.catalogue import find, topics

    return [*topics(), *find(topics())]


def _examples(**_):
    from .examples import example_files

    return example_files()


#: (command, dest) or dest alone -> what its values are. Others are files, which the shell
#: completes.
_VALUES = {
    "board": _boards,
    "isa": _cores,
    "core": _cores,
    "preset": _presets,
    "on": _targets,
    "against": _targets,
    "target": _targets,
    "what": _measures,
    ("compile", "target"): _builds,
    ("measure", "preset"): None,
    ("examples", "name"): _examples,
}


def parser(
    commands: Mapping[str, str],
    make: Callable[[str, argparse.ArgumentParser], None],
    detailed: Collection[str] | None = None,
) -> argparse.ArgumentParser:
    """One argument parser with every command as a subcommand.

    ``commands`` maps names to help lines; ``make(name, parser)`` adds the arguments of one
    command. Only commands of ``detailed`` get theirs, which imports their modules; all by
    default."""
    whole = argparse.ArgumentParser(prog="quintet", allow_abbrev=False)
    whole.add_argument("--version", action="store_true")
    subparsers = whole.add_subparsers()
    for name, text in commands.items():
        one = subparsers.add_parser(name, help=text, allow_abbrev=False)
        if detailed is not None and name not in detailed:
            continue
        make(name, one)
        for action in one._actions:
            values = _VALUES.get((name, action.dest), _VALUES.get(action.dest))
            if values is not None and not action.choices:
                # argcomplete looks for this attribute of an action.
                action.completer = values  # type: ignore[attr-defined]  # argcomplete's own
    return whole


def complete(
    commands: Mapping[str, str], make: Callable[[str, argparse.ArgumentParser], None]
) -> None:
    """Answers a completion request of the shell and exits; does nothing if there is none
    (argcomplete's variables are not set) or argcomplete is not installed."""
    try:
        import argcomplete
    except ImportError:
        return
    # The command is a word of the line that the shell completes.
    typed = os.environ.get("COMP_LINE", "").split()
    argcomplete.autocomplete(parser(commands, make, typed))
