# SPDX-License-Identifier: BSD-2-Clause
"""Wishbone bus of a SoC: decoder, registers, ROM, watchdog."""
