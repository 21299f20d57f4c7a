# SPDX-License-Identifier: BSD-2-Clause
"""Marks components that are constructed only to be queried, and never elaborated."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amaranth.lib import wiring


__all__ = ["settle"]


def settle(component: wiring.Component) -> None:
    """Silences Amaranth's warning that a component, or one within it, was never elaborated."""
    left, seen = [component], set()
    while left:
        value = left.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, (list, tuple)):
            left += value
        elif isinstance(value, dict):
            left += value.values()
        elif hasattr(value, "_MustUse__used"):
            value._MustUse__used = True
            left += vars(value).values()
