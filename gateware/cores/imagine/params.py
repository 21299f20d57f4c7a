# SPDX-License-Identifier: BSD-2-Clause
"""Sizes and presets of the IMAGine core (specification, section 8). Pure Python."""

from ...isa.parameters import Parameter, ParameterError, ParameterSpace, Params, Preset
from ...isa.peaks import Peaks
from .isa import PES, levels, registers_of

__all__ = ["SPACE", "geometry", "levels", "register_file", "registers_of"]

#: Bytes of a word of the stream.
_WORD = 4


def _check(values):
    """Checks combinations of parameters that their single ranges allow but the core does not."""
    if values["ram"] == "sdp2" and values["depth"] > 512:
        raise ParameterError(
            f"parameter ram = sdp2 needs a depth of at most 512, not {values['depth']}"
        )


def geometry(params: Params) -> int:
    """Value of register ``geometry``: rows-1, cols-1, reg_width."""
    return params["rows"] - 1 | params["cols"] - 1 << 8 | params["reg_width"] << 16


def register_file(params: Params) -> int:
    """Value of register ``register_file``: depth, registers of a PE."""
    return params["depth"] | registers_of(params) << 16


_FIFO = tuple(1 << k for k in range(4, 11))


def _peaks(params):
    """Peak performance of a build. All PEs multiply at once, bit by bit: N steps of 2N + 2 cycles
    and one that clears (``mv_MULT`` as built). Words are issued one per cycle of the main clock,
    and the array counts in its own clock."""
    n = params["reg_width"]
    ratio = params["clock_ratio"] / 4 if params["own_clock"] else 1.0
    return Peaks(PES * params["rows"] * params["cols"] / (n * (2 * n + 2) + 1), _WORD, ratio)


SPACE = ParameterSpace(
    "imagine",
    (
        Parameter(
            "rows", int, range(1, 257), 48, job="equal", doc="block rows; a vector is as many words"
        ),
        Parameter("cols", int, range(1, 257), 4, job="at_least", doc="block columns, 16 PEs each"),
        Parameter("reg_width", int, (4, 8, 16), 16, job="equal", doc="bits of a register of a PE"),
        Parameter(
            "depth",
            int,
            (64, 128, 256, 512, 1024),
            1024,
            job="at_least",
            doc="rows of a block's RAM; min(64, depth/reg_width) registers",
        ),
        Parameter(
            "ram",
            str,
            ("tdp", "sdp2", "sdp1"),
            "tdp",
            doc="block RAM of a block: tdp, both ports of a DP16KD; sdp2, half a PDPW16KD "
            "(depth at most 512); sdp1, "
            "SB_RAM40s",
        ),
        Parameter("fifo_in", int, _FIFO, 512, doc="words of FIFO-in"),
        Parameter("fifo_out", int, _FIFO, 256, doc="words of FIFO-out"),
        Parameter("own_clock", bool, (False, True), True, doc="the array has a clock of its own"),
        Parameter(
            "clock_ratio",
            int,
            range(1, 17),
            8,
            doc="that clock over the main clock, in quarters (8 on an iCE40)",
        ),
    ),
    (
        Preset("85f", {}, default=True, doc="192 of 208 block RAMs, 3072 PEs"),
        Preset("85f-tall", {"rows": 64, "cols": 3}, doc="the same, 64 results of 48 columns"),
        Preset("25f", {"rows": 16, "cols": 3}, doc="48 of 56 block RAMs, 768 PEs"),
        Preset(
            "25f-dense",
            {"rows": 32, "cols": 2, "depth": 512, "ram": "sdp2"},
            doc="32 of 56 block RAMs, 1024 PEs of 32 registers",
        ),
        Preset(
            "hx8k",
            {"rows": 8, "cols": 2, "depth": 256, "ram": "sdp1", "fifo_in": 64, "fifo_out": 32},
            doc="16 of 32 block RAMs, 256 PEs of 16 registers",
        ),
        Preset(
            "up5k",
            {"rows": 4, "cols": 2, "depth": 256, "ram": "sdp1", "fifo_in": 64, "fifo_out": 32},
            doc="8 of 30 block RAMs, 128 PEs of 16 registers",
        ),
        Preset(
            "up5k-mini",
            {"rows": 2, "cols": 1, "depth": 256, "ram": "sdp1", "fifo_in": 64, "fifo_out": 32},
            doc="32 PEs: the same beside the logic of a USB link",
        ),
        Preset("sim", {"rows": 16, "cols": 4, "own_clock": False}, doc="for tests"),
    ),
    _check,
    _peaks,
)
