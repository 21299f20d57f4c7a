# SPDX-License-Identifier: BSD-2-Clause
"""Exports for other tools: memory maps, Verilog with its ports, test benches, C headers."""
