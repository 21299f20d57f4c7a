# SPDX-License-Identifier: BSD-2-Clause
"""Kernel libraries: generate programs for the cores from numpy arrays. One package per ISA."""
