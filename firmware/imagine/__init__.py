# SPDX-License-Identifier: BSD-2-Clause
"""Programs and jobs for IMAGine (docs/cores/imagine-kernels.md)."""
