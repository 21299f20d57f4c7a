# SPDX-License-Identifier: BSD-2-Clause
"""Kinds of nodes: each declares its attributes, the shape of its result and its value in numpy.
``graph.py`` exports their names."""
