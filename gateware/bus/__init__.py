# SPDX-License-Identifier: BSD-2-Clause
"""The Wishbone side of a SoC: decoder, registers, ROM, watchdog."""
