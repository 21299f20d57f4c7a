# SPDX-License-Identifier: BSD-2-Clause
"""The C host on virtual boards that run by themselves: lists of runs, and networks that a board has
from its flash memory."""

import ctypes
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from quintet.firmware import digits
from quintet.gateware.isa.files import load_archive
from quintet.tools.compiler.api import Compiled, compile_model
from quintet.tools.compiler.planning import Options, compile_graph
from quintet.tools.compiler.session import Session
from quintet.tools.compiler.target_build import target_build
from quintet.tools.resident.image import plan_image
from quintet.tools.targets import open_target
from tests.firmware.host.library import CHost, HostError, List
from tests.firmware.host.test_host_networks import exported
from tests.tools.compiler.networks import NETWORKS

CALIBRATION = load_archive(digits.FOLDER / "digits.npz")["calibration"]
COUNT = 10
#: Most cycles between two runs of a list.
BETWEEN = 200


@pytest.fixture(scope="module")
def mlp():
    return compile_model(
        str(digits.FOLDER / "mlp.onnx"), "sim:ulx3s-85f/opu", calibration=CALIBRATION
    )


@contextmanager
def hosted(network, name, **times):
    """The C host of an exported network on a virtual board, and the board."""
    with open_target(name) as target:
        pipe = target.board.pipe
        yield CHost(network.loaded, pipe, timeout_ms=30_000, **times), target.board


def run_list(network, host, board, inputs):
    """Outputs of ``inputs`` by one list, and the cycles at which the core began and ended runs; the
    host is silent from the start of the list to its end."""
    work, edges = List(), []
    host.call("list_prepare", ctypes.byref(work), network.network, len(inputs), 0)
    for run, one in enumerate(inputs):
        numbers = network.numbers(one[None])
        pointers = (ctypes.c_void_p * 1)(ctypes.addressof(numbers))
        host.call("list_put", ctypes.byref(work), run, pointers)
    host.call("list_start", ctypes.byref(work), True)
    busy = False
    for _ in range(10_000_000):
        if board.busy != busy:
            busy = not busy
            edges.append(board.cycle)
        if len(edges) == 2 * len(inputs):
            break
        board.advance(4)
    assert board.waiting == 0, "the board has sent something by itself"
    host.call("list_wait", ctypes.byref(work), 10_000)
    state = host.list_state()
    assert state.ended and state.runs == len(inputs) and not state.fault and not state.error
    found = []
    for run in range(len(inputs)):
        results = network.buffer("outputs")
        pointers = (ctypes.c_void_p * 1)(ctypes.addressof(results))
        host.call("list_get", ctypes.byref(work), run, pointers)
        found.append(network.values(results))
    return np.concatenate(found), edges, work


def gaps(edges):
    """Cycles from the end of each run to the start of the next one."""
    return [begin - end for end, begin in zip(edges[1::2], edges[2::2], strict=False)]


def test_ten_inputs_without_a_byte_from_the_host(mlp, tmp_path):
    inputs = digits.images(COUNT)
    expected = Session(mlp.plan, open_target("model:opu"))(inputs)
    network = exported(tmp_path, mlp, "opu", flags=["-DQUINTET_OVERLAP"])
    with hosted(network, "sim:ulx3s-85f/opu?run_list=yes") as (host, board):
        host.call("load", network.network)
        found, edges, work = run_list(network, host, board, inputs)
        np.testing.assert_array_equal(found.reshape(expected.shape), expected.astype("f4"))
        assert work.overlapped
        # Plain runs before, behind and between lists.
        alone = network.infer(host, inputs[:1])
        np.testing.assert_array_equal(alone.reshape(1, -1), expected[:1].astype("f4"))
    # More than between ResNet-8's runs below, but far less than where copies stand between runs.
    (tmp_path / "plain").mkdir()
    network = exported(tmp_path / "plain", mlp, "opu")
    with hosted(network, "sim:ulx3s-85f/opu?run_list=yes") as (host, board):
        host.call("load", network.network)
        found, plain, work = run_list(network, host, board, inputs)
        np.testing.assert_array_equal(found.reshape(expected.shape), expected.astype("f4"))
    assert not work.overlapped and 2 * max(gaps(edges)) < min(gaps(plain)), gaps(plain)


def test_build_without_lists(mlp, tmp_path):
    network = exported(tmp_path, mlp, "opu")
    with hosted(network, "sim:ulx3s-85f/opu") as (host, _):
        host.call("load", network.network)
        work = List()
        with pytest.raises(HostError, match="no_lists"):
            host.call("list_prepare", ctypes.byref(work), network.network, 2, 0)
        assert not (boot := host.boot()).busy and not boot.ready and not boot.refused
        network.infer(host, digits.images(1))


@pytest.mark.long
def test_resnet_8_on_ten_inputs(tmp_path):
    graph = NETWORKS["resnet8"][0](0)
    # The softmax at the end is the host's.
    *graph.nodes, softmax = graph.nodes
    (output,) = graph.outputs
    graph.outputs = [replace(output, tensor=softmax.inputs[0])]
    port, random = graph.inputs[0], np.random.default_rng(1)
    given = {port.tensor: random.normal(0, 1, (4, *graph.shape(port.tensor)))}
    plan = compile_graph(graph, target_build("sim:ulx3s-85f/opu"), given, Options())
    inputs = random.normal(0, 1, (COUNT, *port.shape))
    with Session(plan, open_target("model:opu")) as session:
        numbers = session(inputs)
    network = exported(tmp_path, Compiled(plan), "opu", flags=["-DQUINTET_OVERLAP"])
    shown = np.stack([np.transpose(one, port.order) for one in inputs])
    with hosted(network, "sim:ulx3s-85f/opu?run_list=yes") as (host, board):
        host.call("load", network.network)
        found, edges, work = run_list(network, host, board, shown)
    np.testing.assert_array_equal(found.reshape(numbers.shape), numbers.astype("f4"))
    assert work.overlapped and max(gaps(edges)) <= BETWEEN, gaps(edges)


@pytest.mark.long
def test_network_from_flash_memory(tmp_path):
    """The header has no bytes: the library finds that the board holds the plan, writes an input,
    runs and reads; then ten inputs by a list."""
    compiled = compile_model(
        str(digits.FOLDER / "mlp.onnx"), "sim:icebreaker/opu", calibration=CALIBRATION
    )
    image = plan_image(compiled.plan)
    inputs = digits.images(COUNT)
    expected = Session(compiled.plan, open_target("model:opu"))(inputs).astype("f4")
    network = exported(tmp_path, compiled, "opu", flags=["-DQUINTET_RESIDENT", "-DQUINTET_OVERLAP"])
    for name, data in (("plan", image), ("other", image[:-9] + bytes(9))):
        (tmp_path / f"{name}.img").write_bytes(data)
    name = f"sim:icebreaker/opu?run_list=yes&boot={tmp_path}"
    with hosted(network, f"{name}/plan.img") as (host, board):
        resident = ctypes.c_bool()
        host.call("ensure_loaded", network.network, ctypes.byref(resident))
        boot = host.boot()
        assert resident.value and boot.ready and not boot.refused
        alone = network.infer(host, inputs[:1])
        np.testing.assert_array_equal(alone.reshape(1, -1), expected[:1])
        found, _, work = run_list(network, host, board, inputs)
        np.testing.assert_array_equal(found.reshape(expected.shape), expected)
        assert work.overlapped
