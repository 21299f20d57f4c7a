# SPDX-License-Identifier: BSD-2-Clause
"""Makes a failing random program small.

``PYTHONPATH=tests/gateware/cores/opentpu python -m shrink_case BUILD SEED [--fault NAME | --illegal] [--ideal] [--limit CYCLES]``

BUILD is one of ``opentpu_compare.BUILDS``. Words are left out as long as gateware and model still differ; what remains is
printed with the difference.
"""
import argparse
import sys

import opentpu_compare as compare
import opentpu_programs as programs

from quintet.boards.virtual.bench import IDEAL
from quintet.boards.virtual.simulation import SimulationError


def difference(bench, case, behaviour, seed, limit):
    """What differs, or nothing."""
    try:
        return compare.check_case(bench, case, behaviour, seed, limit=limit)[0]
    except SimulationError as error:
        bench.recover()
        return [str(error)]


def shrink(words, fails):
    """The shortest list found by leaving out halves, quarters ... single words for which ``fails`` holds."""
    size = max(1, len(words) // 2)
    while size:
        at = 0
        while at < len(words):
            shorter = words[:at] + words[at + size:]
            if shorter and fails(shorter):
                words = shorter
            else:
                at += size
        size //= 2
    return words


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="shrink_case", description=__doc__.splitlines()[0])
    parser.add_argument("build", choices=compare.BUILDS)
    parser.add_argument("seed", type=int)
    parser.add_argument("--fault", choices=programs.FAULTS)
    parser.add_argument("--illegal", action="store_true", help="with a fault drawn by the seed")
    parser.add_argument("--ideal", action="store_true", help="on an ideal memory")
    parser.add_argument("--limit", type=int, default=20_000_000)
    args = parser.parse_args(arguments)
    with compare.open_build(args.build) as bench:
        case = programs.random_case(args.seed, bench.params, legal=not args.illegal, fault=args.fault)
        behaviour = IDEAL if args.ideal else compare.random_behaviour(args.seed)
        found = difference(bench, case, behaviour, args.seed, args.limit)
        print(f"{case.name}, {len(case.words)} words, {behaviour}: {found}")
        if not found:
            return 0
        # A status that differs because the run was cut off must stay one: other differences are other bugs.
        kind = found[0].split()[0]

        def fails(words):
            again = difference(bench, compare.sanitised(case, words), behaviour, args.seed, args.limit)
            return bool(again) and again[0].split()[0] == kind
        words = list(case.words)
        if not fails(words):
            print("the difference is gone when the program lies elsewhere")
            return 1
        words = shrink(words, fails)
        for word in words:
            print(f"  {word}")
        print(difference(bench, compare.sanitised(case, words), behaviour, args.seed, args.limit))
    return 1


if __name__ == "__main__":
    sys.exit(main())
