# SPDX-License-Identifier: BSD-2-Clause
"""Wishbone bus of a SoC: address decoder, registers, ROM, watchdog."""
