# SPDX-License-Identifier: BSD-2-Clause
"""Second clock of a compiled design, for a core with a clock domain of its own
(docs/how/contracts.md, section 3)."""

from typing import Any

from amaranth import ClockDomain, Module
from amaranth.lib.wiring import In

__all__ = ["SECOND_CLOCK", "drive_second"]

#: Member of a top with a second clock, by which the harness knows it.
SECOND_CLOCK = {"second_clk": In(1)}


def drive_second(m: Module, top: Any) -> None:
    """Drives the domain of ``top.domain`` (none if ``None``) from the member ``second_clk``; its
    only reset is the core's."""
    if top.domain is None:
        return
    m.domains += (domain := ClockDomain(top.domain.name, reset_less=True))
    m.d.comb += domain.clk.eq(top.second_clk)
