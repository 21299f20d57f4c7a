# SPDX-License-Identifier: BSD-2-Clause
"""Recognition of network files that are not ONNX, with advice on how to export ONNX from their
framework."""

from dataclasses import dataclass

__all__ = ["other_format"]

_TORCH = (
    "load the network in Python and export it with torch.onnx.export(network.eval(), (example,), "
    "'net.onnx')"
)
_KERAS = "load the network in Python and export it with tf2onnx.convert.from_function"


@dataclass(frozen=True)
class _Format:
    """A file format of networks. ``suffixes``: its file name suffixes, in lower case; ``starts``:
    offset and bytes that identify its content, ``None`` if another format starts alike."""

    what: str
    export: str
    suffixes: tuple[str, ...]
    starts: tuple[int, bytes] | None = None


_FORMATS = (
    _Format("a PyTorch file", _TORCH, (".pt", ".pth", ".pt2", ".ckpt")),
    _Format("a safetensors file, which holds weights alone", _TORCH, (".safetensors",)),
    _Format("a Keras file", _KERAS, (".keras",)),
    _Format("an HDF5 file, as Keras writes it", _KERAS, (".h5", ".hdf5"), (0, b"\x89HDF\r\n")),
    _Format(
        "a TensorFlow Lite file",
        "convert it with python -m tf2onnx.convert --tflite net.tflite --output net.onnx",
        (".tflite",),
        (4, b"TFL3"),
    ),
    _Format(
        "a TensorFlow graph",
        "convert its folder with python -m tf2onnx.convert --saved-model DIR --output net.onnx",
        (".pb",),
    ),
    _Format(
        "a Python pickle, as scikit-learn's models are kept in",
        "load the model in Python and export it with skl2onnx.to_onnx(model, inputs)",
        (".pkl", ".pickle", ".joblib"),
        (0, b"\x80"),
    ),
)


def other_format(name: str, content: bytes) -> str | None:
    """Recognises the format of the file ``name``, which is not an ONNX model: its name, and how to
    export ONNX from its framework.

    Its name's suffix decides, or else how its content begins; ``None`` if neither tells.
    """
    name = name.lower()
    named = (found for found in _FORMATS if name.endswith(found.suffixes))
    begun = (found for found in _FORMATS if found.starts and _begins(content, *found.starts))
    found = next(named, None) or next(begun, None)
    if found is None:
        return None
    return f"{found.what}; expected ONNX: {found.export} (docs/guides/own-model.md)"


def _begins(content, offset, start):
    return content[offset : offset + len(start)] == start
