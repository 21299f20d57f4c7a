# SPDX-License-Identifier: BSD-2-Clause
"""OPU core: runs layers of convolutional networks by load, compute, post-process and store
instructions (docs/isa/opu.md)."""
