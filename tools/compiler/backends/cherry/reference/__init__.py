# SPDX-License-Identifier: BSD-2-Clause
"""Bit-exact numpy reference of Cherry's arithmetic and operations."""
