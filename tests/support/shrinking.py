# SPDX-License-Identifier: BSD-2-Clause
"""Minimises a program on which gateware and golden model differ, for any ISA.

``python -m tests.support.shrinking ISA BUILD [SEED] [--fault NAME | --illegal] [--budget N]
[--directed GROUP NAME] [--ideal] [--limit CYCLES]``

Words are left out as long as gateware and model still differ in the same way; what remains is
printed with the difference.
"""

import argparse
import sys

from quintet.boards.virtual.bench import IDEAL
from quintet.boards.virtual.simulation import SimulationError
from tests.support.campaigns import random_behaviour
from tests.support.subjects import find_subject, subject_names

__all__ = ["main", "shrink_case"]


def _shrink(words, fails):
    """Shortest list for which ``fails`` holds, found by removing halves, quarters ... single
    words."""
    size = max(1, len(words) // 2)
    while size:
        at = 0
        while at < len(words):
            shorter = words[:at] + words[at + size :]
            if shorter and fails(shorter):
                words = shorter
            else:
                at += size
        size //= 2
    return words


def shrink_case(bench, case, check, with_words):
    """Prints the differences, and a minimal program that still has them.

    Parameters
    ----------
    check : callable
        ``check(case)`` gives a list of differences.
    with_words : callable
        ``with_words(case, words)`` gives the case with other words.

    Returns
    -------
    list or None
        The words; ``None`` where nothing differs.
    """

    def difference(case):
        try:
            return check(case)
        except SimulationError as error:
            bench.recover()
            return [str(error)]

    found = difference(case)
    print(f"{case.name}, {len(case.words)} words: {found}")
    if not found:
        return None
    kind = found[0].split()[0]  # a difference of another kind is another bug

    def fails(words):
        again = difference(with_words(case, words))
        return bool(again) and again[0].split()[0] == kind

    words = list(case.words)
    if not fails(words):
        print("the difference is gone when the program lies or ends elsewhere")
        return words
    words = _shrink(words, fails)
    print(difference(with_words(case, words)))
    return words


def _parser():
    parser = argparse.ArgumentParser(prog="shrinking", description=__doc__.splitlines()[0])
    parser.add_argument("isa", choices=subject_names())
    parser.add_argument("build")
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--fault")
    parser.add_argument("--illegal", action="store_true", help="with a fault drawn by the seed")
    parser.add_argument("--budget", type=int, help="as the test that failed had it")
    parser.add_argument(
        "--directed",
        nargs=2,
        metavar=("GROUP", "NAME"),
        help="a directed program instead of a random one",
    )
    parser.add_argument("--ideal", action="store_true", help="on an ideal memory")
    parser.add_argument("--limit", type=int, help="cycles after which a program hangs")
    return parser


def _check_arguments(parser, args, subject):
    if subject.with_words is None:
        parser.error(f"{subject.name}: its programs are not shrunk")
    for option, value, known in (
        ("build", args.build, subject.builds),
        ("--fault", args.fault, subject.faults),
    ):
        if value is not None and value not in known:
            parser.error(f"{option} {value}: {subject.name} has {', '.join(known)}")
    if args.directed and subject.directed is None:
        parser.error(f"--directed: {subject.name} has no directed programs")
    if args.budget is not None and subject.budget is None:
        parser.error(f"--budget: programs of {subject.name} have none")


def _case(parser, args, subject, params):
    if not args.directed:
        budget = {} if subject.budget is None else {"budget": args.budget or subject.budget}
        return subject.draw(args.seed, params, legal=not args.illegal, fault=args.fault, **budget)
    group, name = args.directed
    cases = {case.name: case for case in subject.directed(params, group)}
    if name not in cases:
        parser.error(f"--directed {group} {name}: expected {', '.join(cases)}")
    return cases[name]


def main(arguments=None):
    """Shrinks a program; returns 1 if a difference was found, else 0."""
    parser = _parser()
    args = parser.parse_args(arguments)
    subject = find_subject(args.isa)
    _check_arguments(parser, args, subject)
    with subject.open_build(args.build) as bench:
        case = _case(parser, args, subject, bench.params)
        behaviour = IDEAL if args.ideal or args.directed else random_behaviour(args.seed)
        words = shrink_case(
            bench,
            case,
            lambda case: subject.check(
                bench, case, behaviour, args.seed, limit=args.limit or subject.limit
            )[0],
            subject.with_words,
        )
    if words is not None:
        small = subject.with_words(case, words)
        print(subject.listing(small), end="")
        print({name: hex(value) for name, value in small.registers.items() if value})
    return int(words is not None)


if __name__ == "__main__":
    sys.exit(main())
