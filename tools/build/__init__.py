# SPDX-License-Identifier: BSD-2-Clause
"""Bitstream builds: synthesis, place and route, reports, the matrix of all builds, and loading into
boards."""

from .bitstream import build

__all__ = ["build"]
