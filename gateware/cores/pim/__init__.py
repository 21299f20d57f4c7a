# SPDX-License-Identifier: BSD-2-Clause
"""PIM: many cores, each with its own straight-line program, a matrix unit over fixed weights, and
one global memory."""
