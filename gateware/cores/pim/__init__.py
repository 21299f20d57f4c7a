# SPDX-License-Identifier: BSD-2-Clause
"""PIM core: several processors with straight-line programs, each with a matrix unit over stationary
weights, and one global memory."""
