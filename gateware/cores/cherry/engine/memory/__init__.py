# SPDX-License-Identifier: BSD-2-Clause
"""Memories of the Cherry engine and what moves data in and out of them."""
