# SPDX-License-Identifier: BSD-2-Clause
"""IMAGine engine: the GEMV array, its controller, and DMA."""
