# SPDX-License-Identifier: BSD-2-Clause
"""Shares of a test's random cases: some in `make quick`, more in `make test`, all of them in `make
test-long`.

For random programs, which campaigns of `make test-long` run by the thousand besides, and for
benches in Amaranth's simulator of engines that are covered by programs on compiled gateware too.
Every kind of check stays in `make test`; only the number of random cases behind it is less.
"""

import os

import pytest

__all__ = ["QUICK", "fewer", "parts", "shares", "some"]

#: Whether this is `make quick`.
QUICK = os.environ.get("QUINTET_QUICK") == "1"
#: Share of the random cases of `make test` that `make quick` runs.
QUICK_SHARE = 0.25

#: Runs a test with a quarter of its cases and, in `make test-long`, with all of them.
shares = pytest.mark.parametrize(
    "share", [pytest.param(0.25, id="quarter"), pytest.param(1, id="all", marks=pytest.mark.long)]
)


def parts(count):
    """Decorator that runs a test for each ``part`` of its seeds: the first in `make test`, all of
    them in `make test-long`."""
    later = (pytest.param(part, marks=pytest.mark.long) for part in range(1, count))
    return pytest.mark.parametrize("part", [0, *later])


def some(count: int, share: float, least: int = 1) -> int:
    """Number of cases in a share of ``count`` cases, at least ``least``.

    In `make quick` it is a share of these again.
    """
    return fewer(max(round(count * share), least), least)


def fewer(count: int, least: int = 1) -> int:
    """Number of random cases of a test: ``count``, or a quarter of them in `make quick`.

    The first cases are the same ones. ``least`` is what the test's own claims need, for example
    that every kind of case is among them.
    """
    return max(round(count * QUICK_SHARE), min(least, count)) if QUICK else count
