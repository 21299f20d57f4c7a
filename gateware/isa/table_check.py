# SPDX-License-Identifier: BSD-2-Clause
"""Consistency check of instruction tables. Pure Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .instruction import TableError, mask, named_operands

if TYPE_CHECKING:
    from .table import Isa


__all__ = ["check_table"]


def check_table(isa: Isa) -> None:
    """Checks a table for contradictions. Raises :class:`TableError`."""
    if len(isa.tag) != 4:
        raise TableError(f"{isa.name}: tag {isa.tag!r} must have four characters")
    if isa.rest not in ("zero", "ignored"):
        raise TableError(f"{isa.name}: rest must be 'zero' or 'ignored', not {isa.rest!r}")
    if sum(part.name == "opcode" for part in isa.parts) != 1:
        raise TableError(f"{isa.name}: exactly one part must be called opcode")
    if len({s.bits for s in isa.storage}) != 1:
        raise TableError(f"{isa.name}: every storage must hold words of the same width")
    _check_ranges(isa, "parts", [(p.name, p.hi, p.lo) for p in isa.parts])
    codes, names = [f.code for f in isa.faults], {f.name for f in isa.faults}
    if len(set(codes)) != len(codes) or len(names) != len(codes):
        raise TableError(f"{isa.name}: a fault number or name stands twice")
    for name in (isa.opcode_fault, isa.field_fault):
        if name not in names:
            raise TableError(f"{isa.name}: no fault is called {name!r}")
    for r in isa.registers:
        if r.align < 1 or any(r.reset_of(k) % r.align for k in range(r.count)):
            raise TableError(
                f"{isa.name}: register {r.name} must have an align of at least 1 and reset to "
                f"a multiple of it, not {r.align}"
            )
    mnemonics = {i.mnemonic for i in isa.instructions}
    for i in isa.instructions:
        ranges = [("opcode", isa.opcode_part.hi, isa.opcode_part.lo)]
        ranges += [("fixed", hi, lo) for hi, lo, _ in i.fixed] + [
            (f.name, f.hi, f.lo) for f in i.fields
        ]
        _check_ranges(isa, i.mnemonic, ranges)
        if i.opcode >> isa.opcode_part.width:
            raise TableError(f"{isa.name}: opcode {i.opcode} of {i.mnemonic} does not fit its part")
        if len(i.by_name) != len(i.fields):
            raise TableError(f"{isa.name}: two fields of {i.mnemonic} have the same name")
        for fault in [f.fault for f in i.fields if f.fault] + [r.fault for r in i.rules]:
            if fault not in names:
                raise TableError(f"{isa.name}: {i.mnemonic} raises {fault!r}, which is no fault")
        if i.unbuilt and i.unbuilt not in mnemonics:
            raise TableError(
                f"{isa.name}: {i.mnemonic} acts as {i.unbuilt!r}, which is no instruction"
            )
        for f in i.fields:
            if f.flag and f.width != 1:
                raise TableError(f"{isa.name}: flag {f.flag} of {i.mnemonic} must be one bit")
        try:
            trees = i.syntaxes
        except TableError as error:
            raise TableError(f"{isa.name}: {i.mnemonic}: {error}") from None
        for tree in trees:
            written = set(named_operands(tree))
            for f in i.operands:
                if f.name not in written and f.default is None:
                    raise TableError(
                        f"{isa.name}: syntax of {i.mnemonic} lacks {f.name}, which has no default"
                    )
            for name in written - set(i.by_name):
                raise TableError(
                    f"{isa.name}: syntax of {i.mnemonic} names {name}, which is no field"
                )


def _check_ranges(isa, what, ranges):
    used = 0
    for name, hi, lo in ranges:
        if not 0 <= lo <= hi < isa.bits:
            raise TableError(
                f"{isa.name}: {what}: {name} [{hi}:{lo}] lies outside the {isa.bits}-bit word"
            )
        if used & mask(hi, lo):
            raise TableError(f"{isa.name}: {what}: {name} [{hi}:{lo}] overlaps another range")
        used |= mask(hi, lo)
