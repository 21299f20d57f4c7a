# SPDX-License-Identifier: BSD-2-Clause
"""A plan at work on a target."""

from .report import SessionReport
from .runs import RunFailed
from .session import Session

__all__ = ["RunFailed", "Session", "SessionReport"]
