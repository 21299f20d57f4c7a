# SPDX-License-Identifier: BSD-2-Clause
"""Graph simplification passes that all cores share."""

from .rewriting import RULES, apply, simplify

__all__ = ["RULES", "apply", "simplify"]
