# SPDX-License-Identifier: BSD-2-Clause
"""Sizes and presets of Template: there are none to choose. Pure Python."""
from quintet.gateware.isa.parameters import ParameterSpace, Preset

__all__ = ["SPACE"]

SPACE = ParameterSpace("template", (), (Preset("25f", default=True), Preset("sim")))
