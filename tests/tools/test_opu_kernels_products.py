# SPDX-License-Identifier: BSD-2-Clause
"""Products of two tensors that flow, on the OPU: positions as kernels, maps turned."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.tools.compiler.backends.opu.codegen import KernelError, Network
from tests.support.kernels_opu_support import build, check, random_values, random_weights

_SIDES = st.one_of(st.integers(1, 9), st.sampled_from((15, 16, 17, 63, 64, 65, 100, 128, 130)))


@st.composite
def networks(draw):
    """Both operands made by a layer or given; the second used as it is, or turned first."""
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    network = Network(
        draw(st.sampled_from(("8-8-16-16", "8-8-16-16", "8-8-32-32", "16-16-32-32"))),
        batch=draw(st.sampled_from((1, 1, 2))),
    )
    batched, turned = draw(st.booleans()), draw(st.booleans())
    matrices, rows, inner, columns = (
        draw(st.integers(1, 3)),
        draw(_SIDES),
        draw(_SIDES),
        draw(_SIDES),
    )

    def given(name, rows, channels):
        return network.input(
            name, (matrices, rows, channels) if batched else (rows, 1, channels), fraction=0
        )

    a, b = given("a", rows, inner), given("b", *((inner, columns) if turned else (columns, inner)))
    if draw(st.booleans()):
        a = network.conv(
            "made",
            a,
            random_weights(rng, inner, inner, 1, 1, most=100),
            weight_fraction=7,
            fraction=0,
        )
    if turned:
        b = network.turned("turned", b, batched=batched)
    b = network.conv(
        "kernel",
        b,
        np.eye(inner, dtype=int)[:, :, None, None],
        weight_fraction=0,
        fraction=0,
        full=True,
    )
    y = network.product("y", a, b, fraction=0, places=draw(st.integers(4, 12)), batched=batched)
    if draw(st.booleans()):
        y = network.identity("after", y, act="relu")
    network.output(*(layer.result for layer in network.layers))
    return network


@settings(max_examples=60, deadline=None)
@given(
    networks(),
    st.sampled_from(("85f", "85f", "sim", "up5k")),
    st.booleans(),
    st.integers(0, 1 << 20),
)
def test_products_give_what_numpy_says(network, preset, schedule, seed):
    params = build(preset) if network.types == "8-8-16-16" else build("85f", types=network.types)
    try:
        check(
            network,
            params,
            random_values(np.random.default_rng(seed), network),
            varied=False,
            schedule=schedule,
        )
    except KernelError as error:
        assert "this build has" in str(error), error
