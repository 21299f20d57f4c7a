# SPDX-License-Identifier: BSD-2-Clause
"""Pipelined OPU engine: front end, compute part, and DMA."""
