# SPDX-License-Identifier: BSD-2-Clause
"""Register map of a core as an amaranth-soc memory map, for its exporters."""

from collections.abc import Collection

from ..bus.soclib import MemoryMap, csr
from ..isa.registers import COMMON_COUNTERS, COMMON_REGISTERS
from ..isa.table import Isa

__all__ = ["register_map"]

_ACTIONS = {"r": csr.action.R, "w": csr.action.W, "rw": csr.action.RW}


def _describe(name, doc, width, access):
    """CSR register for description only: the control block implements it."""
    kind = type(name, (csr.Register,), {"__doc__": doc}, access=access)
    register = kind(csr.Field(_ACTIONS[access], width))
    for unbuilt in (register, *(action for _, action in register)):
        # No one forgot to use it.
        unbuilt._MustUse__used = True
    return register


def register_map(isa: Isa, absent: Collection[str] = ()) -> MemoryMap:
    """Memory map (12 address bits, bytes) of a core's register block: one resource for each
    register, entry of an array, and counter (``cnt_NAME``), named as in ``quintet csr``.

    Parameters
    ----------
    isa : the core package's ``ISA``
    absent : container of str, names of registers that this build lacks
    """
    found = MemoryMap(addr_width=12, data_width=8)
    entries = [
        (
            f"{r.name}{k}" if r.count > 1 else r.name,
            r.offset + k * r.width // 8,
            r.width,
            r.access,
            r.doc,
        )
        for r in (*COMMON_REGISTERS, *isa.registers)
        if r.name not in absent
        for k in range(r.count)
    ]
    entries += [
        (f"cnt_{c.name}", c.offset, 64, "r", c.doc) for c in (*COMMON_COUNTERS, *isa.counters)
    ]
    for name, offset, width, access, doc in sorted(entries, key=lambda entry: entry[1]):
        found.add_resource(
            _describe(name, doc, width, access), name=(name,), addr=offset, size=width // 8
        )
    return found
