# SPDX-License-Identifier: BSD-2-Clause
"""Tables of resident programs: instructions, loops and address units, written by the sequencer and
read by the front end."""

from amaranth import unsigned
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import Out

__all__ = ["ProgramLayout", "TableKind", "TableWrite"]


class TableKind(enum.Enum, shape=2):
    """Kinds of tables of a resident program."""

    INSTRUCTION = 0  # address: index
    LOOP = 1  # 2 * loop + (0: count, 1: length of the body)
    # 16 * unit + (0: address, 1: stride_x, 2: stride_y, 8 + loop: coefficient), in this order, all
    # of them
    UNIT = 2


class TableWrite(wiring.Signature):
    """Write port of the program tables, active in cycles with ``en``: ``resident`` (number of the
    program), ``kind``, ``address`` and ``data`` (18 bits)."""

    def __init__(self) -> None:
        super().__init__(
            {
                "en": Out(1),
                "resident": Out(1),
                "kind": Out(TableKind),
                "address": Out(11),
                "data": Out(18),
            }
        )


class ProgramLayout(data.StructLayout):
    """A program to run: its tables and sizes.

    Members
    -------
    resident : its number of those resident
    instructions : their number
    loops, units : those that it declares, a bit each
    contexts : that it needs; 0: a portable one
    rebase, rebase_mask : added to the addresses of these units
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "resident": unsigned(1),
                "instructions": unsigned(12),
                "loops": unsigned(8),
                "units": unsigned(32),
                "contexts": unsigned(8),
                "rebase": unsigned(18),
                "rebase_mask": unsigned(32),
            }
        )
