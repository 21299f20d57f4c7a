# SPDX-License-Identifier: BSD-2-Clause
"""DDR3 memory: LiteDRAM's controller and PHY, their initialisation, and the memory port."""
