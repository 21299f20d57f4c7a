# SPDX-License-Identifier: BSD-2-Clause
"""OpenTPU's networks and programs: generators, training, jobs."""
