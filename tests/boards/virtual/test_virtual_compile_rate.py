# SPDX-License-Identifier: BSD-2-Clause
"""Progress messages of a long compilation."""

import pytest

from quintet.boards.virtual import compile_rate
from quintet.boards.virtual.compile_rate import CompileRate


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass at will; words come as often as the clock is asked."""
    now = [100.0]
    monkeypatch.setattr(compile_rate.time, "monotonic", lambda: now[0])
    return now


def test_first_compilation_has_no_estimate(tmp_path):
    said = []
    with CompileRate(tmp_path, "gcc 12").reported(said.append, "compiling", 1000):
        pass
    assert said == ["compiling"]


def test_later_ones_go_by_those_before(tmp_path, clock):
    said = []
    with CompileRate(tmp_path, "gcc 12").reported(said.append, "compiling", 1000):
        clock[0] += 30
    with CompileRate(tmp_path, "gcc 12").reported(said.append, "compiling", 2000):
        clock[0] += 20
    assert said == ["compiling", "compiling, about 60 s"]
    assert CompileRate(tmp_path, "gcc 12").expected(2000) == 40
    assert CompileRate(tmp_path, "clang 14").expected(2000) is None


def test_elapsed_seconds_are_reported(tmp_path, monkeypatch):
    import threading

    monkeypatch.setattr(compile_rate, "EVERY", 0.01)
    CompileRate(tmp_path, "gcc").learn(10, 50.0)
    said, enough = [], threading.Event()

    def say(text):
        said.append(text)
        if len(said) > 2:
            enough.set()

    with CompileRate(tmp_path, "gcc").reported(say, "compiling", 10):
        assert enough.wait(10)
    assert said[:2] == ["compiling, about 50 s", "compiling: 0 of about 50 s"]


def test_block_that_fails_teaches_nothing(tmp_path):
    with (
        pytest.raises(ZeroDivisionError),
        CompileRate(tmp_path, "gcc").reported(lambda text: None, "c", 10),
    ):
        raise ZeroDivisionError
    assert CompileRate(tmp_path, "gcc").expected(10) is None


@pytest.mark.parametrize("text", ["", "{}", "[1]", '["x", 2]', "[1, 0]", "7"])
def test_damaged_file_is_no_estimate(tmp_path, text):
    made = CompileRate(tmp_path, "gcc")
    made.learn(10, 5.0)
    next(tmp_path.iterdir()).write_text(text)
    assert made.expected(10) is None
    made.learn(10, 5.0)
    assert made.expected(10) == 5.0
