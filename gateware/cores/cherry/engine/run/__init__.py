# SPDX-License-Identifier: BSD-2-Clause
"""Run control of Cherry: program lists, images and DMA lists."""
