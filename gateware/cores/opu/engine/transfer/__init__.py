# SPDX-License-Identifier: BSD-2-Clause
"""Transfers of OPU between main memory and its own."""
