# SPDX-License-Identifier: BSD-2-Clause
"""Main memory: the port that all its users share, arbiter, window guard, and what lies behind
it."""
