# SPDX-License-Identifier: BSD-2-Clause
"""Every command that a document prints exists and takes the arguments that stand there."""

import argparse
import importlib.util
import re
import shlex
from pathlib import Path

import pytest

from quintet.tools.cli import _module, _parse, _Usage
from quintet.tools.errors import InputError
from quintet.tools.measure.catalogue import find
from quintet.tools.measure.choice import Choice
from quintet.tools.options import sizes

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: Code between backticks that is no command.
_PROSE = ("quintet link", "quintet COMMAND --help")


def commands(text, start):
    """Commands of a document that begin with ``start``: of code between backticks, and lines of
    code blocks."""
    text = re.sub(r"\\\n\s*", " ", text)
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.S | re.M)
    lines = [line for block in blocks for line in block.splitlines()]
    rest = re.sub(r"^```\w*\n.*?^```", "", text, flags=re.S | re.M)
    lines += [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", rest)]
    return [
        line.strip()
        for line in lines
        if line.strip().startswith(start + (" " if start == "quintet" else ""))
        and line.strip() not in _PROSE
    ]


def spelled(line):
    """``line`` without what may be left out, and with a number where one of one's own goes."""
    while line != (line := re.sub(r"\s*\[[^\[\]]*\](\.\.\.)?", "", line)):
        pass
    return re.sub(r"(?<=\s)(N|F|SEED)(?=\s|$)", "1", line)


def options_of(command):
    parser = argparse.ArgumentParser()
    _module(command).arguments(parser)
    return {"--json", *parser._option_string_actions}


def usage_error(line):
    """Error of a ``quintet`` command, or ``None``. A mention that leaves the arguments
    out names options that there are."""
    argv = shlex.split(line, comments=True)[1:]
    for stop in ("&", "&&", ">", "|"):
        argv = argv[: argv.index(stop)] if stop in argv else argv
    try:
        _, args = _parse(argv)
        if argv[0] == "measure" and "<isa>" not in argv:
            for name, measure in find(args.what).items():
                Choice.of(
                    name, measure, args.preset, args.memory, args.only, args.settings, sizes(args)
                )
    except (_Usage, InputError) as error:
        if "arguments are required" not in str(error):
            return str(error)
        unknown = {text for text in argv if text.startswith("-")} - options_of(argv[0])
        return f"{argv[0]} has no {', '.join(sorted(unknown))}" if unknown else None
    except SystemExit:  # --help
        return None
    return None


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_are_taken(document):
    wrong = {
        line: error
        for line in commands(document.read_text(), "quintet")
        if (error := usage_error(spelled(line)))
    }
    assert not wrong


def module_error(module):
    """Error of ``python -m module``, or ``None``."""
    spec = importlib.util.find_spec(module)
    if spec is None:
        return f"no module {module}"
    path = Path(spec.origin)
    if path.name == "__init__.py":
        return None if path.with_name("__main__.py").is_file() else f"{module} is no command"
    return None if "__main__" in path.read_text() else f"{module} is no command"


def test_modules_exist():
    for document in DOCUMENTS:
        for line in commands(document.read_text(), "python -m quintet"):
            module = line.split()[2]
            assert module.endswith(".NAME") or not module_error(module), f"{document.name}: {line}"


def test_no_command_needs_the_tests():
    """No printed command but pytest itself needs the tests, which an installed package lacks."""
    for document in DOCUMENTS:
        assert not re.search(
            r"PYTHONPATH=tests|python -m "
            r"(?!quintet|tests\.support|pytest|venv|pip|serial|build\b|http)[a-z_]+",
            document.read_text(),
        ), document.name


def test_wrong_commands_are_seen():
    text = (
        "`quintet measure oop`, `quintet\nbuilt x`, `quintet build --rooter x`, `quintet build "
        "--freq 8`\n```\nquintet measure opu/layers --preset p65\n```\n`quintet_x`"
    )
    found = {line: usage_error(spelled(line)) for line in commands(text, "quintet")}
    assert found == {
        "quintet measure opu/layers --preset p65": (
            "--preset of opu/layers 'p65': did you mean p64 or p16?"
        ),
        "quintet measure oop": "measure 'oop': did you mean opu?",
        "quintet build --rooter x": "build has no --rooter",
        "quintet build --freq 8": None,
        "quintet built x": "no command 'built'; did you mean build? (see quintet --help)",
    }
    assert spelled("quintet a X [--b C]... [--d [E:]F] --s N") == "quintet a X --s 1"
