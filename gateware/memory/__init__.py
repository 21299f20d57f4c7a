# SPDX-License-Identifier: BSD-2-Clause
"""Main memory: the memory port, arbiter, window guard, and controllers for each kind of memory."""
