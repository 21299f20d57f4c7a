# SPDX-License-Identifier: BSD-2-Clause
"""Cherry assembler: directives, images and checks beyond the instruction table. Pure Python."""
