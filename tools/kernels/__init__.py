# SPDX-License-Identifier: BSD-2-Clause
"""Kernel libraries: programs for the cores, made from numpy arrays. One package for each ISA."""
