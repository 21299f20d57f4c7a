# SPDX-License-Identifier: BSD-2-Clause
"""Gate-level check of builds (``quintet check``): simulates the placed netlist at its pins and
compares it with the virtual board."""
