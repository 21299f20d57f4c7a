# SPDX-License-Identifier: BSD-2-Clause
"""Compute part of the OPU: buffers, convolutions and post-processing."""
