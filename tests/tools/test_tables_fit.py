# SPDX-License-Identifier: BSD-2-Clause
"""Tables fit a terminal of 80 columns, and lose nothing by it; a pipe without a width folds
nothing."""

import json

import pytest

from quintet.boards import board_names
from quintet.gateware.cores import core_names
from quintet.tools.cli import main
from quintet.tools.console import Console
from quintet.tools.measure.catalogue import find, topics
from tests.tools.tools_small_job import SmallJob as Small


@pytest.fixture(autouse=True)
def terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def shown(capsys, *words):
    assert main([str(word) for word in words]) in (0, 1, 3)
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ("cores",),
        ("boards",),
        ("measure", "--list"),
        ("doctor",),
        *(("cores", name) for name in core_names()),
        *(("boards", name) for name in board_names()),
    ],
    ids=" ".join,
)
def test_commands(words, capsys):
    text = shown(capsys, *words)
    assert len(text.splitlines()) > 5 and not [line for line in text.splitlines() if len(line) > 80]


def test_nothing_is_lost(capsys):
    """Names stand whole in a line; what is folded is all there."""
    cores = shown(capsys, "cores")
    for core in json.loads(shown(capsys, "cores", "--json"))["cores"]:
        assert all(preset["name"] in cores for preset in core["presets"])
        one = shown(capsys, "cores", core["name"])
        assert all(f"\n {p['name']} " in one for p in core["parameters"]) and all(
            f"\n {p['name']}" in one for p in core["presets"]
        )
    measures = shown(capsys, "measure", "--list")
    assert all(f"\n {name} " in measures for name in find(topics()))
    assert all(f"\n {name} " in shown(capsys, "boards") for name in board_names())


@pytest.mark.parametrize(
    "words",
    [("run", "--on", "model"), ("verify", "--on", "model", "--against", "model")],
    ids=lambda words: words[0],
)
def test_reports_of_runs(words, capsys, tmp_path):
    text = shown(capsys, words[0], Small(tmp_path), *words[1:])
    tables = [part.split("\n\n")[0] for part in text.split("─\n")[1:]]
    assert (
        "instructions" in text
        and tables
        and not [line for table in tables for line in table.splitlines() if len(line) > 80]
    )


def test_tables(capsys, monkeypatch):
    columns, row = (
        ("name", ">value", "what it means", "more"),
        ("a_name_of_thirty_characters_xyz", 12_345_678, "words " * 30, "x" * 50),
    )
    Console().table(columns, [row])
    text = capsys.readouterr().out
    assert (
        row[0] in text
        and text.count("words") == 30
        and text.count("x") >= 50
        and max(map(len, text.splitlines())) <= 80
    )
    Console().table(columns, [("n" * 120, 1, "", "")])
    text = capsys.readouterr().out
    assert text.count("n") >= 120 and max(map(len, text.splitlines())) <= 80
    for wide in ("", "0", "wide"):
        monkeypatch.setenv("COLUMNS", wide)
        Console().table(columns, [row])
        assert "words " * 29 + "words" in capsys.readouterr().out
