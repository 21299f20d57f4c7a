# SPDX-License-Identifier: BSD-2-Clause
"""Compiled networks as C headers, run by the C host on golden models of the five cores."""

import ctypes
import json
import re
import subprocess

import numpy as np
import onnx
import pytest

from quintet.gateware.info import CONTROL_BASE, RUN_LIST_BASE, SOC_BASE
from quintet.gateware.standalone.runlist import ListStatus
from quintet.tools.cli import main
from quintet.tools.compiler.api import compile_model
from quintet.tools.text import plain_name
from tests.firmware.host.library import ACCESS, HOST, WARNINGS, CHost, HostError, List, load
from tests.firmware.host.model_board import ModelBoard
from tests.tools.compiler.state_networks import relu_cell
from tests.tools.link.fake_pipe import FakePipe

DIGITS = HOST.parent / "digits"
IMAGES = np.load(DIGITS / "digits.npz")["images"]

#: What a test wants of a header: its network, and the library with it.
_NETWORK = """
#include "access.c"
#include NETWORK_HEADER
const struct quintet_network *network(void) { return &NETWORK; }
const struct quintet_tensor *network_inputs(void) { return NETWORK.inputs; }
const struct quintet_tensor *network_outputs(void) { return NETWORK.outputs; }
"""


def dense_network(path):
    """A dense layer without an activation: one program on every core, IMAGine too."""
    chance = np.random.default_rng(3)
    weights = onnx.numpy_helper.from_array(chance.normal(size=(24, 7)).astype("f4"), "w")
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"], name="dense")],
        "dense",
        [value("x", onnx.TensorProto.FLOAT, ["n", 24])],
        [value("y", onnx.TensorProto.FLOAT, ["n", 7])],
        [weights],
    )
    opsets = [onnx.helper.make_opsetid("", 17)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


class Network:
    """A network compiled for a golden model, exported, and compiled as C."""

    def __init__(self, folder, compiled, isa, preset, inputs, *, flags=()):
        self.isa, self.preset, self.inputs = isa, preset, inputs
        self.compiled = compiled
        self.compiled.save(folder / "plan")
        assert main(["export", "--c", str(folder / "plan"), "-o", str(folder / "net.h")]) == 0
        (folder / "access.c").write_text(ACCESS)
        (folder / "network.c").write_text(_NETWORK)
        symbol = plain_name(self.compiled.plan.network)
        command = ["cc", *WARNINGS, "-O1", "-shared", "-fPIC", f"-DNETWORK={symbol}", *flags]
        command += ['-DNETWORK_HEADER="net.h"', "-I", HOST, folder / "network.c"]
        subprocess.run([*command, "-o", folder / "network.so"], check=True)
        self.loaded = load(folder / "network.so")
        for name in ("network", "network_inputs", "network_outputs"):
            getattr(self.loaded, name).restype = ctypes.c_void_p
        self.network = ctypes.c_void_p(self.loaded.network())

    def host(self, board=None, **options):
        board = board or ModelBoard(self.isa, self.preset, **options)
        return CHost(self.loaded, FakePipe(board))

    def in_list(self, host, values, runs, *, batches=1):
        """As :meth:`infer`, by one list of ``runs`` runs that is started ``batches`` times."""
        step = self.compiled.plan.core_steps[0]
        images = step.lowered.images
        work = List()
        host.call("list_prepare", ctypes.byref(work), self.network, runs, 0)
        found = []
        for batch in range(batches):
            first = batch * runs * images
            for run in range(runs):
                at = first + run * images
                numbers = self.numbers(values[at : at + images])
                pointers = (ctypes.c_void_p * 1)(ctypes.addressof(numbers))
                host.call("list_put", ctypes.byref(work), run, pointers)
            host.call("list_start", ctypes.byref(work), False)
            host.call("list_wait", ctypes.byref(work), 1000)
            for run in range(runs):
                results = self.buffer("outputs")
                pointers = (ctypes.c_void_p * 1)(ctypes.addressof(results))
                host.call("list_get", ctypes.byref(work), run, pointers)
                found.append(self.values(results))
        return np.concatenate(found), work

    def buffer(self, field):
        """Space for the numbers of the network's only input or output."""
        (placed,) = getattr(self.compiled.plan.core_steps[0].lowered, field).values()
        return ctypes.create_string_buffer(4 * int(np.prod(placed.layout.shape)))

    def numbers(self, batch):
        numbers = self.buffer("inputs")
        self._convert("quantise", "inputs", np.ascontiguousarray(batch, "f4"), numbers)
        return numbers

    def values(self, results):
        (placed,) = self.compiled.plan.core_steps[0].lowered.outputs.values()
        one = np.zeros(placed.layout.shape, "f4")
        self._convert("dequantise", "outputs", results, one)
        return one

    def infer(self, host, values):
        """Outputs, float32, of inputs with a first axis of inputs; one input and one output."""
        images, found = self.compiled.plan.core_steps[0].lowered.images, []
        for at in range(0, len(values), images):
            numbers, results = self.numbers(values[at : at + images]), self.buffer("outputs")
            pointers = (ctypes.c_void_p * 1)(ctypes.addressof(numbers))
            outputs = (ctypes.c_void_p * 1)(ctypes.addressof(results))
            host.call("infer", self.network, pointers, outputs, 1000)
            found.append(self.values(results))
        return np.concatenate(found)

    def _convert(self, name, field, source, target):
        tensors = ctypes.c_void_p(getattr(self.loaded, f"network_{field}")())
        getattr(self.loaded, f"quintet_{name}")(tensors, _pointer(source), _pointer(target))


def exported(folder, compiled, isa, preset=None, inputs=None, **more):
    """A :class:`Network` that is compiled already."""
    return Network(folder, compiled, isa, preset, inputs, **more)


def modelled(folder, model, isa, preset, inputs, *, flags=(), **options):
    """A :class:`Network` compiled for a golden model with ``options``."""
    target = f"model:{isa}?preset={preset}"
    compiled = compile_model(model, target, calibration=inputs, **options)
    return Network(folder, compiled, isa, preset, inputs, flags=flags)


def _pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p) if isinstance(array, np.ndarray) else array


#: Case -> model, core, preset, options of the compiler, of the C compiler.
CASES = {
    "opentpu": ("cnn", "opentpu", "sim-ext", {}),
    "opentpu-4-inputs": ("mlp", "opentpu", "sim-ext", {"images": 4}),
    "opu": ("cnn", "opu", "sim", {}),
    "opu-3-inputs": ("mlp", "opu", "sim", {"images": 3}),
    "pim": ("cnn", "pim", "85f", {}),
    "imagine": ("dense", "imagine", "sim", {}),
    "cherry": ("mlp", "cherry", "sim", {}),
}


def case(folder, name, **more):
    model, isa, preset, options = CASES[name]
    if model == "dense":
        path = dense_network(folder / "dense.onnx")
        inputs = np.random.default_rng(4).normal(size=(12, 24)).astype("f4")
    else:
        path, inputs = DIGITS / f"{model}.onnx", IMAGES[:12].astype("f4")
    return modelled(folder, path, isa, preset, inputs, **options, **more)


@pytest.mark.parametrize("name", CASES)
def test_outputs_are_those_of_a_session(name, tmp_path):
    """Bit for bit, the first run and later ones."""
    network = case(tmp_path, name)
    with network.compiled.open(f"model:{network.isa}?preset={network.preset}") as session:
        expected = session(network.inputs)
    host = network.host()
    host.call("load", network.network)
    found = network.infer(host, network.inputs)
    np.testing.assert_array_equal(found.reshape(expected.shape), expected.astype("f4"))
    assert host.repeats == 0


@pytest.mark.parametrize("flags", [[], ["-DQUINTET_OVERLAP"]], ids=["plain", "overlap"])
@pytest.mark.parametrize("name", CASES)
def test_lists_of_runs_give_what_a_session_gives(name, flags, tmp_path):
    """Bit for bit: a list that is started twice, one of a single run, plain runs in between."""
    network = case(tmp_path, name, flags=flags)
    inputs = np.concatenate([network.inputs, network.inputs[::-1]])
    with network.compiled.open(f"model:{network.isa}?preset={network.preset}") as session:
        expected = session(inputs)
    host = network.host(run_list=True)
    board = host.pipe.device
    images = network.compiled.plan.core_steps[0].lowered.images
    host.call("load", network.network)
    setups = board.starts
    runs = len(inputs) // images
    for count, batches in ((runs // 2, 2), (1, runs)):
        found, work = network.in_list(host, inputs, count, batches=batches)
        np.testing.assert_array_equal(found.reshape(expected.shape), expected.astype("f4"))
        copy = network.compiled.plan.core_steps[0].buffered_copy
        assert work.overlapped == bool(flags and copy is not None and count > 1)
    assert board.starts == setups + 2 * runs
    found = network.infer(host, network.inputs[:images])
    np.testing.assert_array_equal(
        found.reshape(expected[:images].shape), expected[:images].astype("f4")
    )
    again, _ = network.in_list(host, inputs, runs)
    np.testing.assert_array_equal(again.reshape(expected.shape), expected.astype("f4"))


def test_inputs_far_from_zero(tmp_path):
    """The host subtracts their mean, as a session does."""
    inputs = 300 + 5 * np.random.default_rng(4).normal(size=(12, 24)).astype("f4")
    network = modelled(tmp_path, dense_network(tmp_path / "d.onnx"), "opu", "sim", inputs)
    assert network.compiled.plan.inputs[0].offset is not None
    with network.compiled.open("model:opu?preset=sim") as session:
        expected = session(inputs)
    host = network.host()
    host.call("load", network.network)
    found = network.infer(host, inputs)
    np.testing.assert_array_equal(found.reshape(expected.shape), expected.astype("f4"))


@pytest.mark.parametrize("isa, preset", [("opu", "sim"), ("pim", "85f"), ("cherry", "sim")])
def test_states_stay_and_are_reset(isa, preset, tmp_path):
    """Each run leaves its state for the next one, in the board's memory."""
    (tmp_path / "cell.onnx").write_bytes(relu_cell())
    inputs = np.random.default_rng(4).normal(size=(20, 8)).astype("f4")
    first = np.linspace(0, 1, 16)
    more = {"initial": {"state_in": first}}
    network = modelled(tmp_path, tmp_path / "cell.onnx", isa, preset, inputs, **more)
    header = (tmp_path / "net.h").read_text()
    (step,) = network.compiled.plan.core_steps
    address = step.lowered.states["state_in"].layout.first
    assert re.search(rf"state_out -> state_in, .* at {address:#x}\n", header)
    with network.compiled.open(f"model:{isa}?preset={preset}") as session:
        expected = session(inputs).astype("f4")
    host = network.host()
    host.call("load", network.network)
    for _ in range(2):
        found = network.infer(host, inputs)
        np.testing.assert_array_equal(found.reshape(expected.shape), expected)
        host.call("reset_states", network.network)


def test_states_that_go_through_the_host_are_refused(tmp_path, capsys):
    (tmp_path / "cell.onnx").write_bytes(relu_cell())
    inputs = np.random.default_rng(4).normal(size=(20, 8)).astype("f4")
    target = "model:pim?preset=85f"
    made = compile_model(tmp_path / "cell.onnx", target, calibration=inputs)
    lowered = made.plan.core_steps[0].lowered
    lowered.inputs |= lowered.states
    lowered.states.clear()
    made.save(tmp_path / "plan")
    assert main(["export", "--c", str(tmp_path / "plan"), "-o", str(tmp_path / "net.h")]) == 2
    assert "the state state_in goes through the host" in capsys.readouterr().err


def branches_network(path):
    """Two dense layers of ranges far apart, far from zero, joined."""
    chance, helper = np.random.default_rng(3), onnx.helper
    constants, nodes = [], []
    for name, width, factor in (("a", 7, 1), ("b", 5, 100)):
        weights = (factor * chance.normal(size=(24, width))).astype("f4")
        biases = (300 * factor * np.ones(width)).astype("f4")
        constants += [onnx.numpy_helper.from_array(weights, f"w{name}")]
        constants += [onnx.numpy_helper.from_array(biases, f"c{name}")]
        nodes.append(helper.make_node("Gemm", ["x", f"w{name}", f"c{name}"], [name], name=name))
    nodes.append(helper.make_node("Concat", ["a", "b"], ["y"], axis=1, name="joined"))
    graph = helper.make_graph(
        nodes,
        "branches",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 24])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 12])],
        constants,
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


def test_outputs_far_from_zero_and_of_ranges_far_apart(tmp_path):
    """The host multiplies by their factors and adds their offsets, as a session does."""
    inputs = np.random.default_rng(4).normal(size=(20, 24)).astype("f4")
    model = branches_network(tmp_path / "b.onnx")
    network = modelled(tmp_path, model, "opentpu", "sim-ext", inputs)
    (port,) = network.compiled.plan.outputs
    assert port.offset is not None and port.factor is not None
    with network.compiled.open("model:opentpu?preset=sim-ext") as session:
        expected = session(inputs)
    host = network.host()
    host.call("load", network.network)
    found = network.infer(host, inputs)
    np.testing.assert_array_equal(found.reshape(expected.shape), expected.astype("f4"))


@pytest.fixture(scope="module")
def dense(tmp_path_factory):
    return case(tmp_path_factory.mktemp("dense"), "opentpu")


def test_resident_network_is_only_checked(dense, tmp_path):
    """With QUINTET_RESIDENT the header has no bytes; another host has written them."""
    board = ModelBoard(dense.isa, dense.preset)
    first = dense.host(board)
    first.call("load", dense.network)
    expected = dense.infer(first, dense.inputs)
    resident = case(tmp_path, "opentpu", flags=["-DQUINTET_RESIDENT"])
    host = resident.host(board)
    with pytest.raises(HostError, match="argument"):
        host.call("load", resident.network)
    host.call("assume_loaded", resident.network)
    np.testing.assert_array_equal(resident.infer(host, resident.inputs), expected)


def test_infer_wants_a_loaded_network(dense):
    host = dense.host()
    with pytest.raises(HostError, match="not_loaded"):
        dense.infer(host, dense.inputs)
    host.call("load", dense.network)
    dense.infer(host, dense.inputs[:1])
    host.run({0x20: 0})  # another program comes between
    with pytest.raises(HostError, match="not_loaded"):
        dense.infer(host, dense.inputs)


# Lists of runs that do not end well


@pytest.fixture(scope="module")
def listed(dense):
    """A host with the network loaded on a board that walks lists, and its board."""
    host = dense.host(run_list=True)
    host.call("load", dense.network)
    return host


def prepare(network, host, runs, address=0):
    work = List()
    host.call("list_prepare", ctypes.byref(work), network.network, runs, address)
    return work


def test_list_wants_a_loaded_network(dense):
    host = dense.host(run_list=True)
    with pytest.raises(HostError, match="not_loaded"):
        prepare(dense, host, 2)
    host.call("load", dense.network)
    dense.infer(host, dense.inputs[:1])
    work = prepare(dense, host, 2)
    host.run({0x20: 0})  # another program comes between
    with pytest.raises(HostError, match="not_loaded"):
        host.call("list_start", ctypes.byref(work), False)


@pytest.mark.parametrize(
    "runs, address, status",
    [(0, 0, "argument"), (2, 0x8001, "argument"), (1 << 20, 0, "memory"), (2, 0xFFF00, "memory")],
)
def test_list_that_makes_no_sense_or_does_not_fit(dense, listed, runs, address, status):
    before = bytes(listed.pipe.device.memory.data)
    with pytest.raises(HostError, match=status):
        prepare(dense, listed, runs, address)
    assert bytes(listed.pipe.device.memory.data) == before


def test_runs_behind_the_last_one_are_refused(dense, listed):
    work = prepare(dense, listed, 2)
    pointers = (ctypes.c_void_p * 1)(ctypes.addressof(dense.numbers(dense.inputs[:1])))
    for call in ("list_put", "list_get"):
        with pytest.raises(HostError, match="argument"):
            listed.call(call, ctypes.byref(work), 2, pointers)


def test_two_lists_in_turns(dense, listed):
    """The second one lies behind the first."""
    works = [prepare(dense, listed, 3)]
    works.append(prepare(dense, listed, 3, works[0].end))
    assert works[1].address == works[0].end
    with dense.compiled.open(f"model:{dense.isa}?preset={dense.preset}") as session:
        expected = session(dense.inputs[:6])
    for at, work in enumerate(works):
        for run in range(3):
            numbers = dense.numbers(dense.inputs[3 * at + run : 3 * at + run + 1])
            pointers = (ctypes.c_void_p * 1)(ctypes.addressof(numbers))
            listed.call("list_put", ctypes.byref(work), run, pointers)
    for work in works:
        listed.call("list_start", ctypes.byref(work), False)
        listed.call("list_wait", ctypes.byref(work), 0)
    for at, work in enumerate(works):
        for run in range(3):
            results = dense.buffer("outputs")
            pointers = (ctypes.c_void_p * 1)(ctypes.addressof(results))
            listed.call("list_get", ctypes.byref(work), run, pointers)
            found = dense.values(results).ravel()
            np.testing.assert_array_equal(found, expected[3 * at + run].ravel().astype("f4"))


def test_list_tells_which_run_met_a_fault(dense):
    host = dense.host(run_list=True)
    host.call("load", dense.network)
    work = prepare(dense, host, 4)
    board = host.pipe.device
    start, place = board._start, dense.compiled.plan.core_steps[0].lowered.program_at

    def spoil():
        if board.starts == 3:
            board.memory.data[place : place + 8] = np.frombuffer(b"\xff" * 8, "u1")
        start()

    board._start = spoil
    host.call("list_start", ctypes.byref(work), False)
    with pytest.raises(HostError, match="fault"):
        host.call("list_wait", ctypes.byref(work), 0)
    state = host.list_state()
    assert (state.ended, state.fault, state.runs) == (True, True, 3)
    assert host.state().fault
    with pytest.raises(HostError, match="not_loaded"):
        host.call("list_start", ctypes.byref(work), False)


def test_damaged_list_is_found(dense):
    host = dense.host(run_list=True)
    host.call("load", dense.network)
    work = prepare(dense, host, 2)
    host.write_word(work.address, 0x1234_5678)
    host.call("list_start", ctypes.byref(work), False)
    with pytest.raises(HostError, match="list"):
        host.call("list_wait", ctypes.byref(work), 0)
    assert host.error_address == work.address and host.list_state().error


class Endless(ModelBoard):
    """A board whose lists end only if they are stopped."""

    def _write(self, address, data):
        failed = super()._write(address, data)
        if address == RUN_LIST_BASE + 4:
            self.lists.data[4] = ListStatus.ENDED | ListStatus.STOPPED
        return failed

    def _walk(self, address):
        self.lists.data[4] = ListStatus.BUSY


def test_list_past_its_limit_is_stopped(dense):
    board = Endless(dense.isa, dense.preset, run_list=True)
    host = dense.host(board)
    host.call("load", dense.network)
    work = prepare(dense, host, 2)
    host.call("list_start", ctypes.byref(work), True)
    assert host.list_state().busy and board.log[-1][1] == (work.address | 1).to_bytes(4, "little")
    board_log = len(board.log)
    with pytest.raises(HostError, match="busy"):
        prepare_again = List()
        host.call("assume_loaded", dense.network)
        host.call("list_prepare", ctypes.byref(prepare_again), dense.network, 2, 0)
    with pytest.raises(HostError, match="aborted"):
        host.call("list_wait", ctypes.byref(work), 300)
    assert host.list_state().stopped
    stopped = [address for address, _ in board.log[board_log:]]
    assert stopped[-2:] == [RUN_LIST_BASE + 4, CONTROL_BASE + 0x10]


def test_start_from_flash_memory_is_waited_for(dense):
    """Nothing is written while the board reads its image; what it has told is in its state."""
    board = ModelBoard(dense.isa, dense.preset)
    board.soc.data[0x14] = 1
    looks, read = [], board._read

    def ready(address, length):
        if address == SOC_BASE + 0x14:
            looks.append(len(board.log))
            if len(looks) == 4:
                board.soc.data[0x14] = 2
        return read(address, length)

    board._read = ready
    host = dense.host(board)
    resident = ctypes.c_bool(True)
    host.call("ensure_loaded", dense.network, ctypes.byref(resident))
    assert not resident.value and looks[:4] == 4 * [0]
    host.call("ensure_loaded", dense.network, ctypes.byref(resident))
    assert resident.value
    board.soc.data[0x14] = 4 | 3 << 4
    state = host.boot()
    assert (state.busy, state.ready, state.refused, state.reason) == (False, False, True, 3)


def test_damaged_memory_is_found(dense):
    board = ModelBoard(dense.isa, dense.preset)
    host = dense.host(board)
    host.call("load", dense.network)
    place = dense.compiled.plan.core_steps[0].lowered.program_at
    board.memory.data[place + 5] ^= 1
    with pytest.raises(HostError, match="checksum"):
        host.call("assume_loaded", dense.network)
    assert host.error_address == place


@pytest.mark.parametrize(
    "isa, preset, size, status",
    [
        ("opu", "sim", 1 << 20, "no_core"),
        ("opentpu", "sim", 1 << 20, "other_build"),
        ("opentpu", "sim-ext", 4096, "memory"),
    ],
)
def test_board_that_cannot_run_it(dense, isa, preset, size, status):
    board = ModelBoard(isa, preset, size)
    with pytest.raises(HostError, match=status):
        dense.host(board).call("load", dense.network)
    assert not board.starts


@pytest.mark.parametrize("name", ['a"b*/\\ ??/ \u202e\n', "0", "int main(void)"])
def test_any_name_makes_a_header(name, tmp_path):
    """Names of networks and inputs come from a file: no text of theirs is C."""
    model = onnx.load(dense_network(tmp_path / "dense.onnx"))
    model.graph.name = model.graph.node[0].input[0] = model.graph.input[0].name = name
    onnx.save(model, tmp_path / "named.onnx")
    compile_model(tmp_path / "named.onnx", "model:opu?preset=sim").save(tmp_path / "plan")
    arguments = ["export", "--c", str(tmp_path / "plan"), "-o", str(tmp_path / "net.h")]
    assert main([*arguments, "--library"]) == 0
    command = ["cc", *WARNINGS, "-Wno-unused-const-variable", "-fsyntax-only", "net.h"]
    subprocess.run(command, cwd=tmp_path, check=True)


def test_numbers_saturate_and_round_to_even(dense):
    """As the compiler's ``Scale`` does it, half-way values and values out of range among them."""
    step = dense.compiled.plan.core_steps[0]
    (placed,) = step.lowered.inputs.values()
    scale = step.part.scales[placed.tensor]
    chance = np.random.default_rng(1)
    values = np.concatenate(
        [
            (np.arange(-8, 8) + 0.5) * scale.step,
            chance.normal(size=40) * scale.step * 100,
            [1e30, -1e30, np.inf, -np.inf, 0, -0.0, 1e-30, 127.4 * scale.step],
        ]
    ).astype("f4")
    assert values.size == np.prod(placed.layout.shape)
    numbers = np.zeros(values.size, "i1")
    dense._convert("quantise", "inputs", values, numbers)
    np.testing.assert_array_equal(numbers, scale.quantise(values))
    back = np.zeros(values.size, "f4")
    dense._convert("dequantise", "inputs", numbers, back)
    np.testing.assert_array_equal(back, scale.value(numbers).astype("f4"))


# The command


@pytest.fixture(scope="module")
def plan(dense, tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan") / "plan"
    dense.compiled.save(folder)
    return folder


def test_export_writes_the_library_beside_the_header(plan, tmp_path, capsys):
    out = tmp_path / "net.h"
    assert main(["export", "--c", str(plan), "-o", str(out), "--library", "--json"]) == 0
    files = [out, tmp_path / "quintet.h", tmp_path / "quintet.c"]
    assert json.loads(capsys.readouterr().out) == {
        "network": "digits",
        "symbol": "digits",
        "output": str(out),
        "files": [str(path) for path in files],
    }
    assert (tmp_path / "quintet.c").read_bytes() == (HOST / "quintet.c").read_bytes()
    use = tmp_path / "use.c"
    use.write_text('#include "net.h"\nconst void *used = &digits;\n')
    subprocess.run(["cc", *WARNINGS, "-c", "use.c", "quintet.c"], cwd=tmp_path, check=True)


def test_header_is_named_by_its_network(plan, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["export", "--c", str(plan)]) == 0
    assert (tmp_path / "digits.h").is_file()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["-o", "net.c"], "-o net.c: expected a name that ends in .h"),
        (["-o", "quintet.h", "--library"], "is the name of the library's own header"),
        (["-o", "no/net.h"], "no such folder: no"),
    ],
)
def test_bad_output(plan, arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["export", "--c", str(plan), *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    "model, isa, message",
    [
        ("mlp", "imagine", "digits_mlp: dense1.act run on the host in Python"),
        ("cnn", "pim", "digits: the plan is 3 programs that take turns"),
    ],
    ids=["host-step", "programs"],
)
def test_plans_that_are_not_one_program(model, isa, message, tmp_path, capsys):
    path = DIGITS / f"{model}.onnx"
    compile_model(path, f"model:{isa}?preset=sim", host_steps=True).save(tmp_path / "plan")
    assert main(["export", "--c", str(tmp_path / "plan"), "-o", str(tmp_path / "net.h")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "net.h").exists()
