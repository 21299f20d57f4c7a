# SPDX-License-Identifier: BSD-2-Clause
"""Results carry what a page is made of: the build's ceilings, its memory, what lies where; and
pages are made of them as they come."""

import json

import pytest

pytest.importorskip("onnx")

from quintet.firmware import digits, opentpu
from quintet.gateware.cores import core_names
from quintet.tools.cli import main
from quintet.tools.compiler.backends import backend_names
from quintet.tools.compiler.plan import load_plan
from quintet.tools.report.reading import read_result

DATA = f"{digits.FOLDER / 'digits.npz'}"


def printed(capsys, *args):
    assert main([*map(str, args), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def apart(places):
    """Whether places of different kinds of contents never share a byte: programs, constants and
    what is loaded."""
    fixed = sorted(
        (place["at"], place["at"] + place["bytes"])
        for place in places
        if place["kind"] in ("program", "constants", "load")
    )
    return all(one[1] <= two[0] for one, two in zip(fixed, fixed[1:], strict=False))


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    root = tmp_path_factory.mktemp("plans")
    for isa in backend_names():
        assert (
            main(
                [
                    "compile",
                    str(digits.FOLDER / "cnn.onnx"),
                    "--for",
                    f"ulx3s-85f/{isa}",
                    "--calibrate",
                    f"{DATA}:calibration",
                    "-o",
                    str(root / isa),
                ]
            )
            == 0
        )
    return root


def test_a_run_says_what_lies_where(capsys, tmp_path):
    job = f"{next(iter(opentpu.__path__))}/digits/digits_norm_n8.toml"
    found = printed(capsys, "run", job, "--out", tmp_path)
    assert found["ceilings"] == {
        "macs": 64,
        "bytes": None,
        "clock_hz": None,
        "byte_counters": ["bytes_read", "bytes_written"],
        "uncounted": "",
    }
    kinds = [place["kind"] for place in found["places"]]
    assert (
        kinds.count("program") == 1
        and "load" in kinds
        and "save" in kinds
        and apart(found["places"])
    )
    assert max(place["at"] + place["bytes"] for place in found["places"]) <= found["memory_size"]


@pytest.mark.parametrize("isa", backend_names())
def test_a_plan_says_what_lies_where(plans, isa, capsys):
    found = read_result(str(plans / isa))
    assert found.kind == "plan" and isa in core_names()
    data, plan = found.data, load_plan(plans / isa)
    assert (
        data["ceilings"]["macs"] > 0
        and data["ceilings"]["bytes"] in (1, 2)
        and data["ceilings"]["clock_hz"] == data["clock_hz"]
    )
    assert {"program", "input", "output"} <= {place["kind"] for place in data["places"]} and apart(
        data["places"]
    )
    assert (
        max(place["at"] + place["bytes"] for place in data["places"])
        <= plan.memory
        == data["memory_used"]
        <= data["memory_size"]
    )
    inferred = printed(capsys, "infer", plans / isa, "--input", f"{DATA}:images", "--limit", 2)
    assert (
        inferred["places"] == data["places"]
        and inferred["macs"] == data["macs"]
        and inferred["params"] == data["params"]
    )


def test_every_result_becomes_a_page(plans, capsys, tmp_path):
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    for name, args in {
        "infer": ("infer", plans / "opu", "--input", f"{DATA}:images", "--limit", 2, "--layers"),
        "plan": ("compile", digits.FOLDER / "cnn.onnx", "--for", "model:pim", "--dry-run"),
        "compare": (
            "compare",
            digits.FOLDER / "cnn.onnx",
            "--board",
            "icebreaker",
            "--estimate",
            "--limit",
            2,
        ),
        "matrix": ("matrix", "--list", "-o", tmp_path / "matrix"),
    }.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(printed(capsys, *args)))
        if name == "matrix":  # a list of names is no matrix
            assert (
                main(["report", str(tmp_path / "matrix.json"), "-o", str(tmp_path / "x.html")]) == 2
            )
            assert "field cells[0] = '" in capsys.readouterr().err
            continue
        assert (
            printed(capsys, "report", tmp_path / f"{name}.json", "-o", tmp_path / "x.html")["kind"]
            == name
        )
