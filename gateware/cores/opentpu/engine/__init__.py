# SPDX-License-Identifier: BSD-2-Clause
"""Pipelined OpenTPU engine, unit by unit."""
