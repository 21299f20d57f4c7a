# SPDX-License-Identifier: BSD-2-Clause
"""Makes a failing PIM program small.

``PYTHONPATH=tests/support:tests/gateware/cores/pim python -m pim_shrink BUILD SEED [--fault NAME | --illegal] [--budget CYCLES]
[--ideal] [--limit CYCLES]``

BUILD is one of ``pim_compare.BUILDS``. Instructions are left out, of any core, as long as gateware and model still differ in
the same way; what remains is printed with the difference.
"""
import argparse
import sys

import pim_compare as compare
import pim_programs
import shrinking
from campaigns import random_behaviour

from quintet.boards.virtual.bench import IDEAL
from quintet.gateware.cores.pim.software import SOFTWARE
from quintet.gateware.isa.asm import disassemble


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="pim_shrink", description=__doc__.splitlines()[0])
    shrinking.arguments(parser, compare.BUILDS, pim_programs.FAULTS, compare.CYCLES)
    parser.add_argument("--budget", type=int, default=1500, help="as the test that failed had it (%(default)s)")
    args = parser.parse_args(arguments)
    with compare.open_build(args.build) as bench:
        case = pim_programs.random_case(args.seed, bench.params, legal=not args.illegal, fault=args.fault, budget=args.budget)
        behaviour = IDEAL if args.ideal else random_behaviour(args.seed)
        words = shrinking.shrink_case(
            bench, case, lambda case: compare.check_case(bench, case, behaviour, args.seed, limit=args.limit)[0],
            compare.with_words)
        if words is not None:
            small = compare.with_words(case, words)
            print(disassemble(SOFTWARE, small.image.data()), end="")
            print({name: hex(value) for name, value in small.registers.items()})
    return words is not None


if __name__ == "__main__":
    sys.exit(main())
