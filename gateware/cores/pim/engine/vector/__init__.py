# SPDX-License-Identifier: BSD-2-Clause
"""The vector unit of PIM."""
