# SPDX-License-Identifier: BSD-2-Clause
"""Which nodes Cherry runs, and how."""
from ..base import NATIVE, Verdict

__all__ = ["verdict"]


def verdict(graph, node, params):
    return Verdict(NATIVE)
