# SPDX-License-Identifier: BSD-2-Clause
"""Estimated cycles of a stretch of a program: the longest of matrix unit, transfer unit, vector unit of a core, and the memory that all share."""
from quintet.gateware.cores.pim.isa import ISA

__all__ = ["load_cycles", "stretch_cycles"]

#: Bytes a cycle of a 16-bit SDRAM, and what its rows and refreshes cost.
_MEMORY, _OVERHEAD = 2, 1.15
_MEETING = 60
#: Cycles that a byte of main memory takes.
_MEMORY_CYCLES = _OVERHEAD / _MEMORY
#: Measured: share of the moves before a multiplication that it waits for, and cycles of LOAD with weights that stay: always, and for a group.
_WAITED, _LOAD, _LOAD_GROUP = 0.75, 600, 500


def load_cycles(writer):
    """Cycles before the cores begin, from the second run on."""
    return _LOAD + _LOAD_GROUP * sum(len(core.groups) for core in writer.cores)


def _decode(word):
    instruction = ISA.match(int(word))
    return instruction.mnemonic, instruction.unpack(int(word))


def stretch_cycles(writer, before, after):
    """``(cycles, bytes of main memory)`` of the words of every core from ``before`` to ``after``."""
    longest, moved = 0, 0
    for core, first, end in zip(writer.cores, before, after, strict=True):
        units, code = {"matrix": 0, "vector": 0, "transfer": 0, "issue": 0}, 0
        size, moves = [1, 1], 0
        for word in core.words[first:end]:
            name, values = _decode(word)
            code += 4 if word >> 32 == 0 or name in ("sldi", "saddi") and -(1 << 20) <= values.get("imm", 0) < 1 << 20 else 8
            units["issue"] += 1
            if name == "setbw":
                size = [-(-(values["ibiw"] or 32) // 8), -(-(values["obiw"] or 32) // 8)]
            elif name == "mvmul":
                group = core.groups[values["group"]]
                units["matrix"] += group.rows * -(-group.cols // writer.params["lanes"]) + 4 + _WAITED * moves
                moves = 0
            elif name in ("ld", "st"):
                moved += values["size"]
                units["transfer"] += values["size"] * _MEMORY_CYCLES + 40
            elif name in ("lmv", "lldi"):
                units["transfer"] += -(-values["size"] // 8) + 4
                moves += -(-values["size"] // 8) + 4 if name == "lmv" else 0
            elif name == "vavg":
                units["vector"] += values["len"] + 50
            elif name.startswith("v"):
                sources = 2 if name.startswith("vv") else 1
                units["vector"] += sources * -(-values["len"] * size[0] // 8) + 12
        moved += code
        longest = max(longest, *units.values())
    return round(max(longest, moved * _MEMORY_CYCLES) + _MEETING), moved
