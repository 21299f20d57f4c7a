# SPDX-License-Identifier: BSD-2-Clause
"""A comparison and a measurement keep what they have done, and go on from there."""

import json

import numpy as np
import pytest

from quintet.firmware import digits
from quintet.tools.compiler.results import comparison
from quintet.tools.measure import Measure, Row, catalogue

CORES = ("opu", "pim", "opentpu")


@pytest.fixture
def compare(quintet, tmp_path, monkeypatch):
    """Runs ``quintet compare`` of the digits' small network, with further arguments."""
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", digits.images()[:4].astype(np.float32))
    arguments = ["compare", digits.FOLDER / "mlp.onnx", "--board", "ulx3s-85f", "--estimate"]
    arguments += ["--calibrate", "x.npy", *(word for core in CORES for word in ("--isa", core))]
    return lambda *more: quintet(*arguments, *more)


def counted(monkeypatch, place, name, most):
    """Interrupts a function of ``place`` at its call behind the ``most``-th; the calls."""
    real, calls = getattr(place, name), []

    def call(*args, **options):
        calls.append(args)
        if len(calls) > most:
            raise KeyboardInterrupt
        return real(*args, **options)

    monkeypatch.setattr(place, name, call)
    return calls


def without_seconds(path):
    return [{**cell, "seconds": 0} for cell in json.loads(path.read_text())["cells"]]


def test_comparison_that_is_interrupted_goes_on(compare, monkeypatch, tmp_path):
    assert compare("--out", "whole").code == 0
    with monkeypatch.context() as patch:
        counted(patch, comparison, "_cell", 2)
        ran = compare("--out", "out")
    assert ran.code == 130
    assert "2 of 3 cores are kept in out; the same command with --resume goes on" in ran.err
    assert not (tmp_path / "out" / "compare.json").exists()
    with monkeypatch.context() as patch:
        calls = counted(patch, comparison, "_cell", 9)
        ran = compare("--out", "out", "--resume")
    assert ran.code == 0 and len(calls) == 1, ran.err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["compare.json"]
    whole, out = (without_seconds(tmp_path / name / "compare.json") for name in ("whole", "out"))
    assert whole == out and [cell["isa"] for cell in out] == list(CORES)


def test_comparison_does_not_go_on_with_another(compare, monkeypatch):
    with monkeypatch.context() as patch:
        counted(patch, comparison, "_cell", 1)
        assert compare("--out", "out").code == 130
    ran = compare("--out", "out", "--resume", "--limit", "2")
    assert ran.code == 2
    assert "--resume: out holds results of another command; leave --resume out" in ran.err


@pytest.mark.parametrize("command", ["compare", "measure"])
def test_resume_wants_a_folder(quintet, compare, command):
    ran = compare("--resume") if command == "compare" else quintet("measure", "pim", "--resume")
    assert ran.code == 2 and "--resume: expected --out too" in ran.err


def test_measurement_that_is_interrupted_goes_on(quintet, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    made = []

    def rows(name):
        def measure(choice):
            made.append(name)
            if name == "t/second" and made.count(name) == 1:
                raise KeyboardInterrupt
            yield Row(f"{name} row", 7, "cycles", bound=9)

        return measure

    def find(names):
        return {name: Measure(f"of {name}", rows(name)) for name in ("t/first", "t/second")}

    monkeypatch.setattr(catalogue, "find", find)
    ran = quintet("measure", "t", "--out", "out")
    assert ran.code == 130
    assert "1 of 2 tables are kept in out; the same command with --resume goes on" in ran.err
    ran = quintet("measure", "t", "--out", "out", "--resume")
    assert ran.code == 0 and made == ["t/first", "t/second", "t/second"], ran.err
    assert "t/first row" in ran.out and "t/second row" in ran.out
    values = json.loads((tmp_path / "out" / "measure.json").read_text())
    assert list(values["tables"]) == ["t/first", "t/second"] and not values["missed"]
