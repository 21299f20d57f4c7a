# SPDX-License-Identifier: BSD-2-Clause
"""Load/store unit for two banks of MEM: two elements per cycle, with serial address generation."""
