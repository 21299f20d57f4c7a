# SPDX-License-Identifier: BSD-2-Clause
"""Buffers, convolutions and post-processing of OPU."""
