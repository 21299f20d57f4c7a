# SPDX-License-Identifier: BSD-2-Clause
"""Products of two tensors that flow, as in attention: on the machine, every tensor equal to the
reference, and close to the float network."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.gateware.cores import open_core
from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends import backend_class
from quintet.tools.compiler.backends.base import HOST
from quintet.tools.compiler.backends.pim.arithmetic import places_before
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.planning import Options, compile_graph, random_calibration
from quintet.tools.compiler.session import Session
from quintet.tools.compiler.target_build import target_build
from quintet.tools.compiler.verification import random_inputs, verify_plan
from quintet.tools.targets import open_target
from tests.tools.compiler.networks import Builder
from tests.tools.compiler.test_random_networks import check

MACHINES = ("opu", "opentpu", "pim")
BUILDS = (
    "opu?preset=85f",
    "opu?preset=up5k",
    "opentpu?preset=85f-8x8",
    "opentpu?preset=85f-8x8-conv",
    "pim?preset=85f",
    "pim?preset=up5k",
)


def head(rows, width, inner):
    """One head of attention: softmax(Q K') V, of layers of every step by itself."""
    made = Builder("head", (rows, width), 1)
    x = made.here
    made.dense(inner, steps=True)
    query = made.here
    made.here = x
    made.dense(inner, steps=True)
    key = made.here
    made.here = x
    made.dense(inner, steps=True)
    value = made.here
    scores = made.add(g.MatMul, query, made.add(g.Transpose, key, order=(1, 0)))
    made.add(g.MatMul, made.add(g.Softmax, scores), value)
    return made.finish()


@pytest.mark.parametrize("build", BUILDS)
def test_head_of_attention(build):
    graph = head(20, 12, 16)
    plan = compile_graph(
        graph,
        target_build(f"model:{build}"),
        calibration=random_calibration(graph),
        options=Options(host_steps=True),
    )
    on_machine = [node for step in plan.core_steps for node in step.part.graph.nodes]
    on_host = [
        node.kind for step in plan.steps if step not in plan.core_steps for node in step.graph.nodes
    ]
    assert sum(isinstance(node, g.MatMul) for node in on_machine) == 2
    assert on_host == ([] if build.startswith("pim") else ["softmax"])
    inputs = random_calibration(graph, count=8, seed=5)
    found = verify_plan(
        plan, inputs, "model", lambda: open_target(f"model:{build}"), "reference", None
    )
    assert found.equal, found.difference
    (exact,) = run_graph(graph, inputs).values()
    with Session(plan, open_target(f"model:{build}")) as session:
        got = session(inputs["input_0"])
    noise = 10 * np.log10((exact**2).sum() / ((got - exact) ** 2).sum())
    assert noise > (28 if "pim" in build else 22), noise


@pytest.mark.parametrize("isa", MACHINES)
@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 20),
    st.integers(1, 20),
    st.integers(1, 20),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2),
)
def test_shapes(isa, rows, inner, columns, turned, relu, matrices):
    matrices = matrices if isa != "opentpu" else 0
    front = (matrices,) * bool(matrices)
    made = Builder("product", (*front, rows, inner), 1)
    first, second = (
        made.here,
        made.input((*front, columns, inner) if turned else (*front, inner, columns)),
    )
    if turned:
        second = made.add(g.Transpose, second, order=(0, 2, 1) if matrices else (1, 0))
    made.add(g.MatMul, first, second)
    if relu:
        made.act("relu")
    seen = {}
    check(made.finish(), isa, seen)
    assert seen == {"equal": 1}


@pytest.mark.parametrize("isa", ("opu", "pim"))
def test_axes_swapped(isa):
    for shape, order in (((5, 70), (1, 0)), ((3, 6, 4), (0, 2, 1)), ((70, 3), (1, 0))):
        made = Builder("turned", shape, 1)
        made.act("relu")
        made.add(g.Transpose, order=order)
        made.act("neg") if isa == "opu" else made.act("relu")
        seen = {}
        check(made.finish(), isa, seen)
        assert seen == {"equal": 1}, (shape, seen)


@pytest.mark.parametrize("turned", [False, True])
def test_elements_of_eight_bits_on_pim(turned):
    """And of sixteen; in blocks of columns, since local memory holds no more."""
    made = Builder("widths", (6, 200), 1)
    made.act("relu")
    made.add(
        g.MatMul,
        made.here,
        made.add(g.Transpose, "input_0", order=(1, 0)) if turned else made.input((200, 90)),
    )
    graph = made.finish()
    for bits in (8, 16):
        plan = compile_graph(
            graph, target_build("model:pim?preset=sim"), options=Options(bits=bits)
        )
        found = verify_plan(
            plan, random_inputs(plan), "model", lambda: open_target("model:pim"), "reference", None
        )
        assert found.equal, found.difference


#: Preset, rows, summed elements, columns, whether the second operand is transposed: rows that are
#: too long for one sum or for local memory, in blocks of rows and columns.
LONG = [
    ("25f", 4, 4096, 4, False),
    ("25f", 3, 3136, 5, True),
    ("25f", 3, 513, 5, False),
    ("sim", 7, 1100, 9, False),
    ("hx8k-mini", 2, 301, 3, False),
]


@pytest.mark.parametrize("preset, rows, inner, columns, turned", LONG)
@pytest.mark.parametrize("bits", [8, 16])
def test_partial_sums_of_long_rows_on_pim_keep_their_accuracy(
    preset, rows, inner, columns, turned, bits
):
    made = Builder("long", (rows, inner), 1)
    second = made.input((columns, inner) if turned else (inner, columns))
    if turned:
        second = made.add(g.Transpose, second, order=(1, 0))
    made.add(g.MatMul, "input_0", second)
    graph, inputs = made.finish(), random_calibration(made.graph, 4)
    plan = compile_graph(
        graph, target_build(f"model:pim?preset={preset}"), inputs, Options(bits=bits)
    )

    def target():
        return open_target(f"model:pim?preset={preset}")

    found = verify_plan(plan, random_inputs(plan), "model", target, "reference", None)
    assert found.equal, found.difference
    assert len(plan.core_steps) == len(plan.steps)
    (exact,) = run_graph(graph, inputs).values()
    with Session(plan, target()) as session:
        got = session(*inputs.values())
    noise = 10 * np.log10((exact**2).sum() / ((got - exact) ** 2).sum())
    assert noise > (44 if bits == 16 else 30), noise


def test_places_that_pim_takes_before_sums_fit():
    for inner in (1, 2, 3, 4, 64, 65, 2047, 20000):
        for bits in (8, 16):
            before = places_before(inner, bits)
            assert inner * 2 ** (2 * bits - 2 - before) <= 2**31 and (
                before == 0 or inner * 2 ** (2 * bits - 1 - before) > 2**31
            )


@pytest.mark.parametrize(
    "isa, build, shapes, reason",
    [
        (
            "opu",
            {},
            ((2, 3), (2, 3, 4)),
            r"a product of shapes \(2, 3\) and \(2, 3, 4\): expected two matrices or equally many "
            r"pairs of them",
        ),
        ("pim", {}, ((3,), (3, 4)), r"a product of shapes \(3,\) and \(3, 4\)"),
        ("opentpu", {}, ((2, 3, 4), (2, 4, 3)), "2 products of matrices: expected one"),
        ("pim", {"max_biw": 16}, ((2, 3), (3, 2)), "sums want max_biw = 32, this build has 16"),
    ],
)
def test_refused(isa, build, shapes, reason):
    space = open_core(isa).params.SPACE
    backend = backend_class(isa)(
        params=space.resolve(space.default_preset, build), memory_size=1 << 24
    )
    made = Builder("refused", shapes[0], 1)
    made.add(g.MatMul, made.here, made.input(shapes[1]))
    found = backend.check_support(made.graph, made.graph.nodes[-1])
    assert found.answer == HOST and re.search(reason, found.reason), found
