# SPDX-License-Identifier: BSD-2-Clause
"""The demo, on the model and on a board behind the link (the virtual board's own run is tested with
the virtual board)."""

import argparse
import re
import threading

import pytest

from quintet.firmware import demo
from quintet.firmware.demo import command
from quintet.tools.console import Console
from quintet.tools.errors import TargetError
from quintet.tools.targets.link import LinkTarget
from quintet.tools.targets.sim import OPENING
from tests.tools.tools_fake_board import FakeBoard


def test_on_the_model(quintet):
    ran = quintet("demo", "--on", "model", "--json")
    assert ran.code == 0, ran.err
    values = ran.json
    assert values["equals_model"] and [n["network"] for n in values["networks"]] == [
        "unmodified instruction set",
        "with normalisation",
    ]
    plain, norm = values["networks"]
    assert plain["images"] == norm["images"] == 540
    assert plain["accuracy"] >= 0.95 and norm["accuracy"] >= norm["float_accuracy"] - 0.01
    assert (
        all(line.startswith("[") for line in ran.err.splitlines())
        and len(ran.err.splitlines()) == 10
    )


def test_a_virtual_board_is_progress_before_its_first_step(monkeypatch):
    """On a terminal the spinner turns while a design is elaborated. The step was said already."""
    said, shown = [], []

    def open_target(name, progress):
        progress(OPENING)
        progress("compiling gateware to C++")
        raise TargetError("enough")

    monkeypatch.setattr(demo, "open_target", open_target)
    with pytest.raises(TargetError, match="enough"):
        demo.run_demo("sim:ulx3s-85f/opentpu", said.append, shown.append)
    assert shown == [OPENING, "compiling gateware to C++"]
    assert [text[:26] for text in said] == [
        "switching on the virtual b",
        "  compiling gateware to C+",
    ]


def test_a_silence_ends_with_the_present_step(monkeypatch):
    """And with the time since the start. A terminal has a spinner."""
    notes, ended = [], threading.Event()

    class Quick(Console):
        def signs_of_life(self, describe, silence=4.0):
            assert silence <= 5
            return super().signs_of_life(describe, 0.01)

        def note(self, text):
            super().note(text)
            notes.append(text)
            if "still at it: compiling" in text:
                ended.set()

    def run_demo(name, say, progress):
        say("  compiling gateware to C++ (once, about a minute), for a board")
        assert ended.wait(60)
        raise TargetError("enough")

    monkeypatch.setattr(command, "run_demo", run_demo)
    with pytest.raises(TargetError, match="enough"):
        command.run(argparse.Namespace(on="model"), Quick())
    pattern = r"\[ +\d+\.\d s\]   still at it: compiling gateware to C\+\+"
    assert re.fullmatch(pattern, notes[-1])


def test_table(quintet):
    ran = quintet("demo", "--on", "model:opentpu?preset=up5k-4x4")
    assert (
        ran.code == 0
        and "unmodified instruction set" in ran.out
        and "with normalisation" not in ran.out
    )
    assert "inputs right" in ran.out and "every bit" in ran.out and "cycles at work" not in ran.out


@pytest.fixture
def board(monkeypatch):
    board = FakeBoard(preset="up5k-4x4", size=128 << 10, cycles=40_000)
    whole = demo.open_target
    monkeypatch.setattr(
        demo,
        "open_target",
        lambda name, **options: (
            LinkTarget(client=board, name=name) if name == "board" else whole(name, **options)
        ),
    )
    return board


def test_on_a_board(quintet, board):
    ran = quintet("demo", "--on", "board")
    assert ran.code == 0, ran.err
    assert (
        "800 µs" in ran.out
        and "100.0 %" in ran.out
        and "MACs a cycle" in ran.out
        and "the array's limit is 16" in ran.out
    )


def test_differences_are_said(quintet, board):
    run = board._update

    def broken():
        ended = board.ends is not None and board.time >= board.ends
        run()
        if ended:
            board.memory[0x8000:] ^= 0x5A

    board._update = broken
    ran = quintet("demo", "--on", "board")
    assert ran.code == 1 and "DIFFERENT" in ran.out and "NO" in ran.out


@pytest.mark.parametrize("isa", ["cherry", "imagine", "opu", "pim"])
def test_other_cores(quintet, isa):
    ran = quintet("demo", "--on", f"model:{isa}")
    assert (
        ran.code == 2
        and ran.err.splitlines()[-1]
        == f"quintet: model:{isa} holds core {isa}; the demo needs opentpu"
    )


def test_other_targets(quintet):
    ran = quintet("demo", "--on", "model:none")
    assert ran.code == 2 and "no ISA named" in ran.err
