# SPDX-License-Identifier: BSD-2-Clause
"""Networks of other frameworks, written as ONNX by their own exporters, with the frameworks' own
results for some inputs."""

import os
from dataclasses import dataclass
from functools import partial

import numpy as np
import onnx
import pytest

__all__ = ["NETWORKS", "Exported", "export"]

#: Inputs that a network is calibrated with and judged by.
_INPUTS = 24


@dataclass
class Exported:
    """``model`` as the exporter wrote it; ``inputs`` [count, ...] as the model takes them;
    ``expected`` of the framework, [count, ...]."""

    model: object
    inputs: np.ndarray
    expected: np.ndarray


def _inputs(*shape):
    return np.random.default_rng(3).normal(size=(_INPUTS, *shape)).astype(np.float32)


# PyTorch


def _torch_networks(torch):
    """Name -> (module, shape of an input)."""
    from torch import nn

    def normed(*layers):
        return nn.Sequential(
            *(
                part
                for layer in layers
                for part in (
                    (layer, nn.BatchNorm2d(layer.out_channels))
                    if isinstance(layer, nn.Conv2d)
                    else (layer,)
                )
            )
        )

    class Residual(nn.Module):
        def __init__(self, body, beside=None):
            super().__init__()
            self.body, self.beside = body, beside or nn.Identity()

        def forward(self, x):
            return torch.relu(self.body(x) + self.beside(x))

    class Recurrent(nn.Module):
        def __init__(self, kind, out, **options):
            super().__init__()
            self.layer, self.out = kind(5, 6, batch_first=True, **options), nn.Linear(out, 3)

        def forward(self, x):
            return self.out(self.layer(x)[0][:, -1])

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.norm = (
                nn.Linear(8, 8),
                nn.Linear(8, 8),
                nn.Linear(8, 8),
                nn.LayerNorm(8),
            )

        def forward(self, x):
            weights = torch.softmax(self.q(x) @ self.k(x).transpose(1, 2) / 8**0.5, -1)
            return self.norm(x + weights @ self.v(x))

    class Tokens(nn.Module):
        """A vision transformer of one layer."""

        def __init__(self):
            super().__init__()
            self.pieces, self.layer, self.out = (
                nn.Conv2d(3, 8, 4, 4),
                nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True),
                nn.Linear(8, 3),
            )
            self.token, self.place = (
                nn.Parameter(torch.randn(1, 1, 8)),
                nn.Parameter(torch.randn(1, 10, 8)),
            )

        def forward(self, x):
            x = self.pieces(x).flatten(2).transpose(1, 2)
            return self.out(
                self.layer(torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.place)[
                    :, 0
                ]
            )

    def conv(*sizes, **options):
        return nn.Conv2d(*sizes, bias=False, **options)

    return {
        "convolutions": (
            nn.Sequential(
                *normed(conv(3, 8, 3, padding=1), nn.ReLU6(), conv(8, 8, 3, stride=2, groups=8)),
                nn.Hardswish(),
                nn.MaxPool2d(2),
                nn.Flatten(),
                nn.Dropout(),
                nn.Linear(8 * 3 * 3, 5),
                nn.LogSoftmax(1),
            ),
            (3, 15, 15),
        ),
        "residual": (
            nn.Sequential(
                normed(conv(3, 8, 3, padding=1)),
                nn.ReLU(),
                Residual(normed(conv(8, 8, 3, padding=1), nn.ReLU(), conv(8, 8, 3, padding=1))),
                Residual(
                    normed(
                        conv(8, 16, 3, stride=2, padding=1), nn.ReLU(), conv(16, 16, 3, padding=1)
                    ),
                    normed(conv(8, 16, 1, stride=2)),
                ),
                nn.AdaptiveAvgPool2d(1),
                nn.Flatten(),
                nn.Linear(16, 4),
                nn.Softmax(1),
            ),
            (3, 8, 8),
        ),
        "depthwise": (
            nn.Sequential(
                normed(
                    conv(3, 8, 3, stride=2, padding=1),
                    nn.ReLU6(),
                    conv(8, 16, 1),
                    nn.ReLU6(),
                    conv(16, 16, 3, padding=1, groups=16),
                    nn.ReLU6(),
                    conv(16, 8, 1),
                ),
                nn.AvgPool2d(2),
                nn.Flatten(),
                nn.Linear(8 * 16, 5),
            ),
            (3, 16, 16),
        ),
        "sequence": (
            nn.Sequential(
                nn.Conv1d(4, 8, 3, padding=1),
                nn.BatchNorm1d(8),
                nn.ReLU(),
                nn.MaxPool1d(2),
                nn.Conv1d(8, 8, 3, dilation=2),
                nn.AdaptiveAvgPool1d(1),
                nn.Flatten(),
                nn.Linear(8, 3),
            ),
            (4, 20),
        ),
        "slopes": (
            nn.Sequential(
                *normed(conv(3, 8, 3, padding=1), nn.LeakyReLU(0.1), conv(8, 8, 3, padding=1)),
                nn.PReLU(),
                nn.MaxPool2d(3, 2, 1),
                nn.Flatten(),
                nn.Linear(8 * 16, 5),
            ),
            (3, 8, 8),
        ),
        "tokens": (Tokens(), (3, 12, 12)),
        "lstm": (Recurrent(nn.LSTM, 6), (7, 5)),
        "lstm both ways": (Recurrent(nn.LSTM, 12, bidirectional=True), (7, 5)),
        "gru": (Recurrent(nn.GRU, 6), (7, 5)),
        "attention": (Attention(), (6, 8)),
        "transformer": (
            nn.Sequential(
                nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
                nn.Flatten(),
                nn.Linear(48, 3),
            ),
            (6, 8),
        ),
    }


def _torch(name, folder, dynamo):
    torch = pytest.importorskip("torch")
    if dynamo:
        pytest.importorskip("onnxscript")
    torch.manual_seed(0)
    network, shape = _torch_networks(torch)[name]
    network.eval()
    for layer in network.modules():
        # Statistics of a network that has learnt something.
        if isinstance(layer, torch.nn.BatchNorm1d | torch.nn.BatchNorm2d):
            layer.running_mean.normal_(0, 0.3)
            layer.running_var.uniform_(0.5, 2)
    x, path = _inputs(*shape), folder / "network.onnx"
    torch.onnx.export(network, (torch.from_numpy(x[:1]),), str(path), dynamo=dynamo)
    with torch.no_grad():
        return Exported(onnx.load(path), x, network(torch.from_numpy(x)).numpy())


# Keras


def _keras_networks(keras):
    layers = keras.layers

    def sequential(shape, *parts):
        return keras.Sequential([layers.Input(shape), *parts])

    def residual():
        source = keras.Input((16, 16, 3))
        x = layers.ReLU()(
            layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same", use_bias=False)(source))
        )
        x = layers.Add()(
            [x, layers.BatchNormalization()(layers.SeparableConv2D(8, 3, padding="same")(x))]
        )
        x = layers.GlobalAveragePooling2D()(layers.MaxPooling2D()(layers.ReLU(6.0)(x)))
        return keras.Model(source, layers.Dense(4, activation="softmax")(x))

    return {
        "convolutions": lambda: sequential(
            (16, 16, 3),
            layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(6.0),
            layers.DepthwiseConv2D(3, padding="same"),
            layers.AveragePooling2D(2),
            layers.Flatten(),
            layers.Dropout(0.3),
            layers.Dense(4, activation="softmax"),
        ),
        "residual": residual,
        "padded": lambda: sequential(
            (15, 15, 3),
            layers.ZeroPadding2D(((0, 1), (0, 1))),
            layers.Conv2D(8, 3, strides=2, activation="relu"),
            layers.DepthwiseConv2D(3, strides=2, padding="same"),
            layers.LeakyReLU(negative_slope=0.125),
            layers.Flatten(),
            layers.Dense(4),
        ),
        "lstm": lambda: sequential((7, 5), layers.LSTM(6), layers.Dense(3, activation="tanh")),
        "lstm both ways": lambda: sequential(
            (7, 5),
            layers.Bidirectional(layers.LSTM(6)),
            layers.LayerNormalization(),
            layers.Dense(3),
        ),
    }


def _keras(name, folder):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tensorflow = pytest.importorskip("tensorflow")
    tf2onnx = pytest.importorskip("tf2onnx")
    keras = tensorflow.keras
    keras.utils.set_random_seed(0)
    network = _keras_networks(keras)[name]()
    x = _inputs(*network.input_shape[1:])
    # tf2onnx knows the functions of TensorFlow, not all classes of Keras.
    traced, signature = (
        tensorflow.function(lambda x: network(x, training=False)),
        [tensorflow.TensorSpec((None, *x.shape[1:]), tensorflow.float32, name="x")],
    )
    model, _ = tf2onnx.convert.from_function(traced, input_signature=signature, opset=17)
    return Exported(model, x, np.asarray(network(x, training=False)))


# scikit-learn


def _sklearn(name, folder):
    pytest.importorskip("sklearn")
    pytest.importorskip("skl2onnx")
    from skl2onnx import to_onnx
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    random, x = np.random.default_rng(0), _inputs(5)
    kind, classes = name.rsplit(" ", 1)
    last = {
        "perceptron": MLPClassifier((8,), max_iter=30, random_state=0),
        "logistic": LogisticRegression(),
        "linear": LinearRegression(),
        "perceptron regressor": MLPRegressor(hidden_layer_sizes=(8,), max_iter=30, random_state=0),
    }[kind]
    classifies = hasattr(last, "predict_proba")
    y = (
        random.integers(0, int(classes), _INPUTS)
        if classifies
        else random.normal(size=(_INPUTS, int(classes)))
    )
    trained = make_pipeline(StandardScaler(), last).fit(x, y)
    model = to_onnx(
        trained,
        x[:1],
        options={"zipmap": False} if classifies else None,
        target_opset={"": 17, "ai.onnx.ml": 3},
    )
    return Exported(model, x, trained.predict_proba(x) if classifies else trained.predict(x))


#: Name of a network -> callable(folder) that gives its Exported, or skips where the exporter is not
#: installed.
NETWORKS = {
    **{
        f"PyTorch{' dynamo' * dynamo}: {name}": partial(_torch, name, dynamo=dynamo)
        for name in (
            "convolutions",
            "residual",
            "depthwise",
            "sequence",
            "slopes",
            "tokens",
            "lstm",
            "lstm both ways",
            "gru",
            "attention",
            "transformer",
        )
        for dynamo in (False, True)
    },
    **{
        f"Keras: {name}": partial(_keras, name)
        for name in ("convolutions", "residual", "padded", "lstm", "lstm both ways")
    },
    **{
        f"scikit-learn: {name}": partial(_sklearn, name)
        for name in (
            "perceptron 2",
            "perceptron 3",
            "logistic 2",
            "logistic 3",
            "linear 2",
            "perceptron regressor 2",
        )
    },
}


def export(name, folder):
    """The :class:`Exported` network of this name; files go into ``folder``."""
    return NETWORKS[name](folder=folder)
