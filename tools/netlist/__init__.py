# SPDX-License-Identifier: BSD-2-Clause
"""Netlists as they are placed, simulated at their pins and held against the virtual board: what
`quintet check` does."""
