# SPDX-License-Identifier: BSD-2-Clause
"""Makes a failing random program small.

``PYTHONPATH=tests/support:tests/gateware/cores/opentpu python -m shrink_case BUILD SEED [--fault NAME | --illegal] [--ideal]
[--limit CYCLES]``

BUILD is one of ``opentpu_compare.BUILDS``. Words are left out as long as gateware and model still differ in the same way; what
remains is printed with the difference.
"""
import argparse
import sys

import opentpu_compare as compare
import opentpu_programs as programs
import shrinking
from campaigns import random_behaviour

from quintet.boards.virtual.bench import IDEAL


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="shrink_case", description=__doc__.splitlines()[0])
    shrinking.arguments(parser, compare.BUILDS, programs.FAULTS, 20_000_000)
    args = parser.parse_args(arguments)
    with compare.open_build(args.build) as bench:
        case = programs.random_case(args.seed, bench.params, legal=not args.illegal, fault=args.fault)
        behaviour = IDEAL if args.ideal else random_behaviour(args.seed)
        words = shrinking.shrink_case(
            bench, case, lambda case: compare.check_case(bench, case, behaviour, args.seed, limit=args.limit)[0],
            compare.sanitised)
    for word in words or ():
        print(f"  {word}")
    return words is not None


if __name__ == "__main__":
    sys.exit(main())
