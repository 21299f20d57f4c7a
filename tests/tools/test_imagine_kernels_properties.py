# SPDX-License-Identifier: BSD-2-Clause
"""Whatever IMAGine's kernel library accepts, the program gives bit for bit what the layer's
reference says; all else is refused."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.tools import Job, run_job
from quintet.tools.kernels.imagine import KernelError, Resident, Session, streamed, write_job
from quintet.tools.targets.model import ModelTarget
from tests.support.campaigns import Campaign
from tests.support.imagine_layer_maker import cell_of, layer_of, params_of, vectors_of

RANDOMS = st.randoms(use_true_random=False)


def target_of(params):
    given = {name: params[name] for name in ("rows", "cols", "reg_width", "depth")}
    return ModelTarget(isa="imagine", overrides=given, memory_size=4 << 20)


def check_layers(chance):
    """Layers one after the other in a session, in any order, single vectors and batches; resident
    or streamed."""
    params = params_of(chance)
    width = params["reg_width"] if chance.random() < 0.9 else chance.choice((4, 8, 16))
    fraction = chance.randint(0, width)
    layers = [
        layer_of(
            chance, width, chance.choice(("a", "b")), chance.choice((fraction, fraction, None))
        )
        for _ in range(chance.randint(1, 3))
    ]
    with target_of(params) as target:
        session = Session(target, layers)
        for _ in range(4):
            index = chance.randrange(len(layers))
            layer = layers[index]
            batch = [vectors_of(chance, layer) for _ in range(chance.randint(0, 3))]
            expected = [layer.reference(*vectors).tolist() for vectors in batch]
            try:
                if len(batch) == 1 and chance.random() < 0.5:
                    found = [session.run(index, *batch[0])]
                else:
                    found = session.batch(index, batch)
            except KernelError:
                assert not batch or not session.resident
                if batch:
                    return "refused"
                continue
            assert np.asarray(found).tolist() == expected and batch
        return "resident" if session.resident else "streamed"


def check_overlap_and_job(chance, folder):
    """The two orders of instructions, and the job that is written, give the same."""
    params = params_of(chance)
    layer = layer_of(chance, params["reg_width"])
    batch = [vectors_of(chance, layer) for _ in range(chance.randint(1, 2))]
    expected = [layer.reference(*vectors).tolist() for vectors in batch]
    try:
        if chance.random() < 0.5:
            made = streamed(layer, params, batch, overlap=chance.random() < 0.5)
            path = write_job(folder, "mine", made.program)
            names, results = ["mine_y.npy"], made.results
        else:
            kept = Resident([layer], params, overlap=chance.random() < 0.5)
            path = write_job(
                folder, "mine", [kept.loader(), *(kept.kernel(0, vectors) for vectors in batch)]
            )
            names = [f"mine_{k + 1}_y.npy" for k in range(len(batch))]
            results = lambda values: [kept.results(0, values)]  # noqa: E731
    except KernelError:
        return "refused"
    with target_of(params) as target:
        tensors = run_job(Job.load(path), target).tensors
    assert [
        row for name in names for row in np.asarray(results(tensors[name][..., 0])).tolist()
    ] == expected
    return "job"


def check_cell(chance):
    """Some steps of a cell, in the array and by its reference."""
    params = params_of(chance)
    cell, inputs = cell_of(chance, params["reg_width"])
    with target_of(params) as target:
        try:
            session = Session(target, [cell.layer])
            state = expected = cell.start()
            for _ in range(2):
                x = vectors_of(chance, cell.layer)[0]
                state = cell.step(lambda x, h: session.run(0, x, h), x, state)
                expected = cell.step(cell.layer.reference, x, expected)
                assert (
                    state[0].tolist() == expected[0].tolist()
                    and state[1].tolist() == expected[1].tolist()
                )
        except KernelError:
            return "refused"
    return "cell"


@settings(max_examples=40, deadline=None)
@given(RANDOMS)
def test_sessions_give_the_reference(chance):
    check_layers(chance)


@settings(max_examples=25, deadline=None)
@given(RANDOMS)
def test_cells_give_their_reference(chance):
    check_cell(chance)


@settings(max_examples=25, deadline=None)
@given(RANDOMS)
def test_jobs_give_the_reference(tmp_path_factory, chance):
    check_overlap_and_job(chance, tmp_path_factory.mktemp("job"))


@pytest.mark.parametrize(
    "check, wanted",
    [(check_layers, {"resident", "streamed", "refused"}), (check_cell, {"cell", "refused"})],
)
def test_the_maker_reaches_every_kind(check, wanted):
    assert {check(random.Random(seed)) for seed in range(14)} == wanted


@pytest.mark.long
def test_imagine_kernels_long(tmp_path):
    for seed in Campaign("imagine_kernels", 0.25).seeds("all"):
        check_layers(random.Random(seed))
        check_cell(random.Random(seed))
        check_overlap_and_job(random.Random(seed), tmp_path)
