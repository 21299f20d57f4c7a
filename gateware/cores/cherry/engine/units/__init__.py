# SPDX-License-Identifier: BSD-2-Clause
"""Compute and load/store units of the Cherry engine."""
