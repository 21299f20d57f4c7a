# SPDX-License-Identifier: BSD-2-Clause
"""A run of Cherry from start to end: program lists, images, DMA lists."""
