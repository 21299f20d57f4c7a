# SPDX-License-Identifier: BSD-2-Clause
"""Scheduling for Cherry: operations as tasks in bands and tiles, packed into the steps of a program
list, with the places of their values and the cycles that the list takes."""
