# SPDX-License-Identifier: BSD-2-Clause
"""Pipelined Cherry engine, with a package for each stage."""
