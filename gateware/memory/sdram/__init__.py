# SPDX-License-Identifier: BSD-2-Clause
"""The controller of SDR SDRAM: refresh, splitting of bursts, PHY."""
