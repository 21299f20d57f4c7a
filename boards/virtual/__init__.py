# SPDX-License-Identifier: BSD-2-Clause
"""The virtual board: the bitstream's own SoC, compiled by CXXRTL, with models of the board's memory
chips."""
