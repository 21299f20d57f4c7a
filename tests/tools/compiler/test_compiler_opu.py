# SPDX-License-Identifier: BSD-2-Clause
"""OPU's back end: what it lowers gives on the golden model, tensor by tensor, what its reference says."""
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.tools.compiler.networks import graphs
from tests.tools.compiler.opu_runs import backend, check, random_inputs, running_part, whole_numbers

_MAPS = st.tuples(st.integers(1, 9), st.integers(1, 9), st.sampled_from((1, 3, 16, 20, 33, 64, 70)))
_SEQUENCES = st.one_of(st.tuples(st.integers(1, 40)), st.tuples(st.integers(1, 6), st.integers(1, 20)))
_RUN = ("conv", "depthwise", "grouped", "dense", "dense_steps", "add", "sub", "mul", "affine", "maxpool", "averagepool", "globalaverage",
        "reduce", "reshape", "concat", "pad", "slice", "relu", "clip", "neg", "abs")


@settings(max_examples=60, deadline=None)
@given(graphs(_RUN, st.one_of(_MAPS, _SEQUENCES), elements=6000), st.sampled_from(("85f", "85f-p64", "45f", "25f")), st.booleans(),
       st.integers(0, 1 << 30))
def test_random_graphs(graph, preset, keep, seed):
    machine = backend(preset)
    part = running_part(graph, machine)
    assume(part is not None)
    check(whole_numbers(part, machine, seed), machine, random_inputs(part, 2, seed), keep=keep)
