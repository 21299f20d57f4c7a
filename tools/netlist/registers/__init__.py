# SPDX-License-Identifier: BSD-2-Clause
"""Registers of a netlist by the names that the gateware has for them, against those of the virtual
board, cycle by cycle."""
