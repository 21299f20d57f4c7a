# SPDX-License-Identifier: BSD-2-Clause
"""Registers of a netlist, matched by name with those of the gateware and compared with the virtual
board's, cycle by cycle."""
