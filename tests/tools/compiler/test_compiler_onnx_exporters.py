# SPDX-License-Identifier: BSD-2-Clause
"""Models as exporters write them, where these are installed: imported, and on every core as good as
the frameworks they come from."""

from functools import lru_cache

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from quintet.tools.compiler.backends import backend_names  # noqa: E402
from quintet.tools.compiler.fidelity import reference_tensors
from quintet.tools.compiler.partition import PartitionError  # noqa: E402
from quintet.tools.compiler.passes import simplify  # noqa: E402
from quintet.tools.compiler.planning import Options, compile_graph  # noqa: E402
from quintet.tools.compiler.results.accuracy import signal_to_noise  # noqa: E402
from quintet.tools.compiler.target_build import target_build  # noqa: E402
from quintet.tools.compiler.values import (
    check_inputs,  # noqa: E402
    from_graph,  # noqa: E402
)
from quintet.tools.compiler.verification import verify_plan  # noqa: E402
from quintet.tools.targets import open_target  # noqa: E402
from tests.tools.compiler.exported import NETWORKS, export  # noqa: E402
from tests.tools.compiler.onnx_models import check  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

#: What is left of some networks after the passes, whatever the exporter spelled: kinds of nodes.
KINDS = {
    "PyTorch: convolutions": ["conv", "depthwise", "activation", "maxpool", "dense", "softmax"],
    "PyTorch: residual": [
        "conv",
        "conv",
        "conv",
        "binary",
        "conv",
        "conv",
        "conv",
        "binary",
        "averagepool",
        "dense",
        "softmax",
    ],
    "PyTorch: depthwise": ["conv", "conv", "depthwise", "conv", "averagepool", "dense"],
    "PyTorch: sequence": ["reshape", "conv", "maxpool", "conv", "averagepool", "dense"],
    "PyTorch: lstm": ["lstm", "dense"],
    "PyTorch: gru": ["gru", "dense"],
    "Keras: convolutions": ["conv", "depthwise", "averagepool", "dense", "softmax"],
    "Keras: residual": [
        "conv",
        "depthwise",
        "conv",
        "binary",
        "maxpool",
        "averagepool",
        "dense",
        "softmax",
    ],
    "Keras: padded": ["conv", "depthwise", "dense"],
    "Keras: lstm": ["lstm", "dense", "activation"],
    "scikit-learn: perceptron 3": ["dense", "dense", "softmax", "reduce"],
}
#: Networks that a core refuses: IMAGine multiplies whole matrices.
REFUSED = {
    ("imagine", name)
    for name in NETWORKS
    if name.split(": ")[1] in ("convolutions", "depthwise", "padded") or name == "Keras: residual"
}
#: Least signal to noise against the framework's own results, dB.
LEAST = {"cherry": 42, "imagine": 45, "opentpu": 28, "opu": 28, "pim": 38}
#: Less of a network whose last layer, of random weights, cancels most of what it reads: each layer
#: before it has 35 dB in 8 bits.
CANCELS = {"tokens": 8}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """name -> (Exported, graph as imported), each made once."""

    @lru_cache(None)
    def made(name):
        folder = tmp_path_factory.mktemp("exported")
        found = export(name, folder)
        return found, check(found.model, folder)

    return made


@pytest.mark.parametrize("name", NETWORKS)
def test_import(exported, name):
    _, graph = exported(name)
    expected = KINDS.get(name.replace(" dynamo", ""))
    if expected:
        assert [node.kind for node in simplify(graph).nodes] == expected


@pytest.mark.parametrize("isa", backend_names())
@pytest.mark.parametrize("name", NETWORKS)
def test_core_gives_what_the_framework_does(exported, name, isa):
    made, graph = exported(name)
    build, port = target_build(f"ulx3s-85f/{isa}"), graph.inputs[0]
    try:
        plan = compile_graph(graph, build, {port.name: made.inputs}, Options(host_steps=True))
    except PartitionError as error:
        assert (isa, name) in REFUSED and all(
            "groups" in refusal.reason for refusal in error.refusals
        ), error
        return
    assert (isa, name) not in REFUSED and plan.core_steps
    inputs = check_inputs(plan.network, plan.inputs, {port.name: made.inputs})
    one = {tensor: array[:1] for tensor, array in inputs.items()}
    found = verify_plan(plan, one, "model", lambda: open_target(f"model:{isa}"), "reference", None)
    assert found.equal, found.difference
    values = reference_tensors(plan, inputs)[1]
    # A classifier of scikit-learn gives the class as well.
    results = [
        from_graph(port, values[port.tensor]).reshape(made.expected.shape)
        for port in plan.outputs
        if np.prod(port.shape) == made.expected[0].size
    ]
    assert signal_to_noise(made.expected, results[-1]) > LEAST[isa] - CANCELS.get(
        name.split(": ")[1], 0
    )
