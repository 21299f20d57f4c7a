# SPDX-License-Identifier: BSD-2-Clause
"""A long inference keeps what it has done, and goes on from there."""

import json

import numpy as np
import pytest

from quintet.firmware import digits
from quintet.tools.compiler.results import kept
from quintet.tools.compiler.session import Session


@pytest.fixture(scope="module")
def images():
    return digits.images()[:20].astype(np.float32)


@pytest.fixture
def infer(quintet, tmp_path, monkeypatch, images):
    """Runs ``quintet infer`` of the digits in chunks of 8, with further arguments."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(kept, "CHUNK", 8)
    np.save("x.npy", images)
    ran = quintet(
        "compile",
        digits.FOLDER / "mlp.onnx",
        "--for",
        "model:pim",
        "--calibrate",
        "x.npy",
        "-o",
        "net",
    )
    assert ran.code == 0, ran.err
    return lambda *more: quintet("infer", "net", "--input", "x.npy", *more)


def interrupted_after(monkeypatch, chunks):
    """Lets a session be interrupted before its chunk of this number."""
    real, calls = Session.outputs, []

    def outputs(self, *arrays, **named):
        calls.append(len(next(iter(named.values()))))
        if len(calls) > chunks:
            raise KeyboardInterrupt
        return real(self, *arrays, **named)

    monkeypatch.setattr(Session, "outputs", outputs)
    return calls


def test_interrupted_and_gone_on_with(infer, monkeypatch, tmp_path):
    assert infer("--out", "whole").code == 0
    (name,) = [path.name for path in (tmp_path / "whole").iterdir()]
    with monkeypatch.context() as patch:
        interrupted_after(patch, 2)
        ran = infer("--out", "out")
    assert ran.code == 130
    assert "16 of 20 inputs are kept in out; the same command with --resume goes on" in ran.err
    assert not (tmp_path / "out" / name).exists()
    with monkeypatch.context() as patch:
        calls = interrupted_after(patch, 9)
        ran = infer("--out", "out", "--resume")
    assert ran.code == 0 and "out holds the outputs of 16 inputs" in ran.err and calls == [4]
    assert [path.name for path in (tmp_path / "out").iterdir()] == [name]
    assert (np.load(f"out/{name}") == np.load(f"whole/{name}")).all()


def test_resume_without_anything_to_go_on_with(infer):
    assert infer("--out", "out", "--resume").code == 0
    ran = infer("--resume")
    assert ran.code == 2 and "--resume: expected --out too" in ran.err


def test_without_resume_it_begins_anew(infer, monkeypatch):
    with monkeypatch.context() as patch:
        interrupted_after(patch, 1)
        assert infer("--out", "out").code == 130
    with monkeypatch.context() as patch:
        calls = interrupted_after(patch, 9)
        assert infer("--out", "out").code == 0
    assert calls == [8, 8, 4]


@pytest.mark.parametrize("damage", ["inputs", "plan", "state", "chunk"])
def test_what_is_not_gone_on_with(infer, monkeypatch, tmp_path, images, damage):
    with monkeypatch.context() as patch:
        interrupted_after(patch, 1)
        assert infer("--out", "out").code == 130
    partial = tmp_path / "out" / ".partial"
    match damage:
        case "inputs":
            np.save("x.npy", images[::-1])
            message = "out holds outputs of another plan or of other inputs; leave --resume out"
        case "plan":
            path = tmp_path / "net" / "plan.toml"
            path.write_text("# another\n" + path.read_text())
            message = "out holds outputs of another plan or of other inputs; leave --resume out"
        case "state":
            (partial / "state.json").write_text("{")
            message = "state.json is damaged; leave --resume out"
        case "chunk":
            next(partial.glob("*-0.npy")).write_bytes(b"")
            message = "; leave --resume out"
    ran = infer("--out", "out", "--resume")
    assert ran.code == 2 and message in ran.err, ran.err


def test_a_run_that_ended_before_its_outputs_were_joined(infer, monkeypatch, tmp_path):
    with monkeypatch.context() as patch:
        patch.setattr(kept.KeptOutputs, "finish", lambda self, names: 1 / 0)
        with pytest.raises(AssertionError, match="internal error"):
            infer("--out", "out")
    state = json.loads((tmp_path / "out" / ".partial" / "state.json").read_text())
    assert state["done"] == 20
    ran = infer("--out", "out", "--resume", "--json")
    assert ran.code == 0 and ran.json["inputs"] == 4


def test_outputs_whose_names_differ_in_case_alone_are_different_files(tmp_path):
    (tmp_path / "plan.toml").write_text("")
    outputs = {"y": np.zeros(2), "Y": np.ones(2)}
    keep = kept.KeptOutputs(tmp_path / "out", tmp_path, {"x": np.zeros((2, 1))}, resume=False)
    keep.add(outputs)
    found = keep.finish(list(outputs))
    assert all((found[name] == outputs[name]).all() for name in outputs)
    assert len({path.name.lower() for path in (tmp_path / "out").iterdir()}) == 2
