# SPDX-License-Identifier: BSD-2-Clause
"""Makes a program on which gateware and model differ small, whatever the ISA."""
from quintet.boards.virtual.simulation import SimulationError

__all__ = ["arguments", "shrink_case"]


def arguments(parser, builds, faults, limit):
    """The arguments that every shrinker takes."""
    parser.add_argument("build", choices=builds)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--fault", choices=faults)
    parser.add_argument("--illegal", action="store_true", help="with a fault drawn by the seed")
    parser.add_argument("--ideal", action="store_true", help="on an ideal memory")
    parser.add_argument("--limit", type=int, default=limit)


def _shrink(words, fails):
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


def shrink_case(bench, case, check, with_words):
    """Prints what differs, and with how few words it still does.

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
    kind = found[0].split()[0]      # a difference of another kind is another bug

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
