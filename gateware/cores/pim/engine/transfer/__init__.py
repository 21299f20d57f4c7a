# SPDX-License-Identifier: BSD-2-Clause
"""Transfer unit of PIM: moves data between main memory, local memories and cores."""
