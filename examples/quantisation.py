# SPDX-License-Identifier: BSD-2-Clause
"""Cost of quantisation: signal-to-noise ratio of the digits' scores on each core, and by the
percentile of the calibration's values that the OPU's scales reach to."""

import numpy as np

from quintet import compile_model
from quintet.firmware import digits
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.onnx_import import import_onnx

MODEL = "example:digits/mlp.onnx"


def snr_db(exact: np.ndarray, found: np.ndarray) -> float:
    """Signal-to-noise ratio of ``found`` in dB."""
    return float(10 * np.log10((exact**2).sum() / ((exact - found) ** 2).sum()))


def main() -> None:
    images = digits.images(50)
    graph = import_onnx(MODEL)
    exact = run_graph(graph, {graph.inputs[0].tensor: images})[graph.outputs[0].tensor]

    def ratio(target: str, **options) -> float:
        compiled = compile_model(MODEL, target, calibration=digits.images(100), **options)
        with compiled.open() as session:
            return snr_db(exact, session(images))

    for core in ("cherry", "imagine", "opentpu", "opu", "pim"):
        print(f"{core:8} {ratio(f'model:{core}'):5.1f} dB")
    for percentile in (100, 99.9, 99):
        decibels = ratio("model:opu", percentile=percentile)
        print(f"opu, scales to percentile {percentile:5}: {decibels:5.1f} dB")


if __name__ == "__main__":
    main()
