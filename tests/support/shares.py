# SPDX-License-Identifier: BSD-2-Clause
"""Shares of a test's random cases: some in `make test`, all of them in `make test-long`.

For random programs, which campaigns of `make test-long` run by the thousand besides, and for
benches in Amaranth's simulator of engines that are covered by programs on compiled gateware too.
Every kind of check stays in `make test`; only the number of random cases behind it is less.
"""

import pytest

__all__ = ["parts", "shares", "some"]

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
    """Number of cases in a share of ``count`` cases, at least ``least``."""
    return max(round(count * share), least)
