# SPDX-License-Identifier: BSD-2-Clause
"""IMAGine assembler: the published assembler class, its text form and its exports. Pure Python."""
