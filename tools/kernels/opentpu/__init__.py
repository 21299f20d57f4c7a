# SPDX-License-Identifier: BSD-2-Clause
"""Kernels for OpenTPU: generate programs of perceptrons and convolutional networks
(docs/cores/opentpu-kernels.md)."""
