# SPDX-License-Identifier: BSD-2-Clause
"""A sweep over builds of one core: estimated cycles of a network on every preset of the OPU that
takes it, without simulation."""

import argparse

from quintet import compile_model
from quintet.firmware import digits
from quintet.gateware.cores import open_core
from quintet.tools.errors import QuintetError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="example:digits/cnn.onnx", help="an ONNX network")
    parser.add_argument("--isa", default="opu", help="the instruction set")
    args = parser.parse_args()
    for preset in open_core(args.isa).params.SPACE.presets:
        try:
            compiled = compile_model(
                args.model, f"model:{args.isa}", preset=preset, calibration=digits.images(32)
            )
        except (QuintetError, ValueError) as refusal:
            print(f"{preset:12} refused: {refusal}")
        else:
            print(f"{preset:12} {compiled.plan.cycles:10,.0f} cycles an input")


if __name__ == "__main__":
    main()
