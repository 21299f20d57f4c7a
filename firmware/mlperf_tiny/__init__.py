# SPDX-License-Identifier: BSD-2-Clause
"""MLPerf Tiny's four networks on every core: accuracy, cycles, and equality of every layer, from a
folder with the networks.

The folder is not part of the project: ``kws_float.onnx``, ``ic_float.onnx``, ``vww_float.onnx``,
``ad_float.onnx`` of mlcommons/tiny, exported to ONNX, and inputs ``data/kws.npz`` and so on (arrays
``x``, labels ``y`` where there are some, ``calibration`` where it is apart).
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quintet.gateware.isa.files import FileError, load_archive
from quintet.tools.errors import InputError

__all__ = ["BARS", "NETWORKS", "PEERS", "PRESETS", "Inputs", "Peer", "load_inputs", "presets_of"]


@dataclass(frozen=True)
class Network:
    """A benchmark network: its ``file``, the ``data`` file of its inputs, and the ``scale`` by
    which its inputs are multiplied."""

    name: str
    file: str
    data: str
    scale: float = 1.0


#: By the benchmark's names.
NETWORKS = {
    network.name: network
    for network in (
        Network("resnet8", "ic_float.onnx", "data/ic.npz"),
        Network("ds_cnn", "kws_float.onnx", "data/kws.npz"),
        Network("mobilenet", "vww_float.onnx", "data/vww.npz"),
        Network("autoencoder", "ad_float.onnx", "data/ad.npz"),
    )
}
#: Presets of the ULX3S-85F that a core is measured with, where not the board's own.
PRESETS = {"opentpu": "85f-8x8-conv", "opu": "85f"}
#: Further presets of a board that ``--board`` measures a core with, beside its default.
_BESIDE = {
    ("ulx3s-85f", "opentpu"): (
        "85f-8x8-conv",
        "85f-8x8-fast",
        "85f-16x16-fast",
        "85f-16x16-conv",
    ),
    ("ulx3s-85f", "opu"): ("85f", "85f-p256-fast"),
    ("ulx3s-45f", "opentpu"): ("45f-8x8", "45f-8x8-fast"),
    ("ulx3s-45f", "opu"): ("45f", "45f-fast"),
    ("ulx3s-45f", "cherry"): ("45f", "45f-fast"),
    ("ulx3s-25f", "opentpu"): ("25f-4x4", "25f-8x8-fast"),
}


def presets_of(board: str, isa: str) -> tuple[str | None, ...]:
    """Presets with which a core is measured on a board; ``None`` is the board's default."""
    return _BESIDE.get((board, isa), (None,))


@dataclass(frozen=True)
class Peer:
    """Another system's published times of one inference: ``milliseconds`` by the network's name."""

    name: str
    milliseconds: dict[str, float]
    source: str


_LOGS = "MLPerf Tiny, published logs"
#: Systems that the table of times shows beside the cores.
PEERS = (
    Peer(
        "GAP9",
        {"resnet8": 0.62, "ds_cnn": 0.48, "mobilenet": 1.12, "autoencoder": 0.18},
        _LOGS,
    ),
    Peer(
        "fpgaConvNet, ZedBoard",
        {"resnet8": 0.41, "ds_cnn": 0.32, "mobilenet": 9.5},
        _LOGS,
    ),
    Peer(
        "STM32H7A3",
        {"resnet8": 51.9, "ds_cnn": 15.4, "mobilenet": 29.6, "autoencoder": 1.8},
        _LOGS,
    ),
    Peer("hls4ml, Pynq-Z2", {"resnet8": 27.3}, _LOGS),
)
#: Most cycles of one input for each core: required, aimed at. IMAGine's are those of
#: the array beside the stream of weights (docs/performance/imagine.md).
BARS = {
    "opu": {
        "resnet8": (205_000, 185_000),
        "ds_cnn": (150_000, 120_000),
        "mobilenet": (500_000, 350_000),
        "autoencoder": (142_000, 137_000),
    },
    "opentpu": {
        "resnet8": (270_000, 221_000),
        "ds_cnn": (100_000, 82_000),
        "mobilenet": (440_000, 359_000),
        "autoencoder": (235_000, 211_000),
    },
    "pim": {
        "resnet8": (240_000, 175_000),
        "ds_cnn": (260_000, 200_000),
        "mobilenet": (None, 600_000),
    },
    "cherry": {
        "resnet8": (560_000, 471_000),
        "ds_cnn": (210_000, 174_000),
        "mobilenet": (570_000, 476_000),
        "autoencoder": (330_000, 294_000),
    },
    "imagine": {"autoencoder": (80_000, 70_000)},
}
#: Inputs that calibrate where the data has none apart; they are judged by no more.
_CALIBRATION = 100


@dataclass(frozen=True)
class Inputs:
    """Inputs of a network: ``calibration`` and ``x`` in the model's layout, ``y`` labels of ``x``
    or ``None``."""

    calibration: np.ndarray
    x: np.ndarray
    y: np.ndarray | None


def load_inputs(folder: str | Path, network: Network) -> Inputs:
    """Reads the :class:`Inputs` of a :class:`Network` from ``folder``; ``x`` does not contain
    calibration inputs."""
    path = Path(folder, network.data)
    try:
        arrays = load_archive(path)
    except FileError as error:
        raise InputError(str(error)) from None
    if "x" not in arrays:
        raise InputError(f"{path}: has no array x; it has {', '.join(arrays) or 'none'}")
    x, y, calibration = arrays["x"], arrays.get("y"), arrays.get("calibration")
    if calibration is None:
        count = min(_CALIBRATION, len(x) // 3)
        calibration, x, y = x[:count], x[count:], None if y is None else y[count:]
    return Inputs(calibration * network.scale, x * network.scale, y)
