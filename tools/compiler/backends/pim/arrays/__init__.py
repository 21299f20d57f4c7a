# SPDX-License-Identifier: BSD-2-Clause
"""Layers and the arrays that hold their weights: as matrices, what they ask for, which cores hold
them, in pieces where all are too few."""
