# SPDX-License-Identifier: BSD-2-Clause
"""A target's token appears in nothing that a command prints or writes."""

import json

import pytest

pytest.importorskip("onnx")

from quintet.firmware import digits
from quintet.tools import targets
from quintet.tools.targets import names
from quintet.tools.targets.model import ModelTarget

TOKEN = "planted-secret"
PORT = f"socket://127.0.0.1:9?token={TOKEN}"
PUBLIC = "socket://127.0.0.1:9?token=.."


@pytest.fixture
def plan(quintet, tmp_path, monkeypatch):
    """A compiled network; the port with the token leads to a golden model."""
    folder = tmp_path / "net"
    made = quintet(
        "compile",
        digits.FOLDER / "mlp.onnx",
        "--for",
        "model:opu",
        "--calibrate",
        f"{digits.FOLDER / 'digits.npz'}:calibration",
        "-o",
        folder,
    )
    assert made.code == 0, made.err
    whole = names.open_target

    def open_any(name, *args, **options):
        if TOKEN in name:
            return ModelTarget(name=names.public_name(name), isa="opu")
        return whole(name, *args, **options)

    monkeypatch.setattr(names, "open_target", open_any)
    monkeypatch.setattr(targets, "open_target", open_any)
    return folder


@pytest.mark.parametrize("form", [(), ("--json",)])
@pytest.mark.parametrize("command", ["infer", "verify"])
def test_networks(quintet, plan, command, form):
    options = (
        ("--input", f"{digits.FOLDER / 'digits.npz'}:calibration") if command == "infer" else ()
    )
    ran = quintet(command, plan, "--on", PORT, *options, *form)
    assert ran.code == 0, ran.err
    assert TOKEN not in ran.out + ran.err and PUBLIC in ran.out


def test_page_of_a_network(quintet, plan, tmp_path):
    ran = quintet(
        "infer",
        plan,
        "--on",
        PORT,
        "--input",
        f"{digits.FOLDER / 'digits.npz'}:calibration",
        "--json",
    )
    (tmp_path / "infer.json").write_text(ran.out)
    page = quintet("report", tmp_path / "infer.json", "-o", tmp_path / "page.html")
    assert page.code == 0, page.err
    assert (
        TOKEN not in (tmp_path / "page.html").read_text()
        and json.loads(ran.out)["target"] == PUBLIC
    )


def test_refused_trace(quintet, tmp_path):
    ran = quintet("run", tmp_path / "no.toml", "--on", PORT, "--vcd", tmp_path / "x.vcd")
    assert ran.code == 2 and TOKEN not in ran.err and PUBLIC in ran.err


@pytest.mark.parametrize("command", ["serve", "selftest"])
@pytest.mark.parametrize(
    "target",
    [
        f"{PORT}&bogus=1",
        f"{PORT}&timeout=x",
        f"{PORT}&baud=fast",
        f"{PORT}!",
        f"socket://127.0.0.1:9?Token={TOKEN}",
        f"/dev/none?token={TOKEN}",
        f"sim:?token={TOKEN}",
        f"sim:icebreaker/opentpu?token={TOKEN}&link=x",
        f"sim:icebreaker/none?token={TOKEN}",
        f"model:none?token={TOKEN}",
        f"model:opu?token={TOKEN}&preset=",
        f"model:opu?token={TOKEN}&preset",
    ],
)
def test_refused_target(quintet, command, target):
    ran = quintet(command, target)
    assert ran.code == 2 and TOKEN not in ran.out + ran.err, ran.err
