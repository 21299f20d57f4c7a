# SPDX-License-Identifier: BSD-2-Clause
"""Plans: compiled networks as objects, and the folders that store them."""

from .folder import load_plan, save_plan
from .plan import CoreStep, HostStep, Plan, PlanError, drop_unread

__all__ = [
    "HostStep",
    "CoreStep",
    "Plan",
    "PlanError",
    "drop_unread",
    "load_plan",
    "save_plan",
]
