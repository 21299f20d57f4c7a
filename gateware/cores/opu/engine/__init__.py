# SPDX-License-Identifier: BSD-2-Clause
"""Pipelined OPU engine, unit by unit."""
