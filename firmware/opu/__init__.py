# SPDX-License-Identifier: BSD-2-Clause
"""Programs and jobs for the OPU (docs/cores/opu-kernels.md)."""
