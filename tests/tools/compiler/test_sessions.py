# SPDX-License-Identifier: BSD-2-Clause
"""Sessions: traffic on the link while a core runs, double-buffered copies of programs, and runs
that fail."""

from dataclasses import replace

import numpy as np
import pytest

from quintet import compile_model, load_plan, open_target
from quintet.firmware import digits
from quintet.gateware.isa.files import load_archive
from quintet.gateware.isa.outcome import FaultReport, Outcome
from quintet.tools.compiler.backends import backend_names
from quintet.tools.compiler.backends.base import line_seconds
from quintet.tools.compiler.layout import dense_layout
from quintet.tools.compiler.onnx_import import import_onnx
from quintet.tools.compiler.plan import PlanError
from quintet.tools.compiler.planning import Options, compile_graph
from quintet.tools.compiler.results.throughput import on_the_line, throughput, throughput_rows
from quintet.tools.compiler.session import RunFailed, Session, SessionReport
from quintet.tools.compiler.session.runs import Transfer
from quintet.tools.compiler.target_build import target_build
from quintet.tools.compiler.values import check_arrays
from quintet.tools.errors import Exit
from quintet.tools.link.access import Access
from quintet.tools.link.client import LinkClient
from quintet.tools.link.errors import LinkError
from quintet.tools.targets import TargetInfo
from tests.tools.link.fake_pipe import FakePipe
from tests.tools.link.test_link_client import Board

pytest.importorskip("onnx")
COUNT = 7


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


class Recording:
    """A target that notes what is asked of it, by name; ``fails``: the run of this number ends with
    a fault, ``breaks``: this call raises."""

    def __init__(self, target, fails=None, breaks=None):
        self.target, self.calls, self.runs, self.counted, self._fails, self._breaks = (
            target,
            [],
            0,
            0,
            fails,
            breaks,
        )

    def __getattr__(self, name):
        return getattr(self.target, name)

    def _note(self, name, *where):
        self.calls.append((name, *where))
        if self._breaks == self.calls[-1][0] and self.runs > 2:
            raise LinkError("the cable is out")

    def start(self, registers):
        self._note("start", tuple(sorted(registers.items())))
        self.target.start(registers)

    def wait(self, *args, **options):
        self._note("wait")
        self.runs += 1
        self.counted += options.get("counters", True)
        outcome = self.target.wait(*args, **options)
        return (
            outcome
            if self.runs != self._fails
            else Outcome("fault", FaultReport(5, "window", 0x40, 7), {}, {})
        )

    def stop(self):
        self._note("stop")
        self.target.stop()

    def write(self, address, data, progress=None):
        self._note("write", address)
        self.target.write(address, data, progress)

    def transfer(self, accesses, progress=None):
        first = accesses[0]
        self._note("read" if first.data is None else "write", first.address)
        return self.target.transfer(accesses, progress)

    def read(self, address, size, progress=None):
        self._note("read", address)
        return self.target.read(address, size, progress)


@pytest.mark.parametrize("network", ["mlp", "cnn"])
@pytest.mark.parametrize("isa", backend_names())
def test_buffered_copies_give_the_same(plans, network, isa, tmp_path):
    plan = plans(network, isa)
    assert all(step.buffered_copy is not None for step in plan.plan.core_steps)
    plan.save(tmp_path / "net")
    alone = Session(plan.plan, open_target(f"model:{isa}"), overlap=False)
    expected = alone(digits.images(COUNT))
    for some in (plan, load_plan(tmp_path / "net")):
        with some.open(f"model:{isa}") as session:
            assert np.array_equal(session(digits.images(COUNT)), expected)
            assert session.report.overlapped and not alone.report.overlapped
            assert np.array_equal(
                session(digits.images(COUNT)), expected
            )  # what the first call has left is no trouble


@pytest.mark.parametrize("isa", backend_names())
def test_programs_and_buffered_copies_lie_apart(plans, isa):
    plan = plans("cnn", isa).plan
    places = [
        place.layout
        for step in plan.core_steps
        for lowered in (step.lowered, step.buffered_copy)
        for place in (*lowered.inputs.values(), *lowered.outputs.values())
    ]
    spans = sorted((layout.first, layout.end) for layout in places)
    assert all(before[1] <= after[0] for before, after in zip(spans, spans[1:], strict=False))
    assert plan.memory < plan.memory_overlapped <= plan.memory_size


def test_next_input_and_last_output_go_beside_the_run(plans):
    target = Recording(open_target("model:opu"))
    session = Session(plans("mlp", "opu").plan, target)
    target.calls.clear()
    session(digits.images(4))
    names = [name for name, *_ in target.calls]
    assert names == [
        "write",
        "start",
        "write",
        "wait",
        "start",
        "read",
        "write",
        "wait",
        "start",
        "read",
        "write",
        "wait",
        "start",
        "read",
        "wait",
        "read",
    ]
    places = {
        name: [call[1] for call in target.calls if call[0] == name]
        for name in ("write", "read", "start")
    }
    for turns in places.values():
        assert turns[0] == turns[2] != turns[1] == turns[3]


def test_one_input_and_no_overlap_leave_the_core_alone(plans):
    for count, overlap in ((1, True), (3, False)):
        target = Recording(open_target("model:opu"))
        session = Session(plans("mlp", "opu").plan, target, overlap=overlap)
        target.calls.clear()
        session(digits.images(count))
        assert [name for name, *_ in target.calls] == [
            "write",
            "start",
            "wait",
            "read",
        ] * count and not session.report.overlapped


def test_target_without_memory_for_buffered_copies(plans):
    compiled = plans("mlp", "opu")
    target = open_target("model:opu")
    session = Session(replace(compiled.plan, memory_size=compiled.plan.memory), target)
    target.info = replace(target.info, memory_size=compiled.plan.memory)
    assert session._overlap  # a golden model gets what the plan takes
    session = Session(compiled.plan, _Small(open_target("model:opu"), compiled.plan))
    assert not session._overlap
    assert np.array_equal(session(digits.images(3)), compiled.open("model:opu")(digits.images(3)))


class _Small:
    """A board with no byte more than a plan takes."""

    def __init__(self, target, plan):
        target.configure(
            like=TargetInfo(kind="model", isa=plan.isa, params=plan.params, memory_size=plan.memory)
        )
        self.target, self.info = target, replace(target.info, kind="board")

    def __getattr__(self, name):
        return getattr(self.target, name)


def test_fault_beside_the_link_names_the_input(plans):
    target = Recording(open_target("model:opu"), fails=3)
    session = Session(plans("mlp", "opu").plan, target)
    with pytest.raises(
        RunFailed, match=r"digits_mlp, input 2: fault window \(5\) at pc 0x40.*, detail 0x7"
    ) as caught:
        session(digits.images(6))
    assert caught.value.code == Exit.FAULT and session.report.inputs == 0
    assert session(digits.images(6)).shape == (6, 10)


def test_what_a_failed_run_has_left_in_the_core_is_not_used(plans):
    target = Recording(open_target("model:pim"), fails=3)
    session = Session(plans("mlp", "pim").plan, target)
    target.calls.clear()
    with pytest.raises(RunFailed):
        session(digits.images(4))
    session(digits.images(2))
    flags = [dict(call[1])["run_flags"] for call in target.calls if call[0] == "start"]
    assert flags == [0, 1, 1, 0, 1]  # 0: weights are loaded into the arrays


@pytest.mark.parametrize(
    "call, what",
    [
        ("start", "input 3 being begun"),
        ("read", "input 2 being read"),
        ("write", "input 4 being written"),
        ("wait", "input 3 being run"),
    ],
)
def test_link_that_fails_beside_a_run_leaves_the_core_idle_and_names_the_input(plans, call, what):
    target = Recording(open_target("model:opu"), breaks=call)
    session = Session(plans("mlp", "opu").plan, target)
    with pytest.raises(LinkError, match=f"^digits_mlp, {what}: the cable is out$"):
        session(digits.images(8))
    assert target.calls[-1] == ("stop" if call != "start" else "start", *target.calls[-1][1:])


@pytest.mark.parametrize("count, read", [(1, 1), (2, 1), (17, 1), (18, 2), (35, 3)])
def test_counters_of_some_runs_stand_for_all(plans, count, read):
    target = Recording(open_target("model:opu"))
    session = Session(plans("mlp", "opu").plan, target)
    alone = Session(plans("mlp", "opu").plan, open_target("model:opu"), overlap=False)
    for some in (session, alone):
        some(digits.images(count))
    assert target.counted == read
    assert (
        session.report.counters == alone.report.counters
        and session.report.counters["instructions"] % count == 0
    )


def test_bytes_on_the_line_are_those_of_the_frames():
    """What a client counts against what passes through its pipe."""
    pipe = FakePipe(Board())
    client = LinkClient(pipe)
    client.identify()
    rng = np.random.default_rng(0)
    for call in (
        lambda: client.write(64, rng.integers(1, 256, 1500, np.uint8).tobytes()),
        lambda: client.read(64, 3000),
        lambda: client.fill(64, 4000, 7),
        lambda: client.write(0, rng.integers(1, 256, 600, np.uint8).tobytes(), 20, 64),
        lambda: client.read(0, 600, 20, 64),
        lambda: client.checksum(0, 5000),
        lambda: client.transfer([Access(4 * k, data=b"abcd") for k in range(9)]),
    ):
        before, sent, received = tuple(client.traffic), pipe.sent, pipe.received
        call()
        ways = [now - old for now, old in zip(client.traffic, before, strict=True)]
        # COBS takes a byte more or less, and a zero stands in front of a call.
        assert (
            abs(ways[0] - (pipe.sent - sent)) <= 8
            and abs(ways[1] - (pipe.received - received)) <= 8
        ), ways
    with client.uncounted():
        before = tuple(client.traffic)
        client.read(0, 100)
    assert tuple(client.traffic) == before
    client.count(Access(64, data=bytes(1500)))
    assert client.traffic[0] - before[0] == sum(
        12 + n + (12 + n) // 254 + 2 for n in (512, 512, 476)
    )


@pytest.mark.parametrize(
    "isa, network, build, found",
    [
        ("opu", "cnn", {"clock_hz": None}, 64),
        ("opentpu", "mlp", {}, None),
        ("cherry", "mlp", {}, 1),
        ("opu", "mlp", {"clock_hz": 1 << 40}, 1),
    ],
)
def test_as_many_inputs_a_run_as_are_of_use(isa, network, build, found):
    """By the core alone the most that gain; where the line is slower one is enough, or what makes
    the core quicker than the line."""
    calibration = load_archive(digits.FOLDER / "digits.npz")["calibration"]
    graph = import_onnx(str(digits.FOLDER / f"{network}.onnx"))
    given = check_arrays(graph.name, graph.inputs, {graph.inputs[0].name: calibration})
    made = replace(target_build(f"ulx3s-85f/{isa}"), **build)
    plans = {
        images: compile_graph(graph, made, given, Options(images=images)) for images in (1, None)
    }
    chosen, bounds = plans[None].core_steps[0].lowered.images, {}
    for images, plan in plans.items():
        clock = made.clock_hz or 1e9
        bounds[images] = max(
            plan.cycles / clock, line_seconds(made.link, 64, 10) if made.clock_hz else 0
        )
    assert bounds[None] <= bounds[1] and (found is None or chosen <= found)
    assert found is None or found == 1 or chosen > 1
    assert not any("a run works on" in note for note in plans[None].notes)


def test_what_lies_between_elements_is_one_request():
    layout = dense_layout(0x100, (1, 4, 3, 2), "int8")
    pixels = replace(
        layout,
        digits=tuple(
            replace(d, stride={1: 5 * 16, 2: 16, 3: 1}.get(d.axis, d.stride)) for d in layout.digits
        ),
    )
    target = open_target("model:opu")
    target.configure(
        like=TargetInfo(
            kind="model", isa="opu", params=target.package.params.SPACE.resolve(), memory_size=4096
        )
    )
    target.fill(0, 4096, 9)
    report = SessionReport()
    noted = Recording(target)
    transfer = Transfer(noted, report, None)
    transfer.clear(pixels)
    values = np.arange(1, 25, dtype=np.int8).reshape(1, 4, 3, 2)
    transfer.put(None, pixels, values)
    memory = np.frombuffer(target.read(0, 4096), np.uint8)
    assert (
        (pixels.read(memory, 0) == values).all()
        and memory[:0x100].min() == 9
        and memory[pixels.end :].min() == 9
    )
    assert memory[0x100 : pixels.end].sum() == values.sum()
    assert (
        transfer.get(pixels) == values
    ).all() and report.input_bytes == report.output_bytes == 24
    assert [len(transfer.requests(pixels)), [name for name, *_ in noted.calls]] == [
        1,
        ["write", "read"],
    ]


@pytest.mark.parametrize(
    "link, found",
    [
        (
            {"kind": "uart", "baud": 1_000_000},
            {"core": 1000.0, "line": 1000.0, "bound": "core", "link": 50.0},
        ),
        ({"kind": "usb"}, {"core": 1000.0, "line": 1_216_000 / 130, "bound": "core", "link": 50.0}),
        (None, {"core": 1000.0, "line": None, "bound": None, "link": 50.0}),
    ],
)
def test_throughput(plans, link, found):
    report = SessionReport(
        inputs=10,
        counters={"cycles": 800_000},
        sent_bytes=1000,
        received_bytes=300,
        moving_seconds=0.2,
        overlapped=True,
    )
    info = TargetInfo(
        kind="board", isa="opu", params={}, memory_size=0, clock_hz=80_000_000, link=link
    )
    plan = plans("mlp", "opu").plan
    assert throughput(report, plan, info, True) == pytest.approx(found)
    assert throughput(report, plan, info, False)["link"] is None
    rows = dict(
        (what, text)
        for what, *text in throughput_rows(throughput(report, plan, info, True), plan, info, report)
    )
    assert (
        rows["by the core"][0] == "1,000.0 inputs/s"
        and rows["through the link"][1] == "5 % of the bound, beside the core's work"
    )
    nothing = throughput(
        SessionReport(inputs=1), plan, replace(info, clock_hz=None, link=None), False
    )
    assert (
        nothing == dict.fromkeys(("core", "line", "bound", "link"))
        and throughput_rows(nothing, plan, info, report) == []
    )


@pytest.mark.parametrize(
    "network, isa, images, taken",
    [
        ("cnn", "opu", 4, 4),
        ("mlp", "opentpu", 6, 6),
        ("cnn", "opentpu", 3, 1),
        ("mlp", "cherry", 2, 1),
    ],
)
def test_several_inputs_a_run(plans, network, isa, images, taken):
    calibration = load_archive(digits.FOLDER / "digits.npz")["calibration"]
    several = compile_model(
        str(digits.FOLDER / f"{network}.onnx"),
        f"sim:ulx3s-85f/{isa}",
        calibration=calibration,
        images=images,
    )
    assert several.plan.core_steps[0].lowered.images == taken
    assert any("a run works on 1 input, not" in note for note in several.plan.notes) == (
        taken < images
    )
    with several.open(f"model:{isa}") as session:
        found = session(digits.images(2 * images + 1))  # the last run is not full
    assert np.array_equal(
        found, plans(network, isa).open(f"model:{isa}")(digits.images(2 * images + 1))
    )


def test_fault_of_several_inputs_says_from_where():
    calibration = load_archive(digits.FOLDER / "digits.npz")["calibration"]
    several = compile_model(
        str(digits.FOLDER / "mlp.onnx"), "sim:ulx3s-85f/opu", calibration=calibration, images=3
    )
    session = Session(several.plan, Recording(open_target("model:opu"), fails=2))
    with pytest.raises(RunFailed, match="digits_mlp, one of 3 inputs from 3 on: fault window"):
        session(digits.images(7))


@pytest.mark.parametrize(
    "kind, options, found",
    [
        ("board", {}, True),
        ("sim", {}, False),
        ("sim", {"link": "wire"}, True),
        ("sim", {"link": "wire", "load": "direct"}, False),
        ("model", {}, False),
    ],
)
def test_what_takes_its_time_on_a_line(kind, options, found):
    assert on_the_line(TargetInfo(kind=kind, isa="opu", params={}, memory_size=0), options) == found


def test_a_dict_of_inputs_is_taken_as_names_are(plans):
    network = plans("mlp", "opu")
    images = digits.images()[:2].astype(np.float64)
    name = network.plan.inputs[0].name
    with open_target("model:opu?preset=85f") as target, Session(network.plan, target) as session:
        wanted = session(images)
        assert np.array_equal(session({name: images}), wanted) and np.array_equal(
            session(**{name: images}), wanted
        )
        with pytest.raises(PlanError, match="has no input 'z'"):
            session({"z": images})
        with pytest.raises(PlanError, match=f"input {name} is missing"):
            session({})
        for arrays, named in (
            ([{name: images}, images], {}),
            ([images, {name: images}], {}),
            ([{name: images}], {name: images}),
        ):
            with pytest.raises(PlanError, match="expected all of them in the dict"):
                session(*arrays, **named)


def test_session_runs_as_onnxruntimes_does(plans):
    network = plans("mlp", "opu")
    images = digits.images()[:2].astype(np.float64)
    name, output = network.plan.inputs[0].name, network.plan.outputs[0].name
    with open_target("model:opu?preset=85f") as target, Session(network.plan, target) as session:
        wanted = session(images)
        (every,), (one,) = session.run(None, {name: images}), session.run([output], {name: images})
        assert np.array_equal(every, wanted) and np.array_equal(one, wanted)
        with pytest.raises(PlanError, match=f"has no output '{output}x'; did you mean {output}?"):
            session.run([f"{output}x"], {name: images})
        with pytest.raises(PlanError, match="has no input 'z'"):
            session.run(None, {"z": images})
