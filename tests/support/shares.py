# SPDX-License-Identifier: BSD-2-Clause
"""Shares of a test's random cases: a quarter in `make test`, all of them in `make test-long`.

For benches in Amaranth's simulator of engines that are covered by programs on compiled gateware
too. Every kind of check stays in `make test`; only the number of random cases behind it is less.
"""

import pytest

__all__ = ["shares", "some"]

#: Runs a test with a quarter of its cases and, in `make test-long`, with all of them.
shares = pytest.mark.parametrize(
    "share", [pytest.param(0.25, id="quarter"), pytest.param(1, id="all", marks=pytest.mark.long)]
)


def some(count: int, share: float, least: int = 1) -> int:
    """How many of ``count`` cases a share is, ``least`` at least."""
    return max(round(count * share), least)
