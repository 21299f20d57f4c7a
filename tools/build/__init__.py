# SPDX-License-Identifier: BSD-2-Clause
"""Bitstreams: synthesis, place and route, their reports, the matrix of all builds, loading into
boards."""

from .bitstream import build

__all__ = ["build"]
