# SPDX-License-Identifier: BSD-2-Clause
"""Pipelined Cherry engine, unit by unit."""
