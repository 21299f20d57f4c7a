# SPDX-License-Identifier: BSD-2-Clause
"""The compiler from Python: a network that opens itself on its target."""

from dataclasses import dataclass

import numpy as np

from ..targets import open_target
from . import plan as plans
from .onnx_import import import_onnx
from .planning import Options, compile_graph
from .session import Session
from .target_build import target_build
from .values import check_arrays

__all__ = ["Compiled", "compile_model", "load_plan"]


@dataclass(frozen=True)
class Compiled:
    """A compiled network: its ``plan`` (:class:`~.plan.Plan`)."""

    plan: object

    def open(self, target=None, progress=None):
        """A :class:`~.session.Session` on a target, by its name; by default on the one that it was
        compiled for."""
        return Session(
            self.plan,
            open_target(target or self.plan.target or f"model:{self.plan.isa}", progress),
            progress,
        )

    def save(self, folder):
        """Write the plan into ``folder``, for ``quintet infer`` and :func:`load_plan`."""
        plans.save_plan(self.plan, folder)


def load_plan(folder):
    """The :class:`Compiled` network in ``folder``. Raises :class:`~.plan.PlanError`."""
    return Compiled(plans.load_plan(folder))


def compile_model(
    model,
    target,
    *,
    calibration=None,
    preset=None,
    params=None,
    bits=None,
    equalise=True,
    percentile=None,
    host_steps=False,
    images=1,
):
    """Compile a trained network for a target.

    Parameters
    ----------
    model : path of an ONNX model
    target : ``board/isa``, ``sim:board/isa``, ``model:isa`` or a port
    calibration : inputs to quantise for, the first axis counts them: an array,
        or a dict by the names of the inputs where there are several; without it random ones, with a
        note among those of the plan
    preset, params : sizes, where the target leaves them open
    bits, equalise, percentile, host_steps, images : see :class:`~.planning.Options`

    Returns
    -------
    Compiled
        ``open()`` gives a :class:`~.session.Session` on the target, ``save(folder)`` writes the
        plan.

    Raises
    ------
    OnnxError, PartitionError, LoweringError, InputError
    """
    build, graph = target_build(target, preset, params), import_onnx(model)
    if calibration is not None:
        given = (
            calibration
            if isinstance(calibration, dict)
            else {graph.inputs[0].name: np.asarray(calibration)}
        )
        calibration = check_arrays(graph.name, graph.inputs, given)
    return Compiled(
        compile_graph(
            graph, build, calibration, Options(bits, equalise, percentile, host_steps, images)
        )
    )
