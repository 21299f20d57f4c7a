# SPDX-License-Identifier: BSD-2-Clause
"""Plans: compiled networks as objects, and the folders that store them."""

from .folder import load_plan, save_plan
from .plan import HostStep, MachineStep, Plan, PlanError

__all__ = ["HostStep", "MachineStep", "Plan", "PlanError", "load_plan", "save_plan"]
