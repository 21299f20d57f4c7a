# SPDX-License-Identifier: BSD-2-Clause
"""Scheduling for OpenTPU: lengths of lines, parts that fit the accumulators, places in the unified
buffer, and tensors that go through main memory."""
