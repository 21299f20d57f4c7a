# SPDX-License-Identifier: BSD-2-Clause
"""A report that opens without a network: the digits' network on every core of a board, as a page
with rooflines and a table of layers."""

import argparse

from quintet.firmware import digits
from quintet.tools.compiler.onnx_import import import_onnx
from quintet.tools.compiler.results.comparison import compare_network
from quintet.tools.report.command import write_page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", default="report.html", help="the page")
    page = parser.parse_args().o
    graph = import_onnx("example:digits/mlp.onnx")
    calibration = {graph.inputs[0].name: digits.images(32)}
    found = compare_network(graph, "ulx3s-85f", calibration=calibration, estimate=True)
    write_page(page, "compare", found.as_dict())
    print(f"wrote {page}: {', '.join(cell.isa for cell in found.cells)}")


if __name__ == "__main__":
    main()
