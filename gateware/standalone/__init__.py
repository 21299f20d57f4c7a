# SPDX-License-Identifier: BSD-2-Clause
"""Work that the SoC does without a host: lists of runs (docs/how/standalone.md)."""
