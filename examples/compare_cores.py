# SPDX-License-Identifier: BSD-2-Clause
"""Five cores on one board: compile the digits' network for each of them and compare estimated
cycles, bytes moved and right answers."""

from quintet.firmware import digits
from quintet.tools.compiler.onnx_import import import_onnx
from quintet.tools.compiler.results.comparison import compare_network

IMAGES = 100


def main() -> None:
    graph = import_onnx("example:digits/cnn.onnx")
    name = graph.inputs[0].name
    found = compare_network(
        graph,
        "ulx3s-85f",
        calibration={name: digits.images(64)},
        inputs={name: digits.images(IMAGES)},
        labels=digits.labels(IMAGES),
        estimate=True,
    )
    for cell in found.cells:
        if cell.refusal:
            print(f"{cell.isa:8} refused: {cell.refusal}")
        else:
            print(f"{cell.isa:8} {cell.cycles:8,} cycles, {cell.correct} of {IMAGES} digits right")


if __name__ == "__main__":
    main()
