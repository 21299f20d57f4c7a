# SPDX-License-Identifier: BSD-2-Clause
"""Recipes of ``CONTRIBUTING.md``: applies their code blocks to a copy of the tree."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

__all__ = ["Copy", "RecipeError", "blocks", "changed", "changes", "headings", "recipe"]

ROOT = Path(__file__).resolve().parents[2]
_FOLDERS = ("boards", "docs", "firmware", "gateware", "tests", "tools")
_FILES = ("CHANGELOG.md", "CONTRIBUTING.md", "README.md", "mkdocs.yml", "pyproject.toml")


class RecipeError(Exception):
    """Error: a recipe no longer fits the tree; the message names the file and the lines."""


def headings(text):
    """Titles of the recipes in the text of ``CONTRIBUTING.md``."""
    section = re.search(r"^## Recipes\n(.*?)^## ", text, re.S | re.M)
    return re.findall(r"^### (.*)$", section[1], re.M)


def recipe(text, title):
    """Text of the recipe under a heading of ``CONTRIBUTING.md``."""
    found = re.search(rf"^### {re.escape(title)}\n(.*?)(?=^##)", text, re.S | re.M)
    return found[1]


def blocks(text):
    """Code blocks in order: language (empty: commands) and lines."""
    found = re.findall(r"^( *)```(\w*)\n(.*?)^ *```", text, re.S | re.M)
    return [
        (language, [line[len(indent) :] for line in body.splitlines()])
        for indent, language, body in found
    ]


def changes(lines):
    """Changes in a block: (file, old lines, new lines) in order. A removed or kept line after an
    added one begins the next change."""
    file, old, new, added, found = None, [], [], False, []

    def flush():
        if new != old:
            found.append((file, old, new))

    for line in [*lines, "end"]:
        kind = line[:1]
        if kind not in ("+", "-", " ", "") or (added and kind != "+"):
            flush()
            old, new, added = [], [], False
        if kind not in ("+", "-", " ", ""):
            file = line
            continue
        old += [line[1:]] * (kind != "+")
        new += [line[1:]] * (kind != "-")
        added |= kind == "+"
    return found


def changed(text, old, new, name):
    """Replaces the lines ``old``, which ``text`` must contain once, by ``new``.

    Raises
    ------
    RecipeError
        The file lacks them, or has them several times.
    """
    if not old:
        return text + "".join(f"{line}\n" for line in new)
    lines = text.splitlines()
    places = [at for at in range(len(lines)) if lines[at : at + len(old)] == old]
    if len(places) != 1:
        shown = "\n".join(old)
        raise RecipeError(f"{name}: expected these lines once, found {len(places)} times:\n{shown}")
    lines[places[0] : places[0] + len(old)] = new
    return "".join(f"{line}\n" for line in lines)


class Copy:
    """A copy of the tree in ``folder``, in which commands run its package."""

    def __init__(self, folder):
        self.root = folder / "tree"
        for name in _FOLDERS:
            shutil.copytree(ROOT / name, self.root / name, symlinks=True)
        for name in _FILES:
            shutil.copy(ROOT / name, self.root / name)
        package = folder / "path" / "quintet"
        shutil.copytree(self.root / "tools" / "package", package)
        for name in ("boards", "firmware", "gateware", "tools"):
            (package / name).symlink_to(self.root / name)
        programs = folder / "bin"
        programs.mkdir()
        for name, module in (
            ("quintet", "quintet.tools.cli"),
            ("pytest", "pytest"),
            ("python", ""),
        ):
            path = programs / name
            words = f"-m {module}" if module else ""
            path.write_text(f'#!/bin/sh\nexec {sys.executable} {words} "$@"\n')
            path.chmod(0o755)
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(package.parent),
            "PATH": f"{programs}:{os.environ['PATH']}",
        }

    def follow(self, text):
        """Applies the changes of a recipe and runs its commands, in order."""
        for language, lines in blocks(text):
            if language == "diff":
                for name, old, new in changes(lines):
                    self.change(name, old, new)
            elif not language:
                for line in lines:
                    self.run(line)

    def change(self, name, old, new):
        path = self.root / name
        if not old and path.exists():
            raise RecipeError(f"{name}: expected no such file, found one")
        text = path.read_text() if old else ""
        path.write_text(changed(text, old, new, name))

    def run(self, command):
        """Runs a command, which must succeed, and returns its standard output."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    def python(self, code):
        """Runs Python code in the copy and returns its standard output."""
        path = self.root / "check_recipe.py"
        path.write_text(textwrap.dedent(code))
        return self.run(f"python {path.name}")
