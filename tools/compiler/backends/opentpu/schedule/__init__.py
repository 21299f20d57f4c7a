# SPDX-License-Identifier: BSD-2-Clause
"""Scheduling for OpenTPU: line lengths, chunks that fit the accumulators, addresses in the unified
buffer, and tensors that are spilled to main memory."""
