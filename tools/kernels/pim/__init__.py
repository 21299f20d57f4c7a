# SPDX-License-Identifier: BSD-2-Clause
"""Instruction builder of PIM's compiler."""
