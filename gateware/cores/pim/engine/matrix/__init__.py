# SPDX-License-Identifier: BSD-2-Clause
"""The matrix unit of PIM."""
