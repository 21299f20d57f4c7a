# SPDX-License-Identifier: BSD-2-Clause
"""Checks of a whole OPU program before it runs. Pure Python."""

__all__ = ["check_job", "lint"]


def lint(items, params):
    return ()


def check_job(program, registers, params):
    return None
