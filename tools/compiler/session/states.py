# SPDX-License-Identifier: BSD-2-Clause
"""States of a session: the values that the next inference reads, as far as the host holds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError, QuintetError, suggestion
from ..ports import to_graph
from ..values import to_numbers

if TYPE_CHECKING:
    from ..graph import State
    from ..plan.plan import CoreStep, Plan

__all__ = ["StateInvalid", "States", "initial_bytes"]


def initial_bytes(step: CoreStep, state: State) -> bytes:
    """Initial memory contents of a state that a program keeps in main memory."""
    placed = step.lowered.states[state.input.tensor]
    values = to_graph(state.input, state.initial[None])
    memory = np.zeros(placed.layout.end - placed.layout.first, np.uint8)
    numbers = to_numbers(step.part, state.input.tensor, values)
    placed.layout.write(memory, numbers, placed.layout.first)
    return memory.tobytes()


class StateInvalid(QuintetError):
    """Error: a run failed, so that the states are unknown; ``reset``, or an assignment of all
    states, makes them valid."""


class States:
    """States of a plan's session, with their validity.

    Attributes
    ----------
    values : dict, tensor of the input -> float64 [1, ...]; of a state that stays in the target's
        memory only what was written there last
    valid : bool, false behind a run that failed
    """

    def __init__(self, plan: Plan):
        self._plan = plan
        self.values: dict[str, np.ndarray] = {}
        self.valid = True

    def check(self) -> None:
        """Raises :class:`StateInvalid` if a run failed since the states were set."""
        if not self.valid:
            names = ", ".join(state.input.name for state in self._plan.states)
            raise StateInvalid(
                f"{self._plan.network}: the states {names} are invalid, since a run failed: "
                f"expected session.reset(), or a saved session.state of all of them"
            )

    @contextmanager
    def running(self) -> Iterator[None]:
        """Context manager around inferences: if one fails, the states are invalid."""
        self.check()
        self.valid = False
        yield
        self.valid = True

    def checked(self, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Checks arrays against the names and shapes of the states' inputs. Raises InputError."""
        ports = {state.input.name: state.input for state in self._plan.states}
        found = {}
        for name, value in values.items():
            if name not in ports:
                raise InputError(f"no state {name!r}{suggestion(name, ports)}")
            array = np.asarray(value)
            if array.shape != tuple(ports[name].shape):
                raise InputError(
                    f"state {name}: has the shape {list(array.shape)}, expected "
                    f"{list(ports[name].shape)}"
                )
            if array.dtype.kind not in "iufb" or not np.isfinite(array).all():
                raise InputError(f"state {name}: expected finite numbers")
            found[name] = array
        return found
