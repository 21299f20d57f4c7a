# SPDX-License-Identifier: BSD-2-Clause
"""The images of the digits, their split and their float network."""

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from quintet.firmware import digits
from quintet.firmware.digits import cnn, model, training
from quintet.firmware.opentpu import digits as opentpu
from quintet.gateware.cores.opentpu.params import SPACE
from quintet.tools import Job


def test_at_least_thirty_percent_held_out():
    assert len(digits.labels()) == digits.IMAGES >= 0.3 * 1797
    assert (
        digits.images().shape == (540, 64)
        and digits.images().max() == 16
        and digits.images(7).shape == (7, 64)
    )
    assert (digits.images()[:, 0] == 0).all()  # the pixel that carries the constant
    assert list(digits.with_bias(np.full((1, 64), 16))[0, :3]) == [127, 16, 16]


def test_results():
    scores = np.eye(10)[digits.labels(20)]
    scores[3] = 0
    found = digits.result(scores)
    assert (found.total, found.correct) == (
        20,
        20 - int(digits.labels()[3] != 0),
    ) and found.accuracy == found.correct / 20
    assert digits.float_accuracy() == 531 / 540


def test_held_out_images_are_those_of_the_split():
    sklearn = pytest.importorskip("sklearn.datasets")
    data = sklearn.load_digits()
    (images, _), (test, answers), held = training.split(data.data.astype(np.int64), data.target)
    assert np.array_equal(test, digits.images()) and np.array_equal(answers, digits.labels())
    assert len(images) + len(held) == 1797


def test_source_and_licence_stand_beside():
    text = (digits.FOLDER / "SOURCE.md").read_text()
    assert "CC BY 4.0" in text and "UCI" in text


def test_training_script(tmp_path, capsys):
    """A short training already gives a usable network, in the form that ships."""
    pytest.importorskip("sklearn")
    out = tmp_path / "digits.npz"
    training.main(["--out", str(out), "--seeds", "1", "--epochs", "15"])
    assert float(capsys.readouterr().out.split("held out ")[1][:6]) > 0.9
    with np.load(out) as new, np.load(digits.FOLDER / "digits.npz") as shipped:
        assert new.files == shipped.files
        assert all(
            new[k].shape == shipped[k].shape and new[k].dtype == shipped[k].dtype for k in new.files
        )
        assert all(np.array_equal(new[k], shipped[k]) for k in ("images", "labels", "held_out"))


def test_training_of_the_cnn(tmp_path, capsys):
    """A short training already gives a usable network, in the form that ships."""
    pytest.importorskip("sklearn")
    out = tmp_path / "cnn.onnx"
    cnn.main(["--out", str(out), "--epochs", "4"])
    assert float(capsys.readouterr().out.split("held out: ")[1][:6]) > 0.85
    new, shipped = (onnx.load(path).graph for path in (out, digits.FOLDER / "cnn.onnx"))
    assert [node.SerializeToString() for node in new.node] == [
        node.SerializeToString() for node in shipped.node
    ]
    assert [(one.name, list(one.dims)) for one in new.initializer] == [
        (one.name, list(one.dims)) for one in shipped.initializer
    ]


def test_the_models_that_ship_recognise_the_digits():
    for name, correct in (("cnn", 535), ("mlp", 531)):
        session = ReferenceEvaluator(str(digits.FOLDER / f"{name}.onnx"))
        [scores] = session.run(None, {"pixels": digits.images().astype(np.float32)})
        assert digits.result(scores).correct == correct


def test_the_mlps_are_those_of_their_weights(tmp_path):
    model.main(["--out", str(tmp_path)])
    for name in ("mlp.onnx", "mlp_plain.onnx"):
        assert (tmp_path / name).read_bytes() == (digits.FOLDER / name).read_bytes()


def test_gradients_are_those_of_the_loss():
    rng = np.random.default_rng(1)
    network = {
        name: [rng.normal(0, 0.3, shape), rng.normal(0, 0.1, shape[0])]
        for name, shape in cnn.LAYERS.items()
    }
    images, weights = rng.random((3, 8, 8, 1)), rng.normal(0, 1, (3, 10))

    def loss():
        return float((cnn.forward(network, images)["dense2"] * weights).sum())

    slopes = cnn._backward(network, cnn.forward(network, images), weights)
    for name in cnn.LAYERS:
        for k in (0, 1):
            flat = network[name][k].ravel()
            for index in rng.integers(0, flat.size, 4):
                before = flat[index]
                flat[index] = before + 1e-5
                high = loss()
                flat[index] = before - 1e-5
                low = loss()
                flat[index] = before
                assert slopes[name][k].ravel()[index] == pytest.approx(
                    (high - low) / 2e-5, rel=1e-3, abs=1e-6
                )


def test_a_job_of_a_build_of_other_sizes_says_what_it_recognised(tmp_path):
    path = opentpu.make_job(tmp_path, SPACE.resolve("sim", {"n": 6, "ub_rows": 512}))
    [save] = Job.load(path).saves
    assert digits.evaluate(
        path, np.zeros(save.shape, save.dtype)
    ).total == 540 and save.recognition.shape == (2, 540, 6)
