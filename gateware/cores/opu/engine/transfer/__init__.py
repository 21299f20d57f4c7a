# SPDX-License-Identifier: BSD-2-Clause
"""DMA of the OPU between main memory and its buffers."""
