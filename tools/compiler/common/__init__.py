# SPDX-License-Identifier: BSD-2-Clause
"""Algorithms that the back ends of several cores share."""
