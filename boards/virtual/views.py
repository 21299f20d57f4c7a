# SPDX-License-Identifier: BSD-2-Clause
"""View files of a trace, which make a viewer show the relevant signals: ``FILE.gtkw`` for GTKWave,
``FILE.sucl`` for Surfer.

GTKWave opens the first itself (``gtkwave run.vcd.gtkw``); Surfer runs the second beside the trace
(``surfer --command-file run.vcd.sucl run.vcd``).
"""

import re
from collections.abc import Iterable
from pathlib import Path

__all__ = ["chosen", "declared", "view_files", "write_views"]

_PORT = "(req__(valid|ready)|req__payload|r__(valid|ready)|w__(valid|ready)|ack__valid)"
#: Group -> names of its signals, with their scopes; in this order, as far as a design has them.
_GROUPS = {
    "run": r"top\.(clk|rst)|top\.soc\.core\.control\.(busy|engine__(start|finish|stall))",
    "memory of the core": rf"top\.soc\.core\.memory__{_PORT}",
    "ports of the engine": rf"top\.soc\.core\.memory__\d+__{_PORT}",
    "link": r"top\.soc\.link\.(rx|tx|source|sink)__\w+",
    "bus of the core": r"top\.soc\.core\.bus__(cyc|stb|we|adr|ack|err)",
}


def declared(vcd: str | Path) -> dict[str, int]:
    """Signals declared in a VCD's header: hierarchical name -> width."""
    found, scopes = {}, []
    with open(vcd, encoding="latin-1") as lines:
        for line in lines:
            words = line.split()
            if words[:1] == ["$scope"]:
                scopes.append(words[2])
            elif words[:1] == ["$upscope"]:
                scopes.pop()
            elif words[:1] == ["$var"]:
                found[".".join([*scopes, words[4]])] = int(words[2])
            elif words[:1] == ["$enddefinitions"]:
                break
    return found


def chosen(signals: Iterable[str]) -> dict[str, list[str]]:
    """Selected signals by group; for a design that is not a board, those of its top level."""
    groups = {
        group: [name for name in signals if re.fullmatch(pattern, name)]
        for group, pattern in _GROUPS.items()
    }
    groups = {group: names for group, names in groups.items() if names}
    if len(groups) > 1:
        return groups
    # Without the copies that the generator makes, and parts of structures.
    return {"top": [name for name in signals if re.fullmatch(r"\w+\.\w+", name)]}


def view_files(shown: str | Path) -> tuple[Path, Path]:
    """Names of the view files of the trace ``shown``, for GTKWave and Surfer."""
    return Path(f"{shown}.gtkw"), Path(f"{shown}.sucl")


def write_views(vcd: str | Path, shown: str | Path) -> None:
    """Writes the view files of the trace ``shown``. The VCD ``vcd`` declares its signals (for an
    FST, the VCD from which it was converted)."""
    from vcd.gtkw import GTKWSave

    signals, shown = declared(vcd), Path(shown)
    groups = chosen(signals)
    gtkwave, surfer = view_files(shown)
    with open(gtkwave, "w", encoding="utf-8") as file:
        save = GTKWSave(file)
        save.comment("made by quintet")
        # Beside this file, wherever both are moved.
        save.dumpfile(shown.name, abspath=False)
        save.timestart(0)
        for group, names in groups.items():
            with save.group(group):
                for name in names:
                    save.trace(name if signals[name] == 1 else f"{name}[{signals[name] - 1}:0]")
    lines = [
        line
        for group, names in groups.items()
        for line in (f"divider_add {group}", *(f"variable_add {name}" for name in names))
    ]
    surfer.write_text("\n".join([*lines, "zoom_fit"]) + "\n", encoding="utf-8")
