# SPDX-License-Identifier: BSD-2-Clause
"""Sizes and presets of the template core, which has no choices. Pure Python."""

from quintet.gateware.isa.parameters import ParameterSpace, Preset
from quintet.gateware.isa.peaks import Peaks

__all__ = ["SPACE"]


def _peaks(params):
    """Peak performance of a build: one operation per instruction, and one instruction per cycle."""
    return Peaks(1)


SPACE = ParameterSpace("template", (), (Preset("25f", default=True), Preset("sim")), peaks=_peaks)
