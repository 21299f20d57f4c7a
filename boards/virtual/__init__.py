# SPDX-License-Identifier: BSD-2-Clause
"""Virtual boards: the bitstream's own SoC, compiled by CXXRTL, with models of the board's memory
chips."""
