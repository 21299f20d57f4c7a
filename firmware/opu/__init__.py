# SPDX-License-Identifier: BSD-2-Clause
"""Programs and jobs for the OPU (docs/opu-kernels.md)."""
