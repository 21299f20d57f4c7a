# SPDX-License-Identifier: BSD-2-Clause
"""Kernels for OpenTPU: perceptrons and networks of convolutions as programs
(docs/cores/opentpu-kernels.md)."""
