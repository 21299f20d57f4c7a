# SPDX-License-Identifier: BSD-2-Clause
"""Pipelined OpenTPU engine: fetch, decode, and the matrix, activation, load and store units."""
