# SPDX-License-Identifier: BSD-2-Clause
"""Memories and DMA of the Cherry engine."""
