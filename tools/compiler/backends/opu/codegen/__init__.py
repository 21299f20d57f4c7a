# SPDX-License-Identifier: BSD-2-Clause
"""Code generation for the OPU: words of a network of layers (docs/cores/opu-kernels.md)."""
