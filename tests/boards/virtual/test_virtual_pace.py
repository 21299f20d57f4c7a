# SPDX-License-Identifier: BSD-2-Clause
"""What is said of a compilation that goes on."""

import pytest

from quintet.boards.virtual import pace
from quintet.boards.virtual.pace import Pace


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass at will; words come as often as the clock is asked."""
    now = [100.0]
    monkeypatch.setattr(pace.time, "monotonic", lambda: now[0])
    return now


def test_first_compilation_has_no_estimate(tmp_path):
    said = []
    with Pace(tmp_path, "gcc 12").told(said.append, "compiling", 1000):
        pass
    assert said == ["compiling"]


def test_later_ones_go_by_those_before(tmp_path, clock):
    said = []
    with Pace(tmp_path, "gcc 12").told(said.append, "compiling", 1000):
        clock[0] += 30
    with Pace(tmp_path, "gcc 12").told(said.append, "compiling", 2000):
        clock[0] += 20
    assert said == ["compiling", "compiling, about 60 s"]
    assert Pace(tmp_path, "gcc 12").expected(2000) == 40
    assert Pace(tmp_path, "clang 14").expected(2000) is None


def test_elapsed_seconds_are_told(tmp_path, monkeypatch):
    import threading

    monkeypatch.setattr(pace, "EVERY", 0.01)
    Pace(tmp_path, "gcc").learn(10, 50.0)
    said, enough = [], threading.Event()

    def say(text):
        said.append(text)
        if len(said) > 2:
            enough.set()

    with Pace(tmp_path, "gcc").told(say, "compiling", 10):
        assert enough.wait(10)
    assert said[:2] == ["compiling, about 50 s", "compiling: 0 of about 50 s"]


def test_block_that_fails_teaches_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError), Pace(tmp_path, "gcc").told(lambda text: None, "c", 10):
        raise ZeroDivisionError
    assert Pace(tmp_path, "gcc").expected(10) is None


@pytest.mark.parametrize("text", ["", "{}", "[1]", '["x", 2]', "[1, 0]", "7"])
def test_damaged_file_is_no_estimate(tmp_path, text):
    made = Pace(tmp_path, "gcc")
    made.learn(10, 5.0)
    next(tmp_path.iterdir()).write_text(text)
    assert made.expected(10) is None
    made.learn(10, 5.0)
    assert made.expected(10) == 5.0
