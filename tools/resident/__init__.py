# SPDX-License-Identifier: BSD-2-Clause
"""Plan images in flash memory, from which a board starts without a host."""
