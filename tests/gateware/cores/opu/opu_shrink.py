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
import shrinking
from campaigns import random_behaviour

from quintet.boards.virtual.bench import IDEAL
from quintet.gateware.cores.opu.isa import ISA
from quintet.gateware.cores.opu.software import SOFTWARE
from quintet.gateware.isa.asm import disassemble


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="opu_shrink", description=__doc__.splitlines()[0])
    shrinking.arguments(parser, compare.BUILDS, opu_programs.FAULTS, 2_000_000)
    parser.add_argument("--budget", type=int, default=8000, help="as the test that failed had it (%(default)s)")
    parser.add_argument("--directed", nargs=2, metavar=("GROUP", "NAME"), help="a directed program instead of a random one")
    args = parser.parse_args(arguments)
    with compare.open_build(args.build) as bench:
        if args.directed:
            cases = opu_directed.directed_cases(bench.params, args.directed[0])
            case = next(case for case in cases if case.name == args.directed[1])
        else:
            case = opu_programs.random_case(args.seed, bench.params, legal=not args.illegal, fault=args.fault,
                                            budget=args.budget)
        behaviour = IDEAL if args.ideal or args.directed else random_behaviour(args.seed)
        words = shrinking.shrink_case(
            bench, case, lambda case: compare.check_case(bench, case, behaviour, args.seed, limit=args.limit)[0],
            compare.with_words)
    if words is not None:
        print(disassemble(SOFTWARE, ISA.store(words)), end="")
        print({name: hex(value) for name, value in case.registers.items() if value})
    return words is not None


if __name__ == "__main__":
    sys.exit(main())
