# SPDX-License-Identifier: BSD-2-Clause
"""Constants of the program image (specification, section 3.6). Pure Python."""

__all__ = [
    "ALIGN",
    "AUTO",
    "CORE_ENTRY",
    "GROUP_ENTRY",
    "HEADER",
    "MAGIC",
    "MOST_ARRAYS",
    "VERSION",
]

#: Everything in an image begins at a multiple of this.
ALIGN = 64
#: Fraction bits of ``vtanh`` and ``vsigm`` that follow from the widths.
AUTO = 255
MAGIC, VERSION = b"PIMI", 1
#: Bytes of the header, of a core's entry, of a group's entry.
HEADER, CORE_ENTRY, GROUP_ENTRY = 64, 32, 64
#: Arrays of a group, at most.
MOST_ARRAYS = 16
