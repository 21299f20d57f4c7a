# SPDX-License-Identifier: BSD-2-Clause
"""Gateware, and its specification in pure Python: instruction sets, golden models, assemblers."""

import time

__all__ = ["LOADED_AT"]

#: Seconds since 1970 before which no module of the gateware was read: what stands in a file that is
#: younger may not be what runs.
LOADED_AT = time.time()
