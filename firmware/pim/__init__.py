# SPDX-License-Identifier: BSD-2-Clause
"""PIM's networks and jobs."""
