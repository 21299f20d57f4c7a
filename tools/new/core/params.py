# SPDX-License-Identifier: BSD-2-Clause
"""Sizes and presets of Template: there are none to choose. Pure Python."""

from quintet.gateware.isa.parameters import ParameterSpace, Preset
from quintet.gateware.isa.peaks import Peaks

__all__ = ["SPACE"]


def _peaks(params):
    """Peak of a build: an operation per instruction, and an instruction per cycle."""
    return Peaks(1)


SPACE = ParameterSpace("template", (), (Preset("25f", default=True), Preset("sim")), peaks=_peaks)
