# SPDX-License-Identifier: BSD-2-Clause
"""Models as exporters write them, where these are installed."""
import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
import onnx  # noqa: E402

from quintet.tools.compiler.passes import simplify  # noqa: E402
from tests.tools.compiler.onnx_models import check  # noqa: E402


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", ["perceptron", "logistic"])
def test_scikit_learns_classifiers(tmp_path, name, classes):
    pytest.importorskip("skl2onnx")
    from skl2onnx import to_onnx
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    random = np.random.default_rng(0)
    x, y = random.normal(size=(60, 5)).astype(np.float32), random.integers(0, classes, 60)
    last = MLPClassifier((8,), max_iter=30, random_state=0) if name == "perceptron" else LogisticRegression()
    trained = make_pipeline(StandardScaler(), last).fit(x, y)
    model = to_onnx(trained, x[:1], options={"zipmap": False}, target_opset={"": 17, "ai.onnx.ml": 3})
    check(model, tmp_path)


def test_scikit_learns_regressors(tmp_path):
    pytest.importorskip("skl2onnx")
    from skl2onnx import to_onnx
    from sklearn.linear_model import LinearRegression
    from sklearn.neural_network import MLPRegressor
    random = np.random.default_rng(0)
    x, y = random.normal(size=(60, 5)).astype(np.float32), random.normal(size=(60, 2))
    for model in (LinearRegression(), MLPRegressor((8,), max_iter=30, random_state=0)):
        check(to_onnx(model.fit(x, y), x[:1], target_opset={"": 17, "ai.onnx.ml": 3}), tmp_path)


@pytest.mark.parametrize("dynamo", [False, True])
@pytest.mark.parametrize("name", ["convolutions", "recurrent"])
def test_pytorchs_networks(tmp_path, name, dynamo):
    torch = pytest.importorskip("torch")
    if dynamo:
        pytest.importorskip("onnxscript")
    from torch import nn

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.out = nn.LSTM(5, 6, batch_first=True, bidirectional=True), nn.Linear(12, 3)

        def forward(self, x):
            return self.out(self.lstm(x)[0][:, -1])

    torch.manual_seed(0)
    if name == "convolutions":
        network, x = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU6(), nn.Conv2d(8, 8, 3, stride=2, groups=8), nn.Hardswish(),
                                   nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(), nn.Linear(8 * 3 * 3, 5), nn.LogSoftmax(1)), torch.zeros(1, 3, 15, 15)
    else:
        network, x = Recurrent(), torch.zeros(1, 7, 5)
    path = tmp_path / "torch.onnx"
    torch.onnx.export(network.eval(), (x,), str(path), dynamo=dynamo)
    graph = simplify(check(onnx.load(path), tmp_path))
    expected = {"convolutions": ["conv", "depthwise", "activation", "maxpool", "dense", "softmax"]}
    if name in expected:
        assert [node.kind for node in graph.nodes] == expected[name]


def test_kerass_networks(tmp_path):
    tensorflow = pytest.importorskip("tensorflow")
    tf2onnx = pytest.importorskip("tf2onnx")
    layers = tensorflow.keras.layers
    network = tensorflow.keras.Sequential([
        layers.Input((16, 16, 3)), layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False), layers.BatchNormalization(), layers.ReLU(6.0),
        layers.DepthwiseConv2D(3, padding="same"), layers.AveragePooling2D(), layers.Flatten(), layers.Dense(4, activation="softmax")])
    model, _ = tf2onnx.convert.from_keras(network, opset=13)
    graph = simplify(check(model, tmp_path))
    assert [node.kind for node in graph.nodes] == ["conv", "depthwise", "averagepool", "dense", "softmax"]
