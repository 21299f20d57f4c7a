# SPDX-License-Identifier: BSD-2-Clause
"""Amaranth platforms that amaranth-boards lacks or that need additions."""
