# SPDX-License-Identifier: BSD-2-Clause
"""Amaranth platforms of boards that amaranth-boards lacks, or lacks something of."""
