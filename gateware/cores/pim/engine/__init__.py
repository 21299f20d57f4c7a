# SPDX-License-Identifier: BSD-2-Clause
"""Many-core PIM engine: processors, their units and memories, and the network between them."""
