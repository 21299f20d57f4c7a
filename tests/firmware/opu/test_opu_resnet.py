# SPDX-License-Identifier: BSD-2-Clause
"""The network of ResNet-20's shapes: size, values, programs of both kinds on the model, and the
jobs that ship."""

import numpy as np
import pytest

from quintet.firmware.opu.measure import resnet
from quintet.gateware.cores.opu.params import SPACE
from quintet.tools import Job, open_target, run_job
from quintet.tools.compiler.backends.opu.codegen.compiler import compile_network
from quintet.tools.compiler.backends.opu.reference import run_network
from quintet.tools.examples import FOLDER


def run(**options):
    """Every tensor of the network by name, by plain numpy."""
    network, values = resnet.resnet20(**options), {"image": resnet.image(**options)}
    found = run_network(network, values, [layer.result for layer in network.layers])
    return {tensor.name: numbers for tensor, numbers in found.items()}


def test_it_has_the_multiplications_of_resnet_20():
    network = resnet.resnet20()
    assert sum(layer.macs for layer in network.layers) == 40_817_280
    assert sum(layer.residual is not None for layer in network.layers) == 9
    assert len(network.layers) == 19 + 2 + 2


def test_folded_first_layer_gives_almost_the_same_values():
    network = resnet.resnet20(fold=True)
    assert sum(layer.macs for layer in network.layers) == 40_817_280
    plain = run()["first"]
    folded = run(fold=True)["first"]
    # Partial sums saturate at other taps.
    assert (plain == folded).mean() > 0.95


def test_values_are_neither_zero_nor_saturated():
    for name, found in run().items():
        if name != "classes":
            assert (found == 0).mean() < 0.7 and (np.abs(found) >= 127).mean() < 0.4, name


@pytest.mark.parametrize(
    "preset, name",
    [("85f", "resnet20"), ("45f", "resnet20"), ("25f", "resnet20"), ("85f", "resnet20_85f")],
)
def test_shipped_job(preset, name):
    with open_target(f"model:opu?preset={preset}") as target:
        result = run_job(Job.load(FOLDER / "opu" / "resnet" / f"{name}.toml"), target)
    assert result.outcome.status == "done"
    wanted = run()["classes"]
    assert np.array_equal(result.tensors[f"{name}_classes.npy"].ravel()[:10], wanted.ravel())


def test_layer_after_layer_has_one_tile_a_layer():
    compiled = compile_network(resnet.resnet20(), SPACE.resolve("85f-p64"), schedule=False)
    assert compiled.text.count("store ") == len(resnet.resnet20().layers)
    # Every map but those that only an average or a fully connected layer reads has a border.
    assert compiled.text.count("pad ") >= 18
