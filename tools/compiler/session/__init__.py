# SPDX-License-Identifier: BSD-2-Clause
"""Sessions: execution of plans on targets."""

from .report import SessionReport
from .runs import RunFailed
from .session import Session, StateInvalid

__all__ = ["RunFailed", "Session", "SessionReport", "StateInvalid"]
