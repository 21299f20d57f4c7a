# SPDX-License-Identifier: BSD-2-Clause
"""Plans in folders, sessions on targets, and the comparison of every tensor."""

import hashlib
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from quintet.gateware.cores import open_core
from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends import backend_class
from quintet.tools.compiler.fidelity import reference_tensors
from quintet.tools.compiler.plan import CoreStep, HostStep, Plan, PlanError, load_plan, save_plan
from quintet.tools.compiler.plan.schema import LOWERED, STEPS, SUMMARY, check_fields
from quintet.tools.compiler.session import Session
from quintet.tools.compiler.values import check_inputs
from quintet.tools.compiler.verification import random_inputs, verify_plan
from quintet.tools.errors import InputError
from quintet.tools.targets import open_target
from tests.tools.compiler.machine import random_quantised
from tests.tools.compiler.networks import Builder

MEMORY = 1 << 20


def plan_of(isa="pim", **sizes):
    """A small network on the machine, a softmax behind it on the host."""
    made = Builder("net", (6, 5, 3))
    if isa == "pim":
        made.conv(4, (3, 3), relu=True)
    made.dense(7)
    body = made.finish()
    params = open_core(isa).params.SPACE.resolve("sim", sizes)
    backend = backend_class(isa)(params=params, memory_size=MEMORY)
    quantised = random_quantised(backend.legalise(body), backend, 1)
    softmax = g.Softmax(name="softmax", inputs=[made.here], output="probability")
    shape = body.shape(made.here)
    host = g.Graph(
        "net",
        [g.Port(made.here, made.here, (0,), shape)],
        [g.Port("p", "probability", (0,), shape)],
        [softmax],
        {made.here: body.tensors[made.here], "probability": g.Tensor("probability", shape)},
    )
    # The user's input has channels, rows, columns.
    port = g.Port("image", body.inputs[0].tensor, (1, 2, 0), (3, 6, 5))
    return Plan(
        network="net",
        isa=isa,
        preset="sim",
        params=params,
        memory_size=MEMORY,
        inputs=[port],
        outputs=host.outputs,
        steps=[CoreStep(quantised, backend.lower(quantised)), HostStep(host)],
        choices=[{"name": "x", "what": "scale", "value": 0.5, "why": "so"}],
        notes=["a note"],
    )


@pytest.fixture(scope="module")
def pim_plan():
    return plan_of(arrays=8)


def model(plan):
    return open_target(f"model:{plan.isa}")


@pytest.mark.parametrize("isa, sizes", [("pim", {"arrays": 8}), ("imagine", {})])
def test_session_gives_what_the_reference_gives(isa, sizes):
    plan = plan_of(isa, **sizes)
    images = np.random.default_rng(0).normal(0, 1, (3, 3, 6, 5))
    with Session(plan, model(plan)) as session:
        found = session(images)
        again = session(images[0])
        assert (
            session.report.inputs == 4
            and session.report.constant_bytes
            and session.report.counters["instructions"]
        )
    _, values = reference_tensors(plan, check_inputs("net", plan.inputs, {"image": images}))
    np.testing.assert_array_equal(found, values["probability"])
    np.testing.assert_array_equal(again, found[:1])
    np.testing.assert_allclose(found.sum(1), 1)


def test_plan_comes_back_from_its_folder(pim_plan, tmp_path):
    save_plan(pim_plan, tmp_path / "net")
    back = load_plan(tmp_path / "net")
    assert (back.network, back.isa, back.params, back.choices, back.notes) == (
        "net",
        "pim",
        pim_plan.params,
        pim_plan.choices,
        ["a note"],
    )
    images = np.random.default_rng(0).normal(0, 1, (2, 3, 6, 5))
    with Session(pim_plan, model(pim_plan)) as a, Session(back, model(back)) as b:
        np.testing.assert_array_equal(a(images), b(images))
    # It can be moved, and written over itself.
    shutil.move(tmp_path / "net", tmp_path / "other")
    save_plan(load_plan(tmp_path / "other"), tmp_path / "other")
    assert load_plan(tmp_path / "other").cycles == pim_plan.cycles


def files_of(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != "plan.toml")


def test_missing_and_changed_files_are_named(pim_plan, tmp_path):
    save_plan(pim_plan, tmp_path / "net")
    for name in files_of(tmp_path / "net"):
        path = tmp_path / "net" / name
        data = path.read_bytes()
        path.unlink()
        with pytest.raises(PlanError, match=f"{name} is missing from the plan"):
            load_plan(tmp_path / "net")
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]) if data else b"x")
        with pytest.raises(
            PlanError, match=f"{name} is not the file that the plan was written with"
        ):
            load_plan(tmp_path / "net")
        path.write_bytes(data)
    load_plan(tmp_path / "net")


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda text: "format = 1\n", r"format = 1: expected 2"),
        (lambda text: "x = [", "plan.toml: "),
        (lambda text: "\xff", "plan.toml: "),
        (
            lambda text: text.replace("[params]", "[parameters]"),
            "params is missing: expected a table of build parameters",
        ),
        (
            lambda text: text.replace("lanes = 4", "lanes = 8"),
            "params_hash does not belong to these params",
        ),
        (lambda text: text + '"../../x" = "0"\n', "expected a table of file names of this folder"),
    ],
)
def test_damaged_summaries(pim_plan, tmp_path, change, message):
    save_plan(pim_plan, tmp_path / "net")
    path = tmp_path / "net" / "plan.toml"
    path.write_bytes(change(path.read_text()).encode("latin-1"))
    with pytest.raises(PlanError, match=message):
        load_plan(tmp_path / "net")


#: What no field of a plan may be; each is of another type than most fields.
WRONG = ("x\n", -1, 1 << 64, 1.5, True, [], {}, ["x"], {"x": []}, None)


def changed_json(change, tmp_path):
    """Changes steps.json, and its digest in the summary."""
    path, summary = tmp_path / "net" / "steps.json", tmp_path / "net" / "plan.toml"
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    body = json.loads(path.read_bytes())
    change(body)
    path.write_text(json.dumps(body))
    after = hashlib.sha256(path.read_bytes()).hexdigest()
    summary.write_text(summary.read_text().replace(before, after))


@pytest.mark.parametrize(
    "fields, place",
    [
        pytest.param(STEPS, lambda body: body, id="steps"),
        pytest.param(LOWERED, lambda body: body["steps"][0]["lowered"], id="program"),
    ],
)
def test_every_field_of_the_steps_is_checked(pim_plan, tmp_path, fields, place):
    for field in fields:
        for wrong in WRONG:
            if field.kind.holds(wrong):
                continue
            save_plan(pim_plan, tmp_path / "net")
            changed_json(lambda body, f=field, w=wrong: place(body).update({f.name: w}), tmp_path)
            with pytest.raises(PlanError, match=rf"{field.name} = .*: expected "):
                load_plan(tmp_path / "net")
        if not field.required:  # a plan without states does not name them
            continue
        save_plan(pim_plan, tmp_path / "net")
        changed_json(lambda body, f=field: place(body).pop(f.name), tmp_path)
        with pytest.raises(PlanError, match=f"{field.name} is missing: expected "):
            load_plan(tmp_path / "net")


def test_every_field_of_the_summary_is_checked(pim_plan, tmp_path):
    for field in SUMMARY:
        for wrong in WRONG:
            if wrong is None or field.kind.holds(wrong):
                continue
            check = {f.name: None for f in SUMMARY} | {field.name: wrong}
            only = tuple(f for f in SUMMARY if f is field)
            with pytest.raises(PlanError, match=rf"plan.toml: {field.name} = .*: expected "):
                check_fields("plan.toml", check, only)
    save_plan(pim_plan, tmp_path / "net")
    path = tmp_path / "net" / "plan.toml"
    text = path.read_text()
    for line, wrong in [
        ('isa = "pim"', "isa = {}"),
        ('isa = "pim"', 'isa = "other"'),
        ("memory_size = 1048576", 'memory_size = "x"'),
        ("memory_size = 1048576", "memory_size = 0"),
        ("[params]", "[params]\nx = [1]"),
    ]:
        assert line in text
        path.write_text(text.replace(line, wrong))
        with pytest.raises(PlanError, match=r"plan.toml: (isa|memory_size|params) = .*: expected "):
            load_plan(tmp_path / "net")
    for name in ("", ".", "..", "a/b"):
        path.write_text(text + f'"{name}" = "{"0" * 64}"\n')
        with pytest.raises(PlanError, match="expected a table of file names of this folder"):
            load_plan(tmp_path / "net")
    path.write_text(text.partition("[sha256]")[0].replace("[params]", 'sha256 = "."\n[params]'))
    with pytest.raises(PlanError, match=r"sha256 = '\.': expected a table of file names"):
        load_plan(tmp_path / "net")


def test_folders_that_are_no_plans(pim_plan, tmp_path):
    with pytest.raises(PlanError, match="no plan.toml there: no plan"):
        load_plan(tmp_path)
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(PlanError, match="mine.txt: is a file; expected the folder of a plan"):
        load_plan(tmp_path / "mine.txt")
    with pytest.raises(PlanError, match="holds files that are no plan"):
        save_plan(pim_plan, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_targets_of_another_build(pim_plan):
    with pytest.raises(PlanError, match="model:opu holds core opu; the plan of net is for pim"):
        pim_plan.check_target(open_target("model:opu").info, "model:opu")
    with pytest.raises(
        PlanError,
        match=(
            r"has cores = 4 \(plan: 2\), .*was compiled for another build; compile it for this "
            r"one"
        ),
    ):
        pim_plan.check_target(open_target("model:pim?preset=85f").info, "board")
    with pytest.raises(
        PlanError, match=r"has 1,024 bytes of main memory; the plan of net takes [0-9,]+"
    ):
        pim_plan.check_target(
            replace(open_target("model:pim?preset=sim&arrays=8").info, memory_size=1024), "board"
        )


@pytest.mark.parametrize(
    "given, message",
    [
        ({}, r"input image is missing; expected numbers of shape \[inputs, 3, 6, 5\]"),
        ({"x": 0, "image": 0}, "no input 'x'; it has image"),
        ({"image": np.zeros((1, 3, 5, 6))}, "shape"),
        ({"image": np.full((1, 3, 6, 5), np.nan)}, "NaN"),
        ({"image": np.zeros((0, 3, 6, 5))}, "holds no input"),
        ({"image": np.full((1, 3, 6, 5), "a")}, "expected numbers"),
    ],
)
def test_inputs_that_are_refused(pim_plan, given, message):
    with pytest.raises(InputError, match=message):
        check_inputs("net", pim_plan.inputs, given)


def test_verify_finds_the_element_and_its_instruction(pim_plan):
    inputs = random_inputs(pim_plan)
    equal = verify_plan(pim_plan, inputs, "model", lambda: model(pim_plan), "reference", None)
    assert equal.equal and equal.elements and json.dumps(equal.as_dict(), default=str)

    class Wrong:
        """A target whose memory has one wrong byte in a layer's results."""

        def __init__(self, target, address):
            self.target, self.address = target, address

        def __getattr__(self, name):
            return getattr(self.target, name)

        def read(self, address, size, progress=None):
            data = bytearray(self.target.read(address, size))
            if address <= self.address < address + size:
                data[self.address - address] ^= 1
            return bytes(data)

    tensor = pim_plan.core_steps[0].part.graph.nodes[0].output
    layout = pim_plan.backend().lower(pim_plan.core_steps[0].part, keep=True).tensors[tensor].layout
    place = layout.address + int(layout.offsets()[0, 2, 1, 3])
    found = verify_plan(
        pim_plan, inputs, "sick", lambda: Wrong(model(pim_plan), place), "reference", None
    )
    assert not found.equal
    assert (
        found.difference.tensor == tensor
        and found.difference.element == (0, 2, 1, 3)
        and found.difference.address == place
    )
    assert found.difference.pc is not None and "written by the instruction at pc" in str(
        found.difference
    )
