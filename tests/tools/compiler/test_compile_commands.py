# SPDX-License-Identifier: BSD-2-Clause
"""The commands compile, infer, verify and compare, and the Python API, on the digits' CNN."""

import json
import shutil

import numpy as np
import pytest

import quintet
from quintet.firmware import digits
from quintet.gateware.cores import core_names
from quintet.tools.cli import main
from quintet.tools.compiler.backends import backend_names
from quintet.tools.compiler.target_build import target_build
from quintet.tools.errors import Exit
from tests.tools.compiler.networks import Builder

MODEL = str(digits.FOLDER / "cnn.onnx")
MLP = str(digits.FOLDER / "mlp.onnx")
DATA = str(digits.FOLDER / "digits.npz")
COUNT = 12
#: Inputs and labels in the file of the digits.
INPUTS = len(digits.labels())


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    """ISA -> folder of the digits' plan for the ULX3S-85F."""
    root = tmp_path_factory.mktemp("plans")
    for isa in backend_names():
        assert (
            main(
                [
                    "compile",
                    MODEL,
                    "--for",
                    f"ulx3s-85f/{isa}",
                    "--calibrate",
                    f"{DATA}:calibration",
                    "-o",
                    str(root / isa),
                ]
            )
            == Exit.OK
        )
    return root


def said(capsys, *args, code=Exit.OK):
    assert main([*map(str, args), "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_every_instruction_set_has_a_back_end():
    assert (
        set(backend_names()) == {"cherry", "imagine", "opentpu", "opu", "pim"} <= set(core_names())
    )


@pytest.mark.parametrize("isa", backend_names())
def test_digits_are_recognised_and_equal_layer_by_layer(plans, isa, capsys, tmp_path):
    found = said(
        capsys,
        "infer",
        plans / isa,
        "--input",
        f"{DATA}:images",
        "--labels",
        f"{DATA}:labels",
        "--limit",
        COUNT,
        "--out",
        tmp_path,
    )
    assert found["correct"] == COUNT and found["inputs"] == COUNT
    scores = np.load(tmp_path / "scores.npy")
    assert (
        scores.shape == (COUNT, 10)
        and scores.argmax(1).tolist() == found["classes"] == digits.labels(COUNT).tolist()
    )
    equal = said(capsys, "verify", plans / isa, "--on", "model", "--against", "reference")
    assert equal["equal"] and equal["inputs"] == 2 and len(equal["tensors"]) >= 4


def test_inputs_go_over_the_link_in_their_own_bytes(plans, capsys):
    for isa, item in (("opu", 1), ("opentpu", 1), ("pim", 2), ("cherry", 4)):
        found = said(capsys, "infer", plans / isa, "--input", f"{DATA}:images", "--limit", 2)
        assert found["input_bytes"] <= 2 * (1.1 * 64 * item + 64), isa


@pytest.mark.parametrize(
    "change, message",
    [
        (("--on", "model:opu"), "holds core opu; the plan of digits is for pim"),
        (("--on", "model:pim?preset=sim"), "was compiled for another build"),
        (("--input", "nothing.npy"), "--input nothing.npy"),
        (("--input", "x.txt"), "expected .npy, .npz, .npz:key or a folder"),
        (("--input", DATA), "holds images, "),
        (("--input", f"{DATA}:labels"), "input pixels has the shape"),
        (("--labels", f"{DATA}:images"), "expected whole numbers of one dimension"),
        (("--labels", "bad.npy"), "class 10 at 3; digits has classes 0 to 9"),
        (("--labels", "few.npy"), "2 labels for"),
        (("--labels", "many.npy"), f"{2 * INPUTS} labels for {INPUTS} inputs: expected {INPUTS}"),
        (("--limit", "0"), "--limit 0: expected at least 1"),
        (("--out", "bad.npy"), "is a file; expected a folder"),
    ],
)
def test_infer_refuses(plans, capsys, tmp_path, monkeypatch, change, message):
    monkeypatch.chdir(tmp_path)
    np.save("bad.npy", np.array([0, 1, 2, 10] + [0] * (COUNT - 4)))
    np.save("few.npy", np.array([0, 1]))
    np.save("many.npy", np.zeros(2 * INPUTS, np.int64))
    options = {
        "--on": "model",
        "--input": f"{DATA}:images",
        "--limit": str(COUNT),
        change[0]: change[1],
    }
    found = said(
        capsys,
        "infer",
        plans / "pim",
        *(word for option in options.items() for word in option),
        code=Exit.BAD_INPUT,
    )
    assert message in found["error"]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"--for": "model"}, "expected an ISA behind model:"),
        ({"--for": "ulx3s-85f/nothing"}, "no ISA named 'nothing'"),
        ({"--for": "model:opu?preset=85f", "--preset": "85f"}, "the preset is given twice"),
        ({"--preset": "nope"}, "nope"),
        ({"-o": None}, "expected a folder for the plan"),
        ({"--percentile": "3"}, "expected more than 50"),
        ({"--calibrate": f"{DATA}:labels"}, "input pixels has the shape"),
        (
            {"--calibrate": f"pixel={DATA}:calibration"},
            "no such file, and the network has no input 'pixel'; did you mean pixels?",
        ),
        ({"-o": "file"}, "is a file"),
        ({"--images": "0"}, "--images 0: expected a number from 1 on, or auto"),
        ({"-o": "full"}, "holds files that are no plan"),
        ({"-P": "lanes"}, "expected name=value"),
    ],
)
def test_compile_refuses_and_writes_nothing(capsys, tmp_path, monkeypatch, change, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("")
    options = {
        "--for": "ulx3s-85f/pim",
        "--calibrate": f"{DATA}:calibration",
        "-o": "net",
        **change,
    }
    found = said(
        capsys,
        "compile",
        MODEL,
        *(word for option in options.items() if option[1] is not None for word in option),
        code=Exit.BAD_INPUT,
    )
    assert message in found["error"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "full", "x"]


def test_opentpu_of_a_small_board_names_boards_that_take_networks(capsys, tmp_path):
    target = ("compile", digits.FOLDER / "cnn.onnx", "--for", "icebreaker/opentpu", "--dry-run")
    refusal = said(capsys, *target, code=Exit.BAD_INPUT)["error"]
    assert "-P ext_norm=true" in refusal and "ulx3s-85f" in refusal and "icebreaker" not in refusal
    # A reason that several layers have is said once.
    assert refusal.count("ext_norm=true") == 1
    assert "\n  conv2.pool (MaxPool): as conv1; the host does it with --host-steps;" in refusal
    assert said(capsys, *target, "-P", "ext_norm=true")["network"] == "digits"
    dense = ("compile", digits.FOLDER / "mlp.onnx", *target[2:])
    assert said(capsys, *dense)["network"] == "digits_mlp"


def test_compile_for_a_port_that_is_not_there(capsys, tmp_path):
    assert (
        "no such port; did you mean sim:ulx3s-85f/ISA?"
        in said(
            capsys,
            "compile",
            MODEL,
            "--for",
            "ulx3s-85f",
            "-o",
            tmp_path / "net",
            code=Exit.NO_DEVICE,
        )["error"]
    )
    assert not any(tmp_path.iterdir())


def test_dry_run_quantises_nothing(monkeypatch, capsys):
    from quintet.tools.compiler import planning

    monkeypatch.setattr(planning, "quantise", None)
    for isa in backend_names():
        found = said(capsys, "compile", MLP, "--for", f"model:{isa}", "--dry-run")
        assert found["cycles_estimated"] > 0


def test_dry_run_that_needs_values_looks_at_few_inputs_and_searches_for_no_scales(monkeypatch):
    from quintet.tools.compiler import planning

    asked, real = [], planning.quantise

    def quantise(part, backend, given, **options):
        asked.append((max(map(len, given.values())), options["percentile"], options["quick"]))
        return real(part, backend, given, **options)

    monkeypatch.setattr(planning, "quantise", quantise)
    # Whether OPU gives a clip a layer of its own depends on the partial sums.
    made = Builder("clipped", (6, 6, 3), 1)
    made.conv(8, (3, 3))
    made.act("clip", low=0.0, high=6.0)
    build = target_build("model:opu")
    planning.compile_graph(made.finish(), build, options=planning.Options(dry=True))
    assert asked == [(planning.FEW, 100, True)]


def test_dry_run_needs_no_calibration_and_says_so(capsys, tmp_path):
    found = said(capsys, "compile", MODEL, "--for", "icebreaker/opu", "--dry-run")
    assert (
        found["written"] is None
        and found["cycles_estimated"] > 0
        and found["memory"] <= found["memory_size"] == 65536
    )
    assert any("RANDOM" in note for note in found["notes"])
    assert {row["where"] for row in found["layers"]} <= {"opu", "host"}


def test_plan_that_lost_a_file(plans, capsys, tmp_path):
    shutil.copytree(plans / "opu", tmp_path / "net")
    (tmp_path / "net" / "program_0.bin").unlink()
    found = said(
        capsys, "infer", tmp_path / "net", "--input", f"{DATA}:images", code=Exit.BAD_INPUT
    )
    assert "program_0.bin is missing from the plan" in found["error"]


def test_compare_puts_all_side_by_side(capsys, tmp_path):
    page = tmp_path / "page.html"
    found = said(
        capsys,
        "compare",
        MODEL,
        "--board",
        "ulx3s-85f",
        "--calibrate",
        f"{DATA}:calibration",
        "--input",
        f"{DATA}:images",
        "--labels",
        f"{DATA}:labels",
        "--limit",
        COUNT,
        "--estimate",
        "--html",
        page,
    )
    assert [cell["isa"] for cell in found["cells"]] == backend_names()
    for cell in found["cells"]:
        assert (
            cell["refusal"] is None
            and cell["correct"] == COUNT == found["correct"]
            and cell["agreement"] == 1
            and cell["cycles"] > 0
        ), cell["isa"]
    presets = {cell["isa"]: cell["preset"] for cell in found["cells"]}
    assert (presets["opentpu"], presets["opu"]) == ("85f-16x16-fast", "85f-p256-fast")
    text = page.read_text()
    assert text.count("<article><h2>") == 9 and all(
        f"<h2>{cell['isa']}, {cell['preset']}</h2>" in text for cell in found["cells"]
    )


@pytest.mark.parametrize(
    "options, message",
    [
        (("--limit", "0"), "--limit 0"),
        (("--labels", f"{DATA}:labels"), "--labels: expected --input"),
        (("--isa", "z80"), "no ISA named 'z80'"),
        (("--html", "nowhere/x.html"), "no such folder"),
        (("--board", "nothing"), "no board named 'nothing'"),
    ],
)
def test_compare_refuses(capsys, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    found = said(
        capsys,
        "compare",
        MODEL,
        "--board",
        "ulx3s-85f",
        "--estimate",
        *options,
        code=Exit.BAD_INPUT,
    )
    assert message in found["error"]


def test_verify_refuses(plans, capsys):
    assert (
        "is a job"
        in said(
            capsys,
            "verify",
            str(digits.FOLDER.parent / "opu" / "small" / "small.toml"),
            "--on",
            "model",
            "--input",
            "x.npy",
            code=Exit.BAD_INPUT,
        )["error"]
    )
    assert (
        "--on reference"
        in said(capsys, "verify", plans / "pim", "--on", "reference", code=Exit.BAD_INPUT)["error"]
    )


def test_from_python(tmp_path):
    images = digits.images(COUNT)
    net = quintet.compile_model(MODEL, "model:cherry", calibration=images)
    with net.open() as session:
        assert (session(images).argmax(1) == digits.labels(COUNT)).all()
    net.save(tmp_path / "net")
    with quintet.load_plan(tmp_path / "net").open() as session:
        assert (session(pixels=images[0]).argmax(1) == digits.labels(1)).all()
    assert {"compile_model", "load_plan", "open_target"} <= set(dir(quintet))
    with pytest.raises(AttributeError, match="module 'quintet' has no attribute 'nothing'"):
        _ = quintet.nothing
