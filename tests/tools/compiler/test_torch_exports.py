# SPDX-License-Identifier: BSD-2-Clause
"""Well-known networks as PyTorch exports them, on every core that runs all of their layers."""

from functools import lru_cache

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from quintet.tools.compiler.backends import backend_names  # noqa: E402
from quintet.tools.compiler.fidelity import reference_tensors
from quintet.tools.compiler.planning import Options, compile_graph  # noqa: E402
from quintet.tools.compiler.results.accuracy import signal_to_noise  # noqa: E402
from quintet.tools.compiler.target_build import target_build  # noqa: E402
from quintet.tools.compiler.values import (
    check_inputs,  # noqa: E402
    from_graph,  # noqa: E402
)
from quintet.tools.compiler.verification import verify_plan  # noqa: E402
from quintet.tools.targets import open_target  # noqa: E402
from tests.tools.compiler.onnx_models import check, run_there  # noqa: E402
from tests.tools.compiler.torch_exports import NETWORKS, export  # noqa: E402

#: Network -> the cores that run it without host steps beyond its first and last layers. IMAGine has
#: the host between its layers by design.
CORES = {
    "mobilenet_v2": ("cherry", "opentpu", "opu", "pim"),
    "squeezenet": ("cherry", "imagine", "opentpu", "opu", "pim"),
    "shufflenet_v2": ("cherry", "opentpu", "opu", "pim"),
    "efficientnet_lite_block": ("cherry", "opentpu", "opu", "pim"),
    "unet": ("cherry", "imagine", "opentpu", "opu", "pim"),
    "super_resolution": ("cherry", "imagine", "opentpu", "opu", "pim"),
    "tcn": ("cherry", "imagine", "opentpu", "opu", "pim"),
    "crnn": ("cherry", "imagine", "pim"),
    "keyword_transformer": ("cherry", "imagine", "pim"),
    "tiny_yolo": ("cherry", "opentpu", "opu", "pim"),
    "conv_autoencoder": ("cherry", "imagine", "opentpu", "opu", "pim"),
}
#: Least signal to noise against onnxruntime, dB.
LEAST = {"cherry": 40, "imagine": 25, "opentpu": 25, "opu": 25, "pim": 25}
INPUTS = 16


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """name -> (graph, name of its input, inputs, onnxruntime's results), each made once."""

    @lru_cache(None)
    def made(name):
        network = export(name)
        model = network.model()
        graph = check(model, tmp_path_factory.mktemp("exported"))
        port = graph.inputs[0]
        inputs = np.random.default_rng(3).normal(size=(INPUTS, *network.shape)).astype(np.float32)
        expected = [
            run_there(model, {port.name: inputs[at : at + 1]})["output"].ravel()
            for at in range(INPUTS)
        ]
        return graph, port.name, inputs, np.stack(expected)

    return made


def on_core(exported, name, isa, options):
    """A network on a core: its golden model equals the reference, which is near onnxruntime."""
    graph, port, images, expected = exported(name)
    plan = compile_graph(graph, target_build(f"ulx3s-85f/{isa}"), {port: images}, options)
    assert plan.core_steps
    inputs = check_inputs(plan.network, plan.inputs, {port: images})
    one = {tensor: array[:1] for tensor, array in inputs.items()}
    found = verify_plan(plan, one, "model", lambda: open_target(f"model:{isa}"), "reference", None)
    assert found.equal, found.difference
    values = reference_tensors(plan, inputs)[1]
    result = from_graph(plan.outputs[0], values[plan.outputs[0].tensor])
    ratio = signal_to_noise(expected, result.reshape(expected.shape))
    assert ratio >= LEAST[isa], (name, isa, ratio)


def test_every_network_runs_on_cores_alone():
    assert CORES.keys() == NETWORKS.keys()
    assert all(len(cores) >= 3 for cores in CORES.values())


@pytest.mark.parametrize(
    "name, isa", [(name, isa) for name, cores in CORES.items() for isa in cores]
)
def test_on_the_core_alone(exported, name, isa):
    on_core(exported, name, isa, Options())


@pytest.mark.long
@pytest.mark.parametrize(
    "name, isa",
    [(name, isa) for name, cores in CORES.items() for isa in backend_names() if isa not in cores],
)
def test_with_host_steps(exported, name, isa):
    on_core(exported, name, isa, Options(host_steps=True))
