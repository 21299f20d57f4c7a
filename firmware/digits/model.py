# SPDX-License-Identifier: BSD-2-Clause
"""The digits CNN as an ONNX model: ``python -m quintet.firmware.digits.model`` writes ``cnn.onnx`` again (extra ``compile``).

Weights are those that ``python -m quintet.firmware.opu.train_digits`` has trained, before any quantisation. The input is an image of 64 pixels from 0 to
16, as ``digits.npz`` has them; the outputs are the scores of the ten digits.
"""
import argparse
from pathlib import Path

import numpy as np

from quintet.gateware.isa.files import load_archive, write_whole

from . import FOLDER

__all__ = ["main", "model_bytes"]

_WEIGHTS = FOLDER.parent / "opu" / "digits" / "weights.npz"


def model_bytes(weights):
    """The model's file, bytes, of float weights by name: ``conv1_float`` [out, in, rows, columns] with ``conv1_float_b`` and so on."""
    from onnx import TensorProto, helper, numpy_helper

    def constant(name, array):
        return numpy_helper.from_array(np.ascontiguousarray(array), name)

    # Scores come from a map that the OPU flattens by rows, columns, channels; ONNX flattens channels first.
    hidden = weights["dense1_float"].reshape(64, 2, 2, 32).transpose(0, 3, 1, 2).reshape(64, 128)
    constants = [constant("shape", np.array([-1, 1, 8, 8], np.int64)), constant("sixteenth", np.float32(1 / 16)), constant("dense1.weight", hidden)]
    constants += [constant(f"{layer}.weight", weights[f"{layer}_float"]) for layer in ("conv1", "conv2", "dense2")]
    constants += [constant(f"{layer}.bias", weights[f"{layer}_float_b"]) for layer in ("conv1", "conv2", "dense1", "dense2")]
    nodes = [helper.make_node("Reshape", ["pixels", "shape"], ["map"], "reshape"), helper.make_node("Mul", ["map", "sixteenth"], ["image"], "scale")]
    here = "image"
    for layer in ("conv1", "conv2"):
        nodes += [helper.make_node("Conv", [here, f"{layer}.weight", f"{layer}.bias"], [layer], layer, pads=[1] * 4, kernel_shape=[3, 3]),
                  helper.make_node("Relu", [layer], [f"{layer}.relu"], f"{layer}.relu"),
                  helper.make_node("MaxPool", [f"{layer}.relu"], [f"{layer}.pool"], f"{layer}.pool", kernel_shape=[2, 2], strides=[2, 2])]
        here = f"{layer}.pool"
    nodes += [helper.make_node("Flatten", [here], ["flat"], "flatten"),
              helper.make_node("Gemm", ["flat", "dense1.weight", "dense1.bias"], ["dense1"], "dense1", transB=1),
              helper.make_node("Relu", ["dense1"], ["dense1.relu"], "dense1.relu"),
              helper.make_node("Gemm", ["dense1.relu", "dense2.weight", "dense2.bias"], ["scores"], "dense2", transB=1)]
    graph = helper.make_graph(nodes, "digits", [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["inputs", 64])],
                              [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["inputs", 10])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="quintet", ir_version=8)
    return model.SerializeToString(deterministic=True)


def main(argv=None):
    parser = argparse.ArgumentParser(prog="model", description="Write the digits CNN as an ONNX model (extra `compile`).")
    parser.add_argument("--weights", type=Path, default=_WEIGHTS, help="weights.npz of train_digits")
    parser.add_argument("--out", type=Path, default=FOLDER / "cnn.onnx")
    options = parser.parse_args(argv)
    try:
        data = model_bytes(load_archive(options.weights))
    except ImportError:
        parser.error("needs onnx: pip install 'quintet[compile]'")
    write_whole(options.out, data)
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
