# SPDX-License-Identifier: BSD-2-Clause
"""Kernels of IMAGine on the golden model: exact for any size, cycles by the formulas, everything
refused."""

from functools import partial

import numpy as np
import pytest

from quintet.gateware.cores.imagine.model import cycles
from quintet.gateware.cores.imagine.model.model import Model
from quintet.gateware.cores.imagine.params import SPACE, levels
from quintet.tools import Job, open_target
from quintet.tools.jobs.recognition import Recognition
from quintet.tools.jobs.runner import run_job
from quintet.tools.kernels.imagine import (
    KernelError,
    Layer,
    LSTMCell,
    Resident,
    Session,
    decode,
    from_fixed,
    streamed,
    to_fixed,
    write_job,
)


def params_of(rows=4, cols=2, reg_width=16, depth=1024):
    return SPACE.resolve(
        "sim", {"rows": rows, "cols": cols, "reg_width": reg_width, "depth": depth}
    )


def layer_of(height, *lengths, seed=1, fraction=4, width=16, bias=True, name="layer"):
    """Random weights over the whole range, so that sums wrap."""
    rng, half = np.random.default_rng(seed), 1 << width - 1
    return Layer(
        [rng.integers(-half, half, (height, n)) for n in lengths],
        rng.integers(-half, half, height) if bias else None,
        fraction=fraction,
        width=width,
        name=name,
    )


def vectors_of(layer, seed=2):
    rng, half = np.random.default_rng(seed), 1 << layer.width - 1
    return tuple(rng.integers(-half, half, n) for n in layer.lengths)


class Array:
    """A golden model that programs run on one after another."""

    def __init__(self, params):
        self.params, self.model = params, Model(params, np.zeros(64, np.uint8))

    def run(self, program):
        data = program.data
        memory = np.zeros((len(data) + program.output_bytes + 127) // 64 * 64, np.uint8)
        memory[: len(data)] = np.frombuffer(data, np.uint8)
        self.model.memory = memory
        outcome = self.model.run(
            {
                "program_length": len(data),
                "output_at": len(data),
                "output_limit": len(data) + program.output_bytes,
            }
        )
        assert outcome.status == "done"
        end = len(data) + program.output_bytes
        return decode(memory[len(data) : end].tobytes(), self.params["rows"])


@pytest.mark.parametrize(
    "params", [{}, {"rows": 3, "cols": 3}, {"reg_width": 8}, {"reg_width": 4}, {"cols": 1}], ids=str
)
@pytest.mark.parametrize(
    "height, lengths, bias",
    [(1, (1,), True), (9, (70,), True), (4, (32,), False), (5, (40, 7), True)],
)
@pytest.mark.parametrize("overlap", (True, False))
def test_resident_layers(params, height, lengths, bias, overlap):
    params = params_of(**params)
    layer = layer_of(height, *lengths, bias=bias, width=params["reg_width"])
    array, kept = Array(params), Resident([layer], params, overlap=overlap)
    assert len(array.run(kept.loader())) == 0
    for seed in range(3):
        x = vectors_of(layer, seed)
        assert (
            kept.results(0, array.run(kept.kernel(0, x))).tolist() == layer.reference(*x).tolist()
        )
    assert kept.results(0, array.run(kept.kernel(0))).tolist() == layer.reference(*x).tolist(), (
        "the vectors lie there still"
    )


def test_several_resident_layers():
    params = params_of()
    first, second = layer_of(9, 40, name="a"), layer_of(4, 9, seed=5, name="b", bias=False)
    array, kept = Array(params), Resident([first, second], params)
    array.run(kept.loader())
    for index, layer in ((0, first), (1, second), (0, first)):
        x = vectors_of(layer, index)
        assert (
            kept.results(index, array.run(kept.kernel(index, x))).tolist()
            == layer.reference(*x).tolist()
        )


@pytest.mark.parametrize("depth, passes", [(1024, 1), (512, 2), (256, 5), (128, 60)])
@pytest.mark.parametrize("batch", (1, 3))
def test_streamed_layers(depth, passes, batch):
    params = params_of(depth=depth)
    layer = layer_of(20, 70, 20)
    given = [vectors_of(layer, seed) for seed in range(batch)]
    made = streamed(layer, params, given)
    wanted = [layer.reference(*x).tolist() for x in given]
    assert made.results(Array(params).run(made.program)).tolist() == wanted
    assert (made.passes == passes) if depth >= 256 else made.passes > 5


def test_streamed_in_the_smallest_array():
    params = params_of(rows=1, cols=1, depth=128)
    layer = layer_of(3, 50, bias=False)
    made = streamed(layer, params, [vectors_of(layer)])
    assert (
        made.results(Array(params).run(made.program))[0].tolist()
        == layer.reference(*vectors_of(layer)).tolist()
    )


@pytest.mark.parametrize("width, rows, cols", [(16, 4, 2), (16, 16, 3), (8, 16, 4), (4, 16, 4)])
def test_cycles_of_a_kernel_are_the_formula(width, rows, cols):
    params = params_of(rows, cols, width)
    layer = layer_of(rows, 16 * cols, width=width, fraction=width // 2)
    kernel = Resident([layer], params, overlap=False).kernel(0)
    assert kernel.cycles == cycles.gemv(width, rows, cols)[1]


def test_tiled_kernels_overlap_their_shift_outs():
    params = params_of(16, 4)
    layer = layer_of(128, 256)
    plain, better = (
        Resident([layer], params, overlap=overlap).kernel(0).cycles for overlap in (False, True)
    )
    assert plain == cycles.tiled(16, 16, 4, 128, 256) - 1, "up to the last word"
    assert better < plain - 7 * 16


def test_recurrent_step():
    """Two products, their sum, all PEs, a bias."""
    params = params_of(16, 3)
    layer = layer_of(16, 48, 48)
    kernel = Resident([layer], params, overlap=False).kernel(0)
    assert kernel.cycles == 1383
    assert levels(3) == 2


# LSTM


def test_lstm_cell():
    rng, hidden, inputs, fraction = np.random.default_rng(3), 6, 10, 10
    w, u, b = (
        to_fixed(rng.normal(0, 0.5, shape), fraction, 16)
        for shape in ((24, inputs), (24, hidden), 24)
    )
    cell = LSTMCell(w, u, b, fraction=fraction)
    steps = [to_fixed(rng.normal(0, 1, inputs), fraction, 16) for _ in range(4)]
    with open_target("model:imagine?preset=up5k&depth=1024") as target:
        session = Session(target, [cell.layer])
        assert session.resident
        state = expected = cell.start()
        exact = cell.start()
        for x in steps:
            state = cell.step(lambda x, h: session.run(0, x, h), x, state)
            expected = cell.step(cell.layer.reference, x, expected)
            sums = from_fixed(w @ x + u @ exact[0], 2 * fraction) + from_fixed(b, fraction)
            exact = cell.host(sums * 2**fraction, exact[1])
    assert (state[0] == expected[0]).all() and (state[1] == expected[1]).all()
    assert np.abs(from_fixed(state[0] - exact[0], fraction)).max() < 0.05


# Targets and jobs


@pytest.mark.parametrize("preset, resident", [("25f", True), ("up5k", False)])
def test_a_session_on_a_target(preset, resident):
    layers = [layer_of(20, 64, name="a"), layer_of(10, 20, name="b")]
    with open_target(f"model:imagine?preset={preset}") as target:
        session = Session(target, layers)
        assert session.resident == resident
        for index, layer in enumerate(layers):
            x = vectors_of(layer, index)
            assert session.run(index, *x).tolist() == layer.reference(*x).tolist()
            batch = [vectors_of(layer, seed) for seed in range(3)]
            assert session.batch(index, batch).tolist() == [
                layer.reference(*x).tolist() for x in batch
            ]
            assert session.batch(index, [x[0] for x in batch]).tolist() == [
                layer.reference(*x).tolist() for x in batch
            ]
        assert session.counters["operations"] > 0


def test_a_job_gives_the_same(tmp_path):
    params = params_of(depth=256)
    layer = layer_of(9, 40)
    given = [vectors_of(layer, seed) for seed in range(2)]
    made = streamed(layer, params, given)
    path = write_job(tmp_path, "mine", made.program, comment="two vectors")
    with open_target("model:imagine?rows=4&cols=2&depth=256") as target:
        result = run_job(Job.load(path), target)
    y = result.tensors["mine_y.npy"]
    assert made.results(y[..., 0]).tolist() == [layer.reference(*x).tolist() for x in given]
    assert (
        (tmp_path / "mine.s")
        .read_text()
        .startswith("# two vectors\n.setupParams regCnt=14, regWidth=16, maxLevel=0, ")
    )


def test_resident_batches_are_refused_as_streamed_ones():
    with open_target("model:imagine?rows=4&cols=2") as target:
        session = Session(target, [layer_of(4, 4)])
        assert session.resident
        refused(lambda: session.batch(0, []), "layer: a batch of no vectors, expected at least one")
        refused(
            lambda: session.batch(0, [[1, 2, 3]]),
            "layer.input[0]: int64 [3], expected integers [4]",
        )
        refused(lambda: session.run(1, [1]), "layer's number is 1, expected an integer from 0 to 0")


@pytest.mark.parametrize("inputs", (1, 2))
def test_a_cell_runs_by_a_layer_of_a_session(inputs):
    """A session's ``run`` wants the layer's number first; x in its place is refused, whatever its
    size."""
    cell = LSTMCell(np.ones((4, inputs), int), np.ones((4, 1), int), None, fraction=0)
    x = np.ones(inputs, int)
    with open_target("model:imagine?rows=4&cols=2") as target:
        session = Session(target, [cell.layer])
        refused(
            lambda: cell.step(session.run, x, cell.start()),
            f"layer's number is {x!r}, expected an integer from 0 to 0",
        )
        state = cell.step(partial(session.run, 0), x, cell.start())
    assert state[0].tolist() == cell.step(cell.layer.reference, x, cell.start())[0].tolist()


def test_layers_of_one_name():
    """Their arrays are told apart in the texts."""
    layers = [layer_of(3, 5, seed=seed) for seed in (1, 2)]
    with open_target("model:imagine?rows=4&cols=2") as target:
        session = Session(target, layers)
        for index, layer in enumerate(layers):
            assert (
                session.resident
                and (
                    session.run(index, *vectors_of(layer)) == layer.reference(*vectors_of(layer))
                ).all()
            )


# Numbers and refusals


def test_fixed_point():
    assert to_fixed([0.3, -0.3, 9999, -9999], 4, 8).tolist() == [5, -5, 127, -128] and from_fixed(
        [5, -8], 4
    ).tolist() == [0.3125, -0.5]


def test_references_wrap_or_not():
    layer = Layer(np.array([[100, 100]]), np.array([50]), fraction=0, width=8)
    x = np.array([1, 1])
    assert layer.reference(x).tolist() == [-6] and layer.reference(x, wrap=False).tolist() == [250]


def cell_of_one():
    return LSTMCell(np.ones((4, 1), int), np.ones((4, 1), int), None, fraction=0)


def refused(call, message):
    with pytest.raises(KernelError) as error:
        call()
    assert str(error.value) == message


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: Layer(np.zeros((2, 2)), fraction=0),
            "layer.weights: float64 [2, 2], expected integers [rows, columns]",
        ),
        (
            lambda: Layer([], fraction=0),
            "weights of layer have no rows and columns, expected the same rows for every input",
        ),
        (
            lambda: Layer([np.ones((2, 2), int), np.ones((3, 2), int)], fraction=0),
            "weights of layer have (2, 2), (3, 2) rows and columns, expected the same rows for "
            "every input",
        ),
        (
            lambda: Layer(np.array([[200]]), fraction=0, width=8),
            "layer.weights[0, 0] is 200, expected an integer from -128 to 127",
        ),
        (
            lambda: Layer(np.array([[1]]), np.array([1, 2]), fraction=0),
            "layer.bias: int64 [2], expected integers [1]",
        ),
        (
            lambda: Layer(np.array([[1]]), np.array([[1]]), fraction=0),
            "layer.bias: int64 [1, 1], expected integers [1]",
        ),
        (
            lambda: Layer(np.array([[1]]), fraction=17),
            "fraction of layer is 17, expected an integer from 0 to 16",
        ),
        (
            lambda: Layer(np.array([[1]]), fraction=1, width=12),
            "width of layer is 12, expected 4, 8 or 16",
        ),
        (lambda: layer_of(1, 2).reference(), "layer takes 1 vectors, not 0"),
        (
            lambda: layer_of(1, 2).reference(np.array([1])),
            "layer.input[0]: int64 [1], expected integers [2]",
        ),
        (
            lambda: layer_of(1, 2).reference(np.array([1, 40000])),
            "layer.input[0][1] is 40000, expected an integer from -32768 to 32767",
        ),
        (lambda: Resident([], params_of()), "resident layers must have one fraction, not none"),
        (
            lambda: Resident([layer_of(1, 1), layer_of(1, 1, fraction=5, name="b")], params_of()),
            "resident layers must have one fraction, not 4 (layer), 5 (b)",
        ),
        (
            lambda: Resident([layer_of(1, 1)], params_of(reg_width=8)),
            "layer has width 16, the build reg_width 8",
        ),
        (
            lambda: Resident([layer_of(50, 50)], params_of(depth=256)),
            "layer: 43 registers for weights, biases and vectors, the build has 14 (use streamed)",
        ),
        (
            lambda: streamed(layer_of(1, 1), params_of(), []),
            "layer: a batch of no vectors, expected at least one",
        ),
        (
            lambda: streamed(layer_of(1, 99), params_of(depth=64), [vectors_of(layer_of(1, 99))]),
            "layer: the build has 2 registers, a layer needs 5",
        ),
        (
            lambda: layer_of(1, 2).reference([1, 0.5]),
            "layer.input[0][1] is 0.5, expected an integer from -32768 to 32767",
        ),
        (
            lambda: layer_of(1, 2, 3).reference([1, 2], [1, 2]),
            "layer.input[1]: int64 [2], expected integers [3]",
        ),
        (
            lambda: layer_of(1, 2).reference([]),
            "layer.input[0]: float64 [0], expected integers [2]",
        ),
        (
            lambda: layer_of(1, 2).reference([True, False]),
            "layer.input[0]: bool [2], expected integers [2]",
        ),
        (
            lambda: Layer([np.ones((1, 2), int), np.array([[1, 9]])], fraction=0, width=4),
            "layer.weights[1][0, 1] is 9, expected an integer from -8 to 7",
        ),
        (
            lambda: Layer(np.array([[1 << 63]], np.uint64), fraction=0),
            "layer.weights[0, 0] is 9223372036854775808, expected an integer from -32768 to 32767",
        ),
        (
            lambda: Layer(np.array([[1]]), fraction=1.5),
            "fraction of layer is 1.5, expected an integer from 0 to 16",
        ),
        (
            lambda: Layer(np.array([[1]]), fraction=1, width="a"),
            "width of layer is 'a', expected 4, 8 or 16",
        ),
        (
            lambda: Layer(np.array([[1]]), fraction=1, name="a b"),
            "layer 'a b': the name must be of letters, digits and _ . + - alone, and begin "
            "with a letter, a digit or _",
        ),
        (
            lambda: Resident([layer_of(1, 1)], params_of()).kernel(1),
            "layer's number is 1, expected an integer from 0 to 0",
        ),
        (
            lambda: LSTMCell(np.ones((6, 2), int), np.ones((6, 1), int), None, fraction=0),
            "weights of lstm have the shapes [6, 2] and [6, 1], expected [4*hidden, inputs] "
            "and [4*hidden, hidden]",
        ),
        (
            lambda: LSTMCell(np.ones((8, 2), int), np.ones((8, 1), int), None, fraction=0),
            "weights of lstm have the shapes [8, 2] and [8, 1], expected [4*hidden, inputs] "
            "and [4*hidden, hidden]",
        ),
        (
            lambda: cell_of_one().step(lambda x, h: [1], [1], cell_of_one().start()),
            "lstm.sums: [1], expected numbers [4]",
        ),
        (lambda: cell_of_one().host([1, 2, 3, 4], 5), "lstm.c: [], expected numbers [1]"),
        (
            lambda: cell_of_one().step(cell_of_one().layer.reference, [1], ([], [0.0])),
            "lstm.input[1]: float64 [0], expected integers [1]",
        ),
        (
            lambda: write_job("out", "a/b", []),
            "job 'a/b': the name must be of letters, digits and _ . + - alone, and begin with "
            "a letter, a digit or _",
        ),
        (
            lambda: write_job("out", "a", [], cycles=0),
            f"job a: cycles is 0, expected an integer from 1 to {1 << 63}",
        ),
        (
            lambda: write_job(
                "out", "a", Resident([layer_of(4, 4)], params_of()).loader(), labels=[1]
            ),
            "job a: there are labels, and no program has results",
        ),
        (lambda: decode(bytes(8), 4), "8 bytes that are no vectors of 4 results"),
        (lambda: decode(bytes(16), 4), "16 bytes that are no vectors of 4 results"),
    ],
)
def test_refusals(call, message):
    refused(call, message)


def test_refused_targets():
    with open_target("model:opu") as target:
        refused(lambda: Session(target, [layer_of(1, 1)]), "model:opu holds opu, not imagine")
    with open_target("model:imagine?rows=4&cols=2&depth=128") as target:
        refused(lambda: Session(target, []), "resident layers must have one fraction, not none")
        session = Session(target, [layer_of(400, 400)])
        refused(lambda: session.batch(0, []), "layer: a batch of no vectors, expected at least one")
        refused(
            lambda: session.batch(1, []), "layer's number is 1, expected an integer from 0 to 0"
        )
        refused(lambda: session.run(-1), "layer's number is -1, expected an integer from 0 to 0")
        target.info = type(target.info)(**{**target.info.as_dict(), "memory_size": 4096})
        with pytest.raises(
            KernelError,
            match=(
                r"^a program of \d+ bytes and 1600 of results do not fit the main memory of "
                r"model:"
            ),
        ):
            session.run(0, *vectors_of(layer_of(400, 400)))


def test_a_run_that_faults_is_refused():
    with open_target("model:imagine?rows=4&cols=2") as target:
        session = Session(target, [layer_of(4, 4)])
        target._values["window_limit"] = 64
        with pytest.raises(
            KernelError, match=r"the run ended fault: FaultReport\(code=5, name='program_window'"
        ):
            session.run(0, *vectors_of(layer_of(4, 4)))


@pytest.mark.parametrize(
    "preset, height, width, batch, order",
    [
        ("sim", 32, 9, 3, (0, 3, 1, 2)),
        ("up5k", 10, 8, 4, (0, 3, 1, 2)),
        ("up5k", 10, 400, 4, (1, 3, 0, 2)),
        ("up5k", 32, 64, 3, None),
    ],
)
def test_how_saved_results_lie(preset, height, width, batch, order):
    """A save's unpack gives the results, whichever way vectors and rows of tiles follow one
    another."""
    params = SPACE.resolve(preset)
    rng = np.random.default_rng(5)
    layer = Layer(rng.integers(-9, 9, (height, width)), fraction=4)
    program = streamed(layer, params, [(rng.integers(-9, 9, width),) for _ in range(batch)])
    unpack = program.unpack()
    if order is None:
        assert unpack is None
        return
    assert unpack["order"] == order
    saved = rng.integers(-999, 999, (program.program.vectors, params["rows"], 2))
    scores = Recognition(np.zeros(batch), **unpack).scores(saved)
    assert (scores == program.results(saved[..., 0])).all()
