# SPDX-License-Identifier: BSD-2-Clause
"""Writes the digits jobs again: ``python -m quintet.firmware.imagine.digits``; ``--on TARGET``
classifies all images there."""

import argparse
from collections.abc import Sequence

from . import classify, write_shipped


def main(argv: Sequence[str] | None = None) -> None:
    """Command line of this module."""
    parser = argparse.ArgumentParser(prog="quintet.firmware.imagine.digits", description=__doc__)
    parser.add_argument("--on", metavar="TARGET", help="as of quintet run")
    parser.add_argument("--images", type=int, default=540, help="how many of them (%(default)s)")
    options = parser.parse_args(argv)
    if options.on is None:
        for path in write_shipped():
            print(path)
        return
    from quintet.tools import open_target
    from quintet.tools.jobs.recognition import recognised_text

    with open_target(options.on) as target:
        result, session = classify(target, count=options.images)
    print(
        f"{recognised_text(result.correct, result.total)}, weights "
        f"{'stay in the array' if session.resident else 'are streamed'}"
    )
    for name, value in session.counters.items():
        print(f"  {name:14} {value:14,}")


if __name__ == "__main__":
    main()
