# SPDX-License-Identifier: BSD-2-Clause
"""Gateware, instruction sets and golden models."""
import time

__all__ = ["LOADED_AT"]

#: Seconds since 1970 before which no module of the gateware was read: what stands in a file that is younger may not be what runs.
LOADED_AT = time.time()
