# SPDX-License-Identifier: BSD-2-Clause
"""A comparison and a measurement keep what they have done, and go on from there."""

import json

import numpy as np
import pytest

from quintet.firmware import digits
from quintet.tools.compiler import verification
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
    assert (
        "1 of 2 parts of tables are kept in out; the same command with --resume goes on" in ran.err
    )
    ran = quintet("measure", "t", "--out", "out", "--resume")
    assert ran.code == 0 and made == ["t/first", "t/second", "t/second"], ran.err
    assert "t/first row" in ran.out and "t/second row" in ran.out
    values = json.loads((tmp_path / "out" / "measure.json").read_text())
    assert list(values["tables"]) == ["t/first", "t/second"] and not values["missed"]


def test_measurement_keeps_rows(quintet, monkeypatch, tmp_path):
    """A table is kept by presets, memories and names of its rows, and shown under one heading."""
    monkeypatch.chdir(tmp_path)
    made = []

    def rows(choice):
        for preset in choice.presets:
            for name in choice.only or ("a", "b"):
                made.append((preset, name))
                if len(made) == 4:
                    raise KeyboardInterrupt
                yield Row(f"{name} on {preset}", 7, "cycles")

    table = Measure("of two", rows, presets=("small", "large"), names=("a", "b"))
    monkeypatch.setattr(catalogue, "find", lambda names: {"t/only": table})
    ran = quintet("measure", "t", "--out", "out")
    assert ran.code == 130 and "3 of 4 parts of tables are kept in out" in ran.err
    ran = quintet("measure", "t", "--out", "out", "--resume")
    assert ran.code == 0 and made[4:] == [("large", "b")], ran.err
    assert ran.out.count("| what |") == 1
    values = json.loads((tmp_path / "out" / "measure.json").read_text())
    found = [row["what"] for row in values["tables"]["t/only"]]
    assert found == ["a on small", "b on small", "a on large", "b on large"]


@pytest.fixture
def verify(quintet, tmp_path, monkeypatch):
    """Runs ``quintet verify`` of the digits' small network on five inputs, two at a time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(verification, "CHUNK", 2)
    np.save("x.npy", digits.images()[:5].astype(np.float32))
    network = ["compile", digits.FOLDER / "mlp.onnx", "--for", "model:opu", "--out", "plan"]
    assert quintet(*network, "--calibrate", "x.npy").code == 0
    arguments = ["verify", "plan", "--on", "model", "--against", "reference", "--input", "x.npy"]
    return lambda *more: quintet(*arguments, *more)


def test_verification_that_is_interrupted_goes_on(verify, monkeypatch, tmp_path):
    assert verify("--out", "whole").code == 0
    with monkeypatch.context() as patch:
        counted(patch, verification, "reference_tensors", 2)
        ran = verify("--out", "out")
    assert ran.code == 130
    assert "2 of 3 groups of 2 inputs are kept in out; the same command with --resume" in ran.err
    with monkeypatch.context() as patch:
        calls = counted(patch, verification, "reference_tensors", 9)
        ran = verify("--out", "out", "--resume")
    assert ran.code == 0 and len(calls) == 1, ran.err
    whole, out = (
        json.loads((tmp_path / name / "verify.json").read_text()) for name in ("whole", "out")
    )
    assert whole == out and out["equal"] and out["inputs"] == 5


def test_verification_does_not_go_on_with_another(verify, monkeypatch):
    with monkeypatch.context() as patch:
        counted(patch, verification, "reference_tensors", 1)
        assert verify("--out", "out").code == 130
    ran = verify("--out", "out", "--resume", "--on", "model:opu?preset=85f")
    assert ran.code == 2 and "out holds results of another command" in ran.err


def test_difference_behind_the_first_group(verify, monkeypatch):
    """The input's number counts from the first one of all."""
    real = verification.reference_tensors

    def wrong(plan, inputs, progress=None):
        numbers, values = real(plan, inputs, progress)
        if len(next(iter(inputs.values()))) == 1:  # the last group
            name = list(numbers)[-1]
            numbers[name] = numbers[name] + 1
        return numbers, values

    monkeypatch.setattr(verification, "reference_tensors", wrong)
    ran = verify("--json")
    assert ran.code == 1
    assert json.loads(ran.out)["difference"]["element"][0] == 4


def test_job_keeps_no_results(quintet, tmp_path):
    ran = quintet(
        "verify", "example:opu/small/small.toml", "--on", "model", "--out", tmp_path / "out"
    )
    assert ran.code == 2 and "--out, --resume: example:opu/small/small.toml is a job" in ran.err
