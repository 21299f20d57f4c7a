# SPDX-License-Identifier: BSD-2-Clause
"""Bus masters for a core's memory port: Wishbone, AXI4, LiteDRAM's native port."""
