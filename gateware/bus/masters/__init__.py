# SPDX-License-Identifier: BSD-2-Clause
"""Bus masters behind a memory port: Wishbone, AXI4, LiteDRAM's native port."""
