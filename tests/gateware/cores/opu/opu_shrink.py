# SPDX-License-Identifier: BSD-2-Clause
"""Makes a failing OPU program small.

``PYTHONPATH=tests/support:tests/gateware/cores/opu python -m opu_shrink BUILD SEED [--fault NAME | --illegal] [--budget CYCLES]
[--directed GROUP NAME] [--ideal] [--limit CYCLES]``

BUILD is one of ``opu_compare.BUILDS``. Words are left out as long as gateware and model still differ in the same way (a
program that then faults does so on both); what remains is printed with the difference.
"""
import argparse
import sys

import opu_compare as compare
import opu_directed
import opu_programs
from campaigns import random_behaviour

from quintet.boards.virtual.bench import IDEAL
from quintet.boards.virtual.simulation import SimulationError
from quintet.gateware.cores.opu.isa import ISA
from quintet.tools.asm import disassemble


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
    parser = argparse.ArgumentParser(prog="opu_shrink", description=__doc__.splitlines()[0])
    parser.add_argument("build", choices=compare.BUILDS)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--fault", choices=opu_programs.FAULTS)
    parser.add_argument("--illegal", action="store_true", help="with a fault drawn by the seed")
    parser.add_argument("--budget", type=int, default=8000, help="as the test that failed had it (%(default)s)")
    parser.add_argument("--directed", nargs=2, metavar=("GROUP", "NAME"), help="a directed program instead of a random one")
    parser.add_argument("--ideal", action="store_true", help="on an ideal memory")
    parser.add_argument("--limit", type=int, default=2_000_000)
    args = parser.parse_args(arguments)
    with compare.open_build(args.build) as bench:
        if args.directed:
            cases = opu_directed.directed_cases(bench.params, args.directed[0])
            case = next(case for case in cases if case.name == args.directed[1])
        else:
            case = opu_programs.random_case(args.seed, bench.params, legal=not args.illegal, fault=args.fault,
                                            budget=args.budget)
        behaviour = IDEAL if args.ideal or args.directed else random_behaviour(args.seed)
        found = difference(bench, case, behaviour, args.seed, args.limit)
        print(f"{case.name}, {len(case.words)} words, {behaviour}: {found}")
        if not found:
            return 0
        kind = found[0].split()[0]

        def fails(words):
            again = difference(bench, compare.with_words(case, words), behaviour, args.seed, args.limit)
            return bool(again) and again[0].split()[0] == kind
        words = list(case.words)
        if fails(words):
            words = shrink(words, fails)
            print(difference(bench, compare.with_words(case, words), behaviour, args.seed, args.limit))
        else:
            print("the difference is gone with the program's own length as it is")
        print(disassemble(ISA, ISA.store(words)), end="")
        print({name: hex(value) for name, value in case.registers.items() if value})
    return 1


if __name__ == "__main__":
    sys.exit(main())
