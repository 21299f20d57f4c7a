# SPDX-License-Identifier: BSD-2-Clause
"""Networks of the studio: the digits networks, compiled for every core, and plans from the command
line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .pictures import image_shape

if TYPE_CHECKING:
    from quintet.tools.compiler.graph import Port
    from quintet.tools.compiler.plan import Plan
    from quintet.tools.compiler.target_build import TargetBuild

__all__ = ["DigitsNetwork", "PlanNetwork", "described"]


class DigitsNetwork:
    """A shipped digits network, for every instruction set.

    Parameters
    ----------
    key, title : name, and title on the page
    file : name of the model in ``firmware/digits``
    """

    digits = True
    isa: str | None = None

    def __init__(self, key: str, title: str, file: str) -> None:
        self.key, self.title, self._file = key, title, file
        self._plans: dict[str, Plan] = {}

    @cached_property
    def _graph(self):
        from quintet.tools.compiler.onnx_import import import_onnx

        from .. import digits

        return import_onnx(digits.FOLDER / self._file)

    @property
    def inputs(self) -> Sequence[Port]:
        """Description of the network's inputs."""
        return self._graph.inputs

    def plan(self, build: TargetBuild) -> Plan:
        """Plan for a build, compiled on first use."""
        if build.target not in self._plans:
            from quintet.gateware.isa.files import load_archive
            from quintet.tools.compiler.planning import compile_graph
            from quintet.tools.compiler.values import check_arrays

            from .. import digits

            pixels = load_archive(digits.FOLDER / "digits.npz")["calibration"]
            calibration = check_arrays(self._graph.name, self.inputs, {self.inputs[0].name: pixels})
            self._plans[build.target] = compile_graph(self._graph, build, calibration)
        return self._plans[build.target]


class PlanNetwork:
    """A compiled network from a plan folder, for targets of its build."""

    digits = False

    def __init__(self, key: str, folder: str | Path) -> None:
        from quintet.tools.compiler.plan import load_plan

        self.key, self._plan = key, load_plan(folder)
        self.isa = self._plan.isa
        self.title = f"{self._plan.network} ({Path(folder).name})"

    @property
    def inputs(self) -> Sequence[Port]:
        """Description of the network's inputs."""
        return self._plan.inputs

    def plan(self, build: TargetBuild) -> Plan:
        """The plan; raises an error for a target of another build."""
        return self._plan


def described(network: DigitsNetwork | PlanNetwork) -> dict[str, Any]:
    """Description of a network for the page."""
    port = network.inputs[0]
    shape = image_shape(port.shape) if len(network.inputs) == 1 else None
    return {
        "key": network.key,
        "title": network.title,
        "digits": network.digits,
        "isa": network.isa,
        "shape": list(port.shape),
        "image": shape and {"height": shape[0], "width": shape[1]},
    }
