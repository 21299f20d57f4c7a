# SPDX-License-Identifier: BSD-2-Clause
"""Digest of a design: whether a build of today's sources would be given the same netlist."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from .logs import TOP

if TYPE_CHECKING:
    from amaranth.build.run import BuildPlan

__all__ = ["design_digest"]

#: Files of a plan that only tell people of the design, and scripts that say the same again.
_BESIDE = (f"{TOP}.debug.v", f"build_{TOP}.bat", f"build_{TOP}.json")
#: Lines without a meaning for the tools: places in the sources, and comments.
_COMMENTS = ("attribute \\src ", "#", "//")


def design_digest(plan: BuildPlan, seed: int) -> str:
    """Digest of all that the tools are given: netlist, pins, scripts, and their options but for the
    ``seed``. Two builds with the same digest, seed and releases of the tools have the same
    result."""
    digest = hashlib.sha256()
    for name, content in sorted(plan.files.items()):
        if name in _BESIDE:
            continue
        text = content.decode() if isinstance(content, bytes) else content
        digest.update(name.encode() + b"\0")
        for line in text.splitlines():
            if not line.lstrip().startswith(_COMMENTS):
                digest.update(line.replace(f"--seed {seed} ", "").encode() + b"\n")
    return digest.hexdigest()[:16]
