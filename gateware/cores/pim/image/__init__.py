# SPDX-License-Identifier: BSD-2-Clause
"""Program image of PIM: contents, writer and reader. Pure Python."""
