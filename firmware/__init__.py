# SPDX-License-Identifier: BSD-2-Clause
"""What runs on the cores: programs, trained networks and jobs, and the scripts that make them."""
