# SPDX-License-Identifier: BSD-2-Clause
"""Sessions on targets that walk lists of runs: the same results, few calls, and errors that name
the input."""

from dataclasses import replace

import numpy as np
import pytest

from quintet import compile_model, open_target
from quintet.firmware import digits
from quintet.gateware.isa.files import load_archive
from quintet.gateware.isa.outcome import FaultReport, Outcome
from quintet.gateware.standalone.runlist import Flag, ListStatus, decode
from quintet.tools.compiler.backends import backend_names
from quintet.tools.compiler.planning import Options, compile_graph
from quintet.tools.compiler.session import RunFailed, Session
from quintet.tools.compiler.session.listed import MOST
from quintet.tools.compiler.target_build import target_build
from quintet.tools.errors import TargetError
from quintet.tools.link.errors import LinkError
from quintet.tools.targets import TargetInfo
from quintet.tools.targets.base import ListOutcome
from tests.tools.compiler.networks import NETWORKS

pytest.importorskip("onnx")
#: Two whole lists and a short one.
COUNT = 2 * MOST + 5
#: Most cycles between two runs of a list.
BETWEEN = 200


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


class Listing:
    """A target that notes its lists, and whose ``outcome``, if given, ends the first of them."""

    def __init__(self, target, outcome=None):
        self.target, self.lists, self.calls, self._outcome = target, [], [], outcome

    def __getattr__(self, name):
        return getattr(self.target, name)

    def start(self, registers):
        raise AssertionError("a run beside lists")

    def start_list(self, address, size):
        self.calls.append("start_list")
        self.lists.append(list(decode(self.target.read(address, size))))
        self.target.start_list(address, size)

    def wait_list(self, tick=None):
        self.calls.append("wait_list")
        return self._outcome or self.target.wait_list(tick)

    def stop(self):
        self.calls.append("stop")
        self.target.stop()

    def write(self, address, data, progress=None):
        self.calls.append("write")
        self.target.write(address, data, progress)

    def read(self, address, size, progress=None):
        self.calls.append("read")
        return self.target.read(address, size, progress)


def _starts(commands):
    return sum(command.flags & Flag.START != 0 for command in commands)


@pytest.mark.parametrize("network", ["mlp", "cnn"])
@pytest.mark.parametrize("isa", backend_names())
def test_lists_give_the_same(plans, network, isa):
    plan = plans(network, isa).plan
    expected = Session(plan, open_target(f"model:{isa}"), overlap=False)(digits.images(COUNT))
    target = Listing(open_target(f"model:{isa}?run_list=yes"))
    session = Session(plan, target)
    assert np.array_equal(session(digits.images(COUNT)), expected)
    runs = [-(-COUNT // step.lowered.images) for step in plan.core_steps]
    assert sum(map(_starts, target.lists)) == sum(runs)
    assert len(target.lists) == sum(-(-number // MOST) for number in runs)
    assert np.array_equal(session(digits.images(COUNT)), expected), "a second call"


def test_lists_are_begun_beside_reads_and_writes(plans):
    target = Listing(open_target("model:opu?run_list=yes"))
    session = Session(plans("mlp", "opu").plan, target)
    target.calls.clear()
    session(digits.images(COUNT))
    inputs = ["write"] * MOST
    outputs = ["read"] * MOST
    assert target.calls == [
        *inputs,
        "write",
        "start_list",
        *inputs,
        "write",
        "wait_list",
        "start_list",
        *outputs,
        *["write"] * 5,
        "write",
        "wait_list",
        "start_list",
        *outputs,
        "wait_list",
        *["read"] * 5,
    ]


def test_counters_of_the_last_run_stand_for_all(plans):
    plan = plans("mlp", "opu").plan
    session = Session(plan, open_target("model:opu?run_list=yes"))
    session(digits.images(5))
    alone = Session(plan, open_target("model:opu"), overlap=False)
    alone(digits.images(5))
    assert session.report.counters == alone.report.counters


def test_one_input_and_no_overlap_need_no_list(plans):
    plan = plans("mlp", "opu").plan
    for count, overlap in ((1, True), (4, False)):
        target = open_target("model:opu?run_list=yes")
        target.start_list = None
        Session(plan, target, overlap=overlap)(digits.images(count))


class _Board:
    """A board with so much main memory that walks lists of runs."""

    def __init__(self, plan, memory):
        self.target = open_target("model:opu?run_list=yes")
        self.target.configure(
            like=TargetInfo(kind="model", isa="opu", params=plan.params, memory_size=memory)
        )
        self.info = replace(self.target.info, kind="board")

    def __getattr__(self, name):
        return getattr(self.target, name)


@pytest.mark.parametrize("spare", [0, 2048, 4096])
def test_little_memory_gives_short_lists_or_none(plans, spare):
    plan = plans("mlp", "opu").plan
    expected = Session(plan, open_target("model:opu"))(digits.images(COUNT))
    memory = -(-(plan.memory_overlapped + spare) // 64) * 64
    target = Listing(_Board(plan, memory))
    target.start = target.target.start
    assert np.array_equal(Session(plan, target)(digits.images(COUNT)), expected)
    longest = max(map(_starts, target.lists), default=0)
    assert longest != 1 and (longest == 0) == (spare == 0)
    assert longest < MOST


def test_program_without_a_copy_runs_alone_in_a_list(plans):
    plan = plans("cnn", "opu").plan
    steps = [replace(step, buffered_copy=None) for step in plan.core_steps]
    alone = replace(plan, steps=[steps.pop(0) if s in plan.core_steps else s for s in plan.steps])
    target = Listing(open_target("model:opu?run_list=yes"))
    found = Session(alone, target)(digits.images(5))
    assert np.array_equal(found, Session(plan, open_target("model:opu"))(digits.images(5)))
    assert [_starts(commands) for commands in target.lists] == [5]


def test_fault_names_the_input(plans):
    outcome = Outcome("fault", FaultReport(5, "window", 0x40, 7), {}, {})
    ended = ListOutcome(ListStatus.ENDED | ListStatus.FAULT, 3, outcome, 0x1000)
    target = Listing(open_target("model:opu?run_list=yes"), ended)
    session = Session(plans("mlp", "opu").plan, target)
    with pytest.raises(RunFailed, match="mlp, input 2: fault window"):
        session(digits.images(6))
    assert target.calls[-1] == "stop"


def test_failed_bus_cycle_is_an_error_of_the_link(plans):
    ended = ListOutcome(ListStatus.ENDED | ListStatus.ERROR, 2, None, 0x1234)
    target = Listing(open_target("model:opu?run_list=yes"), ended)
    session = Session(plans("mlp", "opu").plan, target)
    with pytest.raises(LinkError, match="mlp, input 1 ended at 0x1234 with status 0xa"):
        session(digits.images(6))


def test_model_ends_a_list_with_a_fault(plans):
    plan = plans("mlp", "opu").plan
    target = open_target("model:opu?run_list=yes")
    session = Session(plan, target)
    target.write(plan.core_steps[0].lowered.program_at, b"\xff" * 16)
    with pytest.raises(RunFailed, match="mlp, input 0: fault illegal_op"):
        session(digits.images(3))


@pytest.mark.parametrize("name", ["model:opu?run_list=maybe", "sim:ulx3s-85f/opu?run_list=1"])
def test_other_words_are_refused(name):
    with pytest.raises(TargetError, match="run_list = .*: expected yes or no"):
        open_target(name)


def test_target_without_lists_refuses_them(plans):
    target = open_target("model:opu")
    with pytest.raises(TargetError, match="wait without a list of runs that start_list began"):
        target.wait_list()


@pytest.mark.long
def test_ten_inputs_without_a_byte_from_the_host():
    """ResNet-8 on a virtual board: ten inputs in a row, and the cycles between their runs."""
    graph = NETWORKS["resnet8"][0](0)
    port, random = graph.inputs[0], np.random.default_rng(1)
    given = {port.tensor: random.normal(0, 1, (4, *graph.shape(port.tensor)))}
    plan = compile_graph(graph, target_build("sim:ulx3s-85f/opu"), given, Options())
    inputs = random.normal(0, 1, (10, *port.shape))
    expected = Session(plan, open_target("model:opu"))(inputs)
    with open_target("sim:ulx3s-85f/opu?run_list=yes&load=direct") as target:
        board, edges = target.board, []
        wait = target.wait_list

        def watch(tick=None):
            traffic, busy = target.traffic(), board.busy
            for _ in range(10_000_000):
                board.advance(4)
                if board.busy != busy:
                    busy = not busy
                    edges.append(board.cycle)
                if len(edges) == 20:
                    break
            assert board.waiting == 0 and target.traffic() == traffic
            return wait(tick)

        target.wait_list = watch
        session = Session(plan, target)
        found = session(inputs)
    assert np.array_equal(found, expected)
    between = [begin - end for end, begin in zip(edges[1::2], edges[2::2], strict=False)]
    assert len(between) == 9 and max(between) <= BETWEEN, between
    # The counters are those of the last run, beside which as much is copied as beside the others.
    lengths = [end - begin for begin, end in zip(edges[::2], edges[1::2], strict=True)]
    assert session.report.counters["cycles"] / 10 == pytest.approx(np.mean(lengths[1:]), rel=0.01)
