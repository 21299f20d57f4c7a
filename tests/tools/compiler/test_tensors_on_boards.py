# SPDX-License-Identifier: BSD-2-Clause
"""Networks that multiply tensors that flow, and recurrent ones, on virtual boards: every tensor of
every layer equal to the reference."""

import pytest

from quintet.tools.compiler.planning import Options, compile_graph, random_calibration
from quintet.tools.compiler.target_build import target_build
from quintet.tools.compiler.verification import verify_plan
from quintet.tools.targets import open_target
from tests.tools.compiler.networks import Builder
from tests.tools.compiler.test_products_of_tensors import head

pytestmark = pytest.mark.long


def verified(graph, target):
    plan = compile_graph(
        graph,
        target_build(target),
        calibration=random_calibration(graph),
        options=Options(host_steps=True),
    )
    found = verify_plan(
        plan,
        random_calibration(graph, count=2, seed=5),
        target,
        lambda: open_target(target),
        "reference",
        None,
    )
    assert found.equal, found.difference


@pytest.mark.parametrize("isa", ["opu", "opentpu", "pim"])
def test_attention(isa):
    verified(head(20, 12, 16), f"sim:ulx3s-85f/{isa}")


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_recurrent_layers_on_pim(kind):
    made = Builder("cell", (6, 10), 1)
    made.lstm(20) if kind == "lstm" else made.gru(20, linear_before_reset=True)
    made.dense(4)
    verified(made.finish(), "sim:ulx3s-85f/pim")
