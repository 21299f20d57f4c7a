# SPDX-License-Identifier: BSD-2-Clause
"""Transfers of PIM between main memory and its own."""
