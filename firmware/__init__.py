# SPDX-License-Identifier: BSD-2-Clause
"""Programs, trained networks and jobs for the cores, and the scripts that generate them."""
