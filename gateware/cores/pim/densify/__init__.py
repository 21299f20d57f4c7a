# SPDX-License-Identifier: BSD-2-Clause
"""The pass that shortens code of PIM. Pure Python."""
