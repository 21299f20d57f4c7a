# SPDX-License-Identifier: BSD-2-Clause
"""PIM assembler: directives, images, listings and checks beyond the instruction table. Pure
Python."""
