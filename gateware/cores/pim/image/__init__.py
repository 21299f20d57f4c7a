# SPDX-License-Identifier: BSD-2-Clause
"""The program image of PIM: what it holds, written and read. Pure Python."""
