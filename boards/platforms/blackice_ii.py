# SPDX-License-Identifier: BSD-2-Clause
"""Platform of the myStorm BlackIce II whose SRAM is deselected while the FPGA does not drive its
lines."""

from amaranth.build import Attrs, Resource
from amaranth_boards.blackice_ii import BlackIceIIPlatform as _BlackIceIIPlatform

__all__ = ["BlackIceIIPlatform"]


def _pulled_up(resource):
    return Resource(
        resource.name, resource.number, *resource.ios, Attrs(**resource.attrs, PULLUP=1)
    )


class BlackIceIIPlatform(_BlackIceIIPlatform):
    """The platform of amaranth-boards with pull-ups on the SRAM's lines: undriven until the first
    clock, OE# and WE# must be high."""

    resources = [_pulled_up(r) if r.name == "sram" else r for r in _BlackIceIIPlatform.resources]
