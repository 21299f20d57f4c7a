# SPDX-License-Identifier: BSD-2-Clause
"""Plan images: what they hold is what a session writes; sessions on boards that hold a plan."""

import json
from dataclasses import replace

import numpy as np
import pytest

from quintet import compile_model, open_target
from quintet.firmware import digits
from quintet.gateware.cores import open_core
from quintet.gateware.info import CONTROL_BASE
from quintet.gateware.isa.files import load_archive
from quintet.gateware.isa.parameters import params_hash
from quintet.gateware.standalone.image import build_hash, unpack
from quintet.tools.cli import main
from quintet.tools.compiler.backends import backend_names
from quintet.tools.compiler.plan import PlanError
from quintet.tools.compiler.session import Session
from quintet.tools.errors import Exit, TargetError
from quintet.tools.resident.image import plan_image

pytest.importorskip("onnx")


@pytest.fixture(scope="module")
def plans():
    """(network, ISA) -> compiled network, made once."""
    made, calibration = {}, load_archive(digits.FOLDER / "digits.npz")["calibration"]

    def plan(network, isa):
        if (network, isa) not in made:
            made[network, isa] = compile_model(
                str(digits.FOLDER / f"{network}.onnx"),
                f"sim:ulx3s-85f/{isa}",
                calibration=calibration,
            )
        return made[network, isa]

    return plan


def _place(target, image):
    """Writes an image's segments of main memory to a target; returns those of registers."""
    registers = {}
    for segment in image.segments:
        if segment.address < CONTROL_BASE:
            target.write(segment.address, segment.data * segment.repeat)
            continue
        for at in range(0, segment.size, 4):
            registers[segment.address + at - CONTROL_BASE] = int.from_bytes(
                segment.data[at : at + 4], "little"
            )
    return registers


@pytest.mark.parametrize("network", ["mlp", "cnn"])
@pytest.mark.parametrize("isa", backend_names())
def test_image_holds_what_a_session_writes(plans, network, isa):
    plan = plans(network, isa).plan
    if any(step.lowered.setup for step in plan.core_steps):
        with pytest.raises(PlanError, match="a program runs once at the beginning: expected none"):
            plan_image(plan)
        return
    image = unpack(plan_image(plan))
    assert image.build == build_hash(open_core(isa).isa.ISA.tag, params_hash(dict(plan.params)))
    session = Session(plan, open_target(f"model:{isa}"))
    other = open_target(f"model:{isa}")
    other.configure(like=session.target.info)
    registers = _place(other, image)
    size = plan.memory_overlapped or plan.memory
    assert other.read(0, size) == session.target.read(0, size)
    lowered = plan.core_steps[0].lowered
    for name, value in lowered.registers.items():
        _, offset = session.target.registers.find(name)
        assert registers[offset] == value & 0xFFFF_FFFF, name


class _Started:
    """A golden model as a board that has started from flash memory."""

    def __init__(self, target, ready=True):
        self.target, self.info = target, replace(target.info, kind="board", boot=True)
        self.written, self._ready = 0, ready

    def __getattr__(self, name):
        return getattr(self.target, name)

    def wait_ready(self):
        if not self._ready:
            raise TargetError("board: the board refused its plan image")

    def write(self, address, data, progress=None):
        self.written += len(data)
        self.target.write(address, data, progress)


def test_resident_session_writes_inputs_only(plans):
    plan = plans("mlp", "opu").plan
    model = open_target("model:opu")
    expected = Session(plan, model)(digits.images(3))
    target = _Started(model)
    session = Session(plan, target, resident=True)
    assert target.written == 0 and session.report.constant_bytes == 0
    assert np.array_equal(session(digits.images(3)), expected)


def test_board_without_the_plan_is_named(plans):
    plan = plans("mlp", "opu").plan
    model = open_target("model:opu")
    Session(plan, model)
    first, *_ = plan.core_steps[0].lowered.constants
    model.write(first[0], b"\x55\xaa\x55\xaa")
    with pytest.raises(PlanError, match="does not hold this plan: .* at 0x.* has checksum"):
        Session(plan, _Started(model), resident=True)
    with pytest.raises(TargetError, match="refused its plan image"):
        Session(plan, _Started(model, ready=False), resident=True)
    with pytest.raises(TargetError, match="this build does not start from flash memory"):
        Session(plan, open_target("model:opu"), resident=True)


def test_programs_that_take_turns_are_refused(plans):
    plan = plans("mlp", "opu").plan
    step = plan.core_steps[0]
    with pytest.raises(PlanError, match="its programs take turns in the same memory"):
        plan_image(replace(plan, steps=[step, replace(step)]))
    with pytest.raises(PlanError, match="no program for the core"):
        plan_image(replace(plan, steps=[]))


def test_command_writes_an_image(plans, tmp_path, capsys):
    plans("mlp", "opu").save(tmp_path / "net")
    out = tmp_path / "plan.img"
    assert main(["image", str(tmp_path / "net"), "-o", str(out), "--json"]) == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert found["bytes"] == out.stat().st_size
    assert unpack(out.read_bytes()).build == found["build"]


@pytest.mark.long
def test_network_from_flash_on_a_virtual_board(tmp_path):
    """From the plan to a board that has started by itself, by lists of runs as well."""
    calibration = load_archive(digits.FOLDER / "digits.npz")["calibration"]
    plan = compile_model(
        str(digits.FOLDER / "mlp.onnx"), "sim:icebreaker/opu", calibration=calibration
    ).plan
    (tmp_path / "plan.img").write_bytes(plan_image(plan))
    name = f"sim:icebreaker/opu?boot={tmp_path}/plan.img&run_list=yes"
    with Session(plan, open_target(name), resident=True) as session:
        found = session(digits.images(12))
        assert session.target.board.ready and session.report.constant_bytes == 0
    assert np.array_equal(found, Session(plan, open_target("model:opu"))(digits.images(12)))
