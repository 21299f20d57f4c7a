# SPDX-License-Identifier: BSD-2-Clause
"""Whether a machine holds a network is known before it is quantised, and a dry run answers as a
compilation does."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("onnx")

from hypothesis import given, seed, settings
from hypothesis import strategies as st

from quintet.tools.compiler import planning
from quintet.tools.compiler.backends import backend_class, backend_names
from quintet.tools.compiler.backends.pim import backend as pim_backend
from quintet.tools.compiler.planning import Options, compile_graph, outline
from quintet.tools.compiler.quantise import quantise
from quintet.tools.compiler.quantise.quantiser import ValuesNeeded, placeholder
from quintet.tools.compiler.target_build import target_build
from quintet.tools.errors import InputError
from tests.tools.compiler.networks import Builder, graphs
from tests.tools.compiler.test_random_networks import _QUIET, build_of

#: Bytes of main memory that hold no program of the networks here with its tensors.
SMALL = 2048
#: What each core says of main memory that does not hold a network.
REFUSALS = {
    "cherry": r"it takes [\d,]+ bytes of main memory, there are 2,048: ",
    "imagine": r"the programs take [\d,]+ bytes of main memory, there are 2,048; the largest is ",
    "opentpu": r"the network takes (at least )?[\d,]+ bytes of main memory, there are 2,048; ",
    "opu": r"the program takes [\d,]+ bytes of main memory \(.*\), there are 2,048; largest map: ",
    "pim": r"the network takes [\d,]+ bytes of main memory, there are 2,048; program and weights ",
}


def layers(shape=(64,), outputs=64):
    """Two dense layers; more weights than :data:`SMALL` holds."""
    made = Builder("layers", shape, 1)
    made.dense(outputs)
    made.dense(outputs)
    return made.finish()


def small(isa):
    return replace(target_build(f"model:{isa}"), memory_size=SMALL)


@pytest.mark.parametrize("dry", (False, True), ids=("compile", "dry run"))
@pytest.mark.parametrize("isa", backend_names())
def test_main_memory_is_checked_before_anything_is_quantised(isa, dry, monkeypatch):
    monkeypatch.setattr(planning, "quantise", None)
    with pytest.raises(InputError, match=REFUSALS[isa]):
        compile_graph(layers(), small(isa), options=Options(dry=dry))


@pytest.mark.parametrize("isa", backend_names())
def test_inputs_of_a_run_are_checked_before_anything_is_quantised(isa, monkeypatch):
    """Where more inputs do not fit, that is known as well."""
    graph, build = layers(), target_build(f"model:{isa}")
    backend = backend_class(isa)(params=build.params, memory_size=build.memory_size)
    if all(backend.most_images(part) == 1 for _, part in outline(graph, build).segments):
        pytest.skip("this core takes one input a run")
    one = compile_graph(graph, build, options=Options(dry=True)).memory
    build = replace(build, memory_size=one + 1024)
    assert compile_graph(graph, build, options=Options(dry=True)).memory == one
    monkeypatch.setattr(planning, "quantise", None)
    with pytest.raises(InputError, match="bytes of"):
        compile_graph(graph, build, options=Options(images=64))


@pytest.mark.parametrize(
    "params, shape, layer, text",
    (
        (
            "opu?preset=85f&ifm_lines=16",
            (24, 24, 256),
            lambda made: made.conv(4, (7, 7)),
            r"conv_0 .* this build has ifm_lines = 16",
        ),
        (
            "pim?preset=85f&bias_words=0",
            (700,),
            lambda made: made.dense(4),
            r"dense_0 .* takes 11 arrays, 4 biases .* there are 4 x 16 of 64 x 64, 0 biases",
        ),
    ),
    ids=("opu", "pim"),
)
def test_what_a_core_holds_is_checked_before_anything_is_quantised(
    params, shape, layer, text, monkeypatch
):
    made = Builder("net", shape, 1)
    layer(made)
    monkeypatch.setattr(planning, "quantise", None)
    # Smaller layers, of which the message names the largest, are searched for.
    monkeypatch.setattr(planning, "_with_largest", lambda error, *_: error)
    # A layer by itself is looked at before fused layers are searched for.
    monkeypatch.setattr(pim_backend, "choose_fused", None)
    with pytest.raises(InputError, match=text):
        compile_graph(made.finish(), target_build(f"model:{params}"))


@pytest.mark.parametrize("isa", backend_names())
def test_a_dry_run_answers_as_a_compilation(isa):
    @seed(11)
    @settings(max_examples=25, database=None, derandomize=False, **_QUIET)
    @given(graphs(most=4), st.sampled_from((SMALL, 1 << 14, 1 << 25)), st.booleans())
    def run(graph, memory, host_steps):
        build, answers = replace(build_of(isa), memory_size=memory), []
        for dry in (False, True):
            try:
                plan = compile_graph(graph, build, options=Options(host_steps=host_steps, dry=dry))
            except InputError as error:
                # Sizes of programs differ by a few words.
                answers.append("".join(c for c in str(error) if not c.isdigit() and c != ","))
            else:
                answers.append([step.names for step in plan.steps])
        assert answers[0] == answers[1]

    run()


@pytest.mark.parametrize("isa", backend_names())
def test_placeholder_numbers_are_those_of_the_quantiser_but_for_values(isa):
    @seed(5)
    @settings(max_examples=25, database=None, derandomize=False, **_QUIET)
    @given(graphs(most=4))
    def run(graph):
        try:
            made = outline(graph, build_of(isa), Options(host_steps=True))
        except InputError:
            return
        for machine, part in made.segments:
            if not machine:
                continue
            try:
                rough = placeholder(part, made.backend)
            except (InputError, ValuesNeeded):
                continue
            inputs = {
                port.tensor: np.random.default_rng(1).normal(size=(4, *part.shape(port.tensor)))
                for port in part.inputs
            }
            exact = quantise(part, made.backend, inputs)
            assert {name: scale.bits for name, scale in rough.scales.items()} == {
                name: scale.bits for name, scale in exact.scales.items()
            }
            assert list(rough.layers) == list(exact.layers)
            for name, numbers in exact.layers.items():
                for field in ("weights", "bias", "shift", "bias_shift", "recurrent"):
                    mine, theirs = getattr(rough.layers[name], field), getattr(numbers, field)
                    assert np.shape(mine) == np.shape(theirs), (name, field)

    run()
