# SPDX-License-Identifier: BSD-2-Clause
"""Scheduling for Cherry: operations as tasks in bands and tiles, packed into the steps of a program
list, with the addresses of their values and the estimated cycles of the list."""
