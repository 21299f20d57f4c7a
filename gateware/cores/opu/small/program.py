# SPDX-License-Identifier: BSD-2-Clause
"""The small engine's microprogram, put together, and where each opcode enters it. Pure Python."""
from ..isa import ISA
from .assembler import Microprogram
from .configuration import CONFIGURATION
from .convolution import CONVOLUTION
from .loads import LOADS
from .run import RUN
from .store import STORE

__all__ = ["microprogram"]

#: Where an opcode enters: at the label of its mnemonic (``@shape.ifm``: ``shape_ifm``).
_DECODE = {None: "illegal"} | {code: name.lstrip("@").replace(".", "_") for name, code in ISA.opcodes.items()}
#: Where the instructions of the DMA go on when their range was found good.
_MOVE = {None: "illegal"} | {ISA.opcodes[name]: "move_" + name.rpartition(".")[2]
                             for name in ("ld.ifm", "ld.ker", "ld.bias", "store", "pad")}


def microprogram(params):
    """The :class:`~.assembler.Microprogram` for build parameters; entries are ``reset`` and ``start``."""
    sizes = {f"{name}_1": params[name] + 1 for name in ("ifm_lines", "ofm_lines", "ker_rows")}
    text = RUN.format(**ISA.fault_codes) + (CONFIGURATION + LOADS).format(**sizes) + STORE + CONVOLUTION
    return Microprogram((_DECODE, _MOVE), text)
