# SPDX-License-Identifier: BSD-2-Clause
"""SDR SDRAM controller: refresh, burst splitting, PHY, and a model of the memory chip."""
