# SPDX-License-Identifier: BSD-2-Clause
"""Networks that the page offers: the digits', compiled for every machine, and plans from the
command line."""

from functools import cached_property
from pathlib import Path

from .pictures import image_shape

__all__ = ["DigitsNetwork", "PlanNetwork", "described"]


class DigitsNetwork:
    """One of the shipped networks for digits, for every instruction set.

    Parameters
    ----------
    key, title : name, and what the page calls it
    file : name of the model in ``firmware/digits``
    """

    digits = True
    isa = None

    def __init__(self, key, title, file):
        self.key, self.title, self._file = key, title, file
        self._plans = {}

    @cached_property
    def _graph(self):
        from quintet.tools.compiler.onnx_import import import_onnx

        from .. import digits

        return import_onnx(digits.FOLDER / self._file)

    @property
    def inputs(self):
        return self._graph.inputs

    def plan(self, build):
        """The plan for a :class:`~quintet.tools.compiler.target_build.TargetBuild`."""
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
    """The plan in ``folder``, for machines of its build."""

    digits = False

    def __init__(self, key, folder):
        from quintet.tools.compiler.plan import load_plan

        self.key, self._plan = key, load_plan(folder)
        self.isa = self._plan.isa
        self.title = f"{self._plan.network} ({Path(folder).name})"

    @property
    def inputs(self):
        return self._plan.inputs

    def plan(self, build):
        """The plan; a target of another build than its own refuses it."""
        return self._plan


def described(network):
    """What the page is told of a network."""
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
