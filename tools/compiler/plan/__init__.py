# SPDX-License-Identifier: BSD-2-Clause
"""Plans: what is run, where everything lies, and the folder that holds it."""

from .folder import load_plan, save_plan
from .plan import HostStep, MachineStep, Plan, PlanError

__all__ = ["HostStep", "MachineStep", "Plan", "PlanError", "load_plan", "save_plan"]
