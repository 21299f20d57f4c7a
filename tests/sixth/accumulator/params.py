# SPDX-License-Identifier: BSD-2-Clause
"""Sizes and presets of Accumulator: there are none to choose. Pure Python."""
from quintet.gateware.isa.parameters import ParameterSpace, Preset

__all__ = ["SPACE"]

SPACE = ParameterSpace("accumulator", (), (Preset("25f", default=True), Preset("sim")))
