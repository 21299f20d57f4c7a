# SPDX-License-Identifier: BSD-2-Clause
"""Makes a failing IMAGine program small.

``PYTHONPATH=tests/support:tests/gateware/cores/imagine python -m imagine_shrink BUILD SEED [--fault NAME | --illegal]
[--budget CYCLES] [--directed GROUP NAME] [--ideal] [--limit CYCLES]``

BUILD is one of ``imagine_compare.BUILDS``. Words are left out as long as gateware and model still differ in the same way;
what remains is printed with the difference.
"""
import argparse
import sys

import imagine_compare as compare
import imagine_directed
import imagine_programs
import shrinking
from campaigns import random_behaviour

from quintet.boards.virtual.bench import IDEAL
from quintet.gateware.cores.imagine.isa import ISA
from quintet.gateware.cores.imagine.software import SOFTWARE
from quintet.gateware.isa.asm import disassemble


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="imagine_shrink", description=__doc__.splitlines()[0])
    shrinking.arguments(parser, compare.BUILDS, imagine_programs.FAULTS, 500_000)
    parser.add_argument("--budget", type=int, default=1200, help="as the test that failed had it (%(default)s)")
    parser.add_argument("--directed", nargs=2, metavar=("GROUP", "NAME"), help="a directed program instead of a random one")
    args = parser.parse_args(arguments)
    with compare.open_build(args.build) as bench:
        if args.directed:
            cases = imagine_directed.directed_cases(bench.params, args.directed[0])
            case = next(case for case in cases if case.name == args.directed[1])
        else:
            case = imagine_programs.random_case(args.seed, bench.params, legal=not args.illegal, fault=args.fault,
                                                budget=args.budget)
        behaviour = IDEAL if args.ideal or args.directed else random_behaviour(args.seed)
        words = shrinking.shrink_case(
            bench, case, lambda case: compare.check_case(bench, case, behaviour, args.seed, limit=args.limit)[0],
            compare.with_words)
    if words is not None:
        print(disassemble(SOFTWARE, ISA.store(words), bench.params), end="")
        print({name: hex(value) for name, value in case.registers.items() if value})
    return words is not None


if __name__ == "__main__":
    sys.exit(main())
