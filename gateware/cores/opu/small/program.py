# SPDX-License-Identifier: BSD-2-Clause
"""Microprogram of the small OPU engine, assembled from the text of all parts, with its entry point
for each opcode. Pure Python."""

from ....isa.parameters import Params
from ....microcode.program import Microprogram, jump_table
from ..isa import ISA, MAX_POSITIONS, MAX_TAPS, REGION_BITS, REGIONS
from ..params import LINE
from ..types import SLOT
from .configuration import CONFIGURATION
from .convolution import CONVOLUTION
from .instructions import MACHINE
from .loads import LOADS
from .run import RUN
from .store import STORE

__all__ = ["microprogram"]

#: Where an opcode enters: at the label of its mnemonic (``@shape.ifm``: ``shape_ifm``).
_DECODE = {code: name.lstrip("@").replace(".", "_") for name, code in ISA.opcodes.items()}
#: Where the instructions of the DMA go on when their range was found good.
_MOVE = {
    ISA.opcodes[name]: "move_" + name.rpartition(".")[2]
    for name in ("ld.ifm", "ld.ker", "ld.bias", "store", "pad")
}

#: Details of faults: lowest bits of fields with illegal values, numbers of section 6, masks of the
#: buffers that may be too small.
_DETAILS = {
    "bad": sorted({f.lo for i in ISA.instructions for f in i.fields if f.legal}),
    "range": range(1, 10),
    "capacity": (1, 2, 8),
}


def _entries(fault, details):
    """Entry points that load a fault's detail; the last one falls through."""
    return f" ?ALWAYS {fault}\n".join(f"{fault}_{detail}: load #{detail}" for detail in details)


def microprogram(params: Params, beat_bytes: int) -> Microprogram:
    """Assembles the :class:`~quintet.gateware.microcode.program.Microprogram` for build
    parameters, and beats of 2 or 4 bytes."""
    sizes = {f"{name}_1": params[name] + 1 for name in ("ifm_lines", "ofm_lines", "ker_rows")}
    sizes |= {"positions": MAX_POSITIONS, "positions_1": MAX_POSITIONS + 1, "taps": MAX_TAPS}
    # Beats of a line, of a burst of weights, of a slot; what makes beats of biases and of a
    # position's results.
    beats = {
        "line_places": (LINE // beat_bytes).bit_length() - 1,
        "burst": 2 * LINE // beat_bytes - 1,
        "slot": SLOT // beat_bytes - 1,
        "bias_beats": "shr *1; " if beat_bytes == 4 else "",
        "beat_places": beat_bytes.bit_length() - 1,
    }
    numbers = {
        "regions": REGIONS,
        "region_bits": REGION_BITS,
        "region_size": 1 << REGION_BITS,
        **ISA.fault_codes,
    }
    numbers |= {f"{fault}_details": _entries(fault, found) for fault, found in _DETAILS.items()}
    return Microprogram(
        MACHINE,
        {
            **{
                part: jump_table(labels, numbers, "illegal", "hold ?ALWAYS")
                for part, labels, numbers in (
                    ("opcodes", _DECODE, range(32)),
                    ("moves", _MOVE, range(max(_MOVE) + 1)),
                )
            },
            "run": RUN.format(**numbers),
            "configuration": CONFIGURATION.format(**sizes),
            "loads": LOADS.format(**sizes, **beats),
            "store": STORE.format(**beats),
            "convolution": CONVOLUTION,
        },
        entries=("reset", "start"),
    )
