# SPDX-License-Identifier: BSD-2-Clause
"""Measures IMAGine's gateware and prints tables: cycles in the simulator, cells of the array alone by yosys, the clock of eight
blocks with decoder, issue, controller and dispatch on an LFE5U-25F (:mod:`imagine_clock`).

``PYTHONPATH=tests/gateware/cores/imagine python -m measure_imagine_array cycles | area | clock [--dir FOLDER] [--seeds 1 2] [--freq MHZ] [--router router2]``
"""
import argparse

from dispatch_bench import run
from imagine_clock import place_and_route
from test_imagine_cycles import accumulate, add, fold, kernel, move, step

from quintet.gateware.cores.imagine.engine.array import Array
from quintet.gateware.cores.imagine.engine.mapping import Mapping
from quintet.gateware.cores.imagine.model import cycles
from quintet.tools.build import synthesise


def print_cycles():
    for ram, width, depth in (("tdp", 16, 256), ("tdp", 8, 128), ("tdp", 4, 64), ("sdp2", 16, 256), ("sdp1", 16, 256)):
        mapping = Mapping(2, 4, width, depth, ram)
        cases = [("add, sub", [add(3, 1, 2)] * 3, 2 * width + 1), ("mov", [move(0, 3, 1)] * 3, width + 5),
                 ("updatepp", [step(3, 1, 2, bit) for bit in range(3)], 2 * width + 3)]
        cases += [(f"accumRow({k})", [accumulate(k, 1)] * 3, width + 6 + 2 ** k) for k in range(4)]
        cases += [("add, then updatepp of its result", [add(1, 2, 2), step(3, 1, 2, 0)], 2 * width + 1),
                  ("mov, then add of its result", [move(0, 3, 1), add(1, 3, 3)], width + 5),
                  ("fold, then movOffset of its result", [fold(1, 3, 1), move(1, 1, 3)], width + 5)]
        for name, words, formula in cases:
            starts, _ = run(mapping, [0, *words, 0])
            print(f"| {ram} | {width} | {name} | {starts[2] - starts[1]} | {formula} |")
        starts, results = run(mapping, kernel(width, 2))
        print(f"| {ram} | {width} | GEMV and bias, first word | {results[0][0] - starts[0]} | {cycles.gemv(width, 2, 4)[0]} |")


def print_area(folder):
    for ram in ("tdp", "sdp2"):
        mapping = Mapping(8, 2, 16, 512, ram)
        cells = synthesise(Array(mapping=mapping, family="ecp5"), "ecp5", f"{folder}/{ram}")
        luts = cells.get("LUT4", 0) + 2 * cells.get("CCU2C", 0)
        print(f"| {ram} | {mapping.pes} | {luts} | {luts / mapping.pes:.2f} | {cells['TRELLIS_FF'] / mapping.pes:.2f} |")


def print_clock(folder, seeds, asked, router):
    for seed in seeds:
        reached, cells, path = place_and_route(f"{folder}/clock", seed, asked, router)
        routing = sum(step["delay"] for step in path if step["type"] == "routing")
        print(f"| seed {seed} | {reached} MHz | {cells['TRELLIS_COMB']} TRELLIS_COMB, {cells['TRELLIS_FF']} TRELLIS_FF, {cells['DP16KD']} DP16KD | "
              f"{path[0]['from']['cell']} to {path[-1]['to']['cell']}, {sum(step['delay'] for step in path):.1f} ns, {routing:.1f} in nets |",
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("cycles", "area", "clock"))
    parser.add_argument("--dir", default="out/imagine")
    parser.add_argument("--seeds", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--freq", type=float, default=210, help="asked of place and route, MHz")
    parser.add_argument("--router", choices=("router1", "router2"), default="router1")
    arguments = parser.parse_args()
    if arguments.what == "cycles":
        print_cycles()
    elif arguments.what == "clock":
        print_clock(arguments.dir, arguments.seeds, arguments.freq, arguments.router)
    else:
        print_area(arguments.dir)


if __name__ == "__main__":
    main()
