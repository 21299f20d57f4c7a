# SPDX-License-Identifier: BSD-2-Clause
"""Checks of every Cherry engine, pipelined or small, on one bench against the golden model."""

from tests.gateware.cores.cherry.bench import compare
from tests.support.checks import Checks

__all__ = ["CHECKS"]

CHECKS = Checks(
    compare, lambda seed, params: compare.program_case(1000 + seed, params), compare.behaviour_of
)
