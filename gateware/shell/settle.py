# SPDX-License-Identifier: BSD-2-Clause
"""Components that are made to ask them something, and never elaborated."""

__all__ = ["settle"]


def settle(component):
    """Tells Amaranth that no one forgot to elaborate a component, nor those that it holds."""
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
