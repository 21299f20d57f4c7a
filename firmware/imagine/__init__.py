# SPDX-License-Identifier: BSD-2-Clause
"""Programs and jobs for IMAGine (docs/imagine-kernels.md)."""
