# SPDX-License-Identifier: BSD-2-Clause
"""Load/store unit of builds with two banks of MEM: two elements a cycle, by addresses that are
worked out one after the other."""
