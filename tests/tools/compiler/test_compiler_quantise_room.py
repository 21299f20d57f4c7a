# SPDX-License-Identifier: BSD-2-Clause
"""Room above what calibration saw: tensors of 16 bits have it, for inputs that are louder."""

import numpy as np
import pytest

from quintet.tools.compiler.backends.pim.backend import PIMBackend
from quintet.tools.compiler.planning import random_calibration
from quintet.tools.compiler.quantise import quantise
from quintet.tools.compiler.quantise.scales import Wish, choose_step
from quintet.tools.compiler.target_build import target_build
from tests.tools.compiler.networks import Builder


def input_scale(bits):
    build = target_build("model:pim", "sim")
    backend = PIMBackend(params=build.params, memory_size=build.memory_size)
    b = Builder("net", (40,), seed=3)
    b.dense(5)
    graph = backend.legalise(b.finish())
    values = random_calibration(graph)
    name = next(iter(values))
    made = quantise(graph, backend, {name: values[name] / np.abs(values[name]).max()}, bits=bits)
    return made.scales[graph.inputs[0].tensor]


@pytest.mark.parametrize("bits, least, most", [(16, 2.0, 2.0), (8, 0.2, 1.1)])
def test_inputs(bits, least, most):
    scale = input_scale(bits)
    assert least - 1e-3 <= scale.step * scale.high <= most + 1e-3


def test_results():
    sample = np.random.default_rng(1).normal(size=1000)
    greatest = np.abs(sample).max()

    def share(bits, **wishes):
        wish = Wish(bits, [sample])
        for name, value in wishes.items():
            setattr(wish, name, value)
        return choose_step(wish)[0] * wish.top / greatest

    assert 2 <= share(16) <= 4.001 and share(8) <= 1.051
    # What is asked for by name, or by a clip, is no matter of room.
    assert share(16, percentile=100) == pytest.approx(1)
    assert share(16, most=greatest / 2) == pytest.approx(0.5)
