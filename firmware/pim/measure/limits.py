# SPDX-License-Identifier: BSD-2-Clause
"""Lower bounds of a program's cycles on a build (section 10): issue, matrix unit, ports of the
local memory, exchanges, main memory."""

from dataclasses import dataclass
from typing import Any

from ....gateware.cores.pim.image.codes import words_of
from ....gateware.cores.pim.image.image import CoreProgram, Image
from ....gateware.cores.pim.isa import ISA

__all__ = ["CoreLimit", "core_limit", "physical_limit"]

_NAMES = {number: name for name, number in ISA.opcodes.items()}
_TWO_SOURCES = ("vvadd", "vvsub", "vvmul", "vvdmul", "vvmax", "vvsll", "vvsra")
_ONE_SOURCE = ("vrelu", "vtanh", "vsigm", "vavg", "vmv", "vrsu", "vrsl")


@dataclass(frozen=True)
class CoreLimit:
    """Lower bounds of a core's cycles by resource; ``data_bytes``: traffic of main memory."""

    instructions: int
    matrix: int
    port_a: int
    port_b: int
    exchange: int
    code_bytes: int
    data_bytes: int

    def cycles(self, beat: int) -> int:
        """The largest of the bounds; code arrives ``beat`` bytes per cycle."""
        return max(
            self.instructions,
            self.matrix,
            self.port_a,
            self.port_b,
            self.exchange,
            -(-self.code_bytes // beat),
        )


def core_limit(core: CoreProgram, params: dict[str, Any]) -> CoreLimit:
    """The :class:`CoreLimit` of a core of an image.

    Words of the local memory are counted as section 10 counts them: of matrix and vector
    instructions what they read, of transfers their bytes once.
    """
    word, lanes = params["vec_bytes"], params["lanes"]
    inside = (core.ibiw + 7) // 8
    matrix = port_a = port_b = exchange = data = 0
    words = [int(w) for w in words_of(core.code, core.mode, core.count)[0]]
    for w in words:
        name, size = _NAMES[w & 63], w >> 21 & 2047
        if name == "setbw":
            inside = ((w >> 6 & 31 or 32) + 7) // 8
        elif name == "mvmul":
            group = core.groups[w >> 21 & 1023]
            matrix += group.rows * -(-group.cols // lanes)
            port_a += -(-group.rows * inside // word)
        elif name in _TWO_SOURCES or name in _ONE_SOURCE:
            port_a += -(-size * inside // word) * (2 if name in _TWO_SOURCES else 1)
        elif name in ("ld", "st", "lmv", "lldi", "send", "recv"):
            port_b += -(-size // word)
            exchange += -(-size // 8) if name in ("send", "recv") else 0
            data += size if name in ("ld", "st") else 0
        elif name == "sld":
            data += 4
    return CoreLimit(len(words), matrix, port_a, port_b, exchange, len(core.code), data)


def physical_limit(image: Image, params: dict[str, Any], beat: int) -> int:
    """Lower bound of the cycles of RUN for ``image`` on this build, at a memory of ``beat`` bytes
    per cycle."""
    cores = [core_limit(core, params) for core in image.cores]
    shared = sum(c.code_bytes + c.data_bytes for c in cores)
    return max(-(-shared // beat), *(c.cycles(beat) for c in cores))
