# SPDX-License-Identifier: BSD-2-Clause
"""Terminal picture of the demo: ``python -m quintet.tools.pages.recording`` runs the demo and draws
``docs/pictures/demo.svg``."""

import io
import os
import re
import sys
from subprocess import PIPE

from rich.console import Console
from rich.text import Text

from ...gateware.processes import run_child
from .pictures import FOLDER

__all__ = ["draw", "main"]

#: Columns of the terminal.
_WIDTH = 132


def draw(command: str, said: str) -> str:
    """Draws a terminal of :data:`_WIDTH` columns with ``command`` and its output, as self-contained
    SVG."""
    console = Console(
        record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    console.print(Text(f"$ {command}", style="bold green"))
    console.print(Text(said.rstrip()))
    svg = console.export_svg(title=command)
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S).replace(
        "Fira Code", "ui-monospace, monospace"
    )


def main() -> None:
    """Runs the demo and draws the picture."""
    environment = {**os.environ, "COLUMNS": str(_WIDTH)}
    done = run_child(
        [sys.executable, "-m", "quintet.tools.cli", "demo"],
        stdout=PIPE,
        text=True,
        env=environment,
    )
    done.check_returncode()
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "demo.svg").write_text(draw("make demo", done.stdout))


if __name__ == "__main__":
    main()
