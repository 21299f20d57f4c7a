# SPDX-License-Identifier: BSD-2-Clause
"""A recurrent cell of random weights whose state stays in the board's memory, step by step; the
state is saved and restored."""

import argparse

import numpy as np

from quintet import Net

STEPS, FEATURES, HIDDEN = 100, 8, 16


def cell() -> Net:
    """h' = relu(W [x, h] + b), y = V h'."""
    draw = np.random.default_rng(0).normal
    net = Net("cell")
    x, before = net.input("x", [FEATURES]), net.input("state_in", [HIDDEN])
    weights = draw(0, 0.25, (FEATURES + HIDDEN, HIDDEN))
    state = net.dense(net.concat(x, before), weights, draw(0, 0.1, HIDDEN), activation="relu")
    net.output(net.dense(state, draw(0, 0.3, (HIDDEN, 3))), "y")
    net.output(state, "state_out")
    return net


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--on", default="model:opu", help="model:ISA, sim:BOARD/ISA or a port")
    args = parser.parse_args()
    x = np.random.default_rng(1).normal(0, 1, (STEPS, FEATURES))
    compiled = cell().compile(args.on, calibration=x)
    print(*compiled.plan.notes, sep="\n")
    with compiled.open() as session:
        first = session(x[:50])
        saved = session.state
        rest = session(x[50:])
        report = session.report
        print(f"{report.input_bytes + report.output_bytes:,} bytes for {report.inputs} steps")
        session.state = saved
        print("the same from the saved state on:", np.array_equal(session(x[50:]), rest))
        session.reset()
        print("the same after a reset:", np.array_equal(session(x[:50]), first))


if __name__ == "__main__":
    main()
