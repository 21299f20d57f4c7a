# SPDX-License-Identifier: BSD-2-Clause
"""OPU: layers of convolutional networks by load, compute, post-process and store
(docs/isa/opu.md)."""
