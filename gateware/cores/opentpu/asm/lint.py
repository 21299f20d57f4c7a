# SPDX-License-Identifier: BSD-2-Clause
"""Warnings about a whole OpenTPU program (docs/isa/opentpu.md, section 3.2). Pure Python."""

from collections.abc import Iterable, Iterator

from ....isa.asm.assembler import Item
from ....isa.parameters import Params

__all__ = ["lint"]

_DEFAULT_TILES = 4


def lint(items: Iterable[Item], params: Params | None) -> Iterator[tuple[int | None, str]]:
    """Warnings about a program: pairs (index of the instruction or ``None``, message), the first of
    each kind with the number of others.

    ``items`` have ``instruction`` (``None`` for what is no legal instruction) and ``values``. Words
    behind the first HLT are never executed and not looked at.
    """
    capacity = (params or {}).get("wfifo_tiles", _DEFAULT_TILES) + 1
    found: dict[str, list[int]] = {}
    pending, switched, halted = 0, False, False
    for index, item in enumerate(items):
        if item.instruction is None:
            continue
        name, values = item.instruction.mnemonic, item.values
        if name == "HLT":
            halted = True
            break
        if name == "RW":
            pending += 1
            if pending > capacity:
                found.setdefault(
                    f"more tiles pending than the weight queue holds ({capacity}): fault "
                    f"weight_overflow",
                    [],
                ).append(index)
        elif name == "MMC" and values["switch"]:
            switched = True
            if not pending:
                found.setdefault("MMC.S with no tile pending: fault weight_underflow", []).append(
                    index
                )
            pending = max(0, pending - 1)
        elif name == "MMC" and not switched:
            found.setdefault("the first MMC has no S: fault no_weights", []).append(index)
        elif name == "ACT" and values["relu"] and values["sigmoid"]:
            found.setdefault("ACT with both R and Q means neither (func 3)", []).append(index)
        if values.get("length") == 256:
            found.setdefault(
                "length 256 is coded 0, which the published functional simulator takes as nothing",
                [],
            ).append(index)
    for message, places in found.items():
        others = f" ({len(places) - 1} more of this kind)" if len(places) > 1 else ""
        yield places[0], message + others
    if not halted:
        yield None, "the program has no HLT: fault program_end"
