# SPDX-License-Identifier: BSD-2-Clause
"""OpenTPU's networks and programs: layout of matrices, code, training, jobs."""
