# SPDX-License-Identifier: BSD-2-Clause
"""Kernel libraries: programs for the cores, generated from numpy arrays. One package per ISA."""
