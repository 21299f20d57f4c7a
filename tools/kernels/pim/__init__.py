# SPDX-License-Identifier: BSD-2-Clause
"""Instruction builder for PIM's back end."""
