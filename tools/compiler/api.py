# SPDX-License-Identifier: BSD-2-Clause
"""Python interface of the compiler: compile a model, load a plan, open it on a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..targets import open_target
from . import plan as plans
from .onnx_import import import_onnx
from .planning import Options, compile_graph
from .session import Session
from .streams import in_calls, stream_of
from .streams.states import choose_states, flattened
from .target_build import target_build

if TYPE_CHECKING:
    from .builder import Net
    from .plan.plan import Plan

__all__ = ["Compiled", "compile_model", "load_plan"]


@dataclass(frozen=True)
class Compiled:
    """A compiled network, held as its ``plan`` (:class:`~.plan.Plan`)."""

    plan: Plan

    def open(
        self, target: str | None = None, progress: Callable[..., None] | None = None
    ) -> Session:
        """Opens the plan on a target given by name, by default the one that it was compiled for."""
        return Session(
            self.plan,
            open_target(target or self.plan.target or f"model:{self.plan.isa}", progress),
            progress,
        )

    def save(self, folder: str | Path) -> None:
        """Write the plan into ``folder``, for ``quintet infer`` and :func:`load_plan`."""
        plans.save_plan(self.plan, folder)


def load_plan(folder: str | Path) -> Compiled:
    """Reads the :class:`Compiled` network in ``folder``. Raises :class:`~.plan.PlanError`."""
    return Compiled(plans.load_plan(folder))


def compile_model(
    model: str | Path | Net,
    target: str,
    *,
    calibration: np.ndarray | dict[str, np.ndarray] | None = None,
    preset: str | None = None,
    params: Mapping[str, Any] | None = None,
    bits: int | None = None,
    equalise: bool = True,
    percentile: float | None = None,
    host_steps: bool = False,
    images: int | None = 1,
    on_host: Sequence[str] = (),
    states: Mapping[str, str] | bool = True,
    initial: Mapping[str, np.ndarray] | None = None,
    stream: Mapping[str, int] | None = None,
    frames: int | None = None,
    approximate: int | None = None,
) -> Compiled:
    """Compiles a trained network for a target.

    Parameters
    ----------
    model : path of an ONNX model, or a :class:`~.builder.Net`
    target : ``board/isa``, ``sim:board/isa``, ``model:isa`` or a port
    calibration : inputs to quantise for, the first axis counts them: an array,
        or a dict by the names of the inputs where there are several; without it random ones, with a
        note among those of the plan. Of a network with states it is one sequence, [steps, ...], or
        several, [sequences, steps, ...], and states are left out
    preset, params : sizes, where the target leaves them open
    bits, equalise, percentile, host_steps, images, on_host, approximate :
        see :class:`~.planning.Options`
    states : dict, name of an output -> name of the input that it is in the next inference, beside
        those that are found by themselves (:func:`~.streams.states.found_states`); ``False``:
        none at all
    initial : dict, name of a state's input -> initial value; else zeros
    stream : dict of one input's name -> its axis of time, counted as the model has it: an inference
        takes some frames along it (:mod:`.streams`). Calibration is whole stretches of time then,
        or what inferences take
    frames : frames of an inference; ``None``: as few as the strides over time allow

    Returns
    -------
    Compiled
        ``open()`` gives a :class:`~.session.Session` on the target, ``save(folder)`` writes the
        plan.

    Raises
    ------
    OnnxError, PartitionError, LoweringError, InputError
    """
    build = target_build(target, preset, params)
    graph = import_onnx(model) if isinstance(model, (str, PathLike)) else model.graph()
    streaming = stream_of(graph, build, stream or {}, frames)
    if streaming is not None:
        graph = streaming.graph
    pairs = choose_states(
        graph,
        states if isinstance(states, Mapping) else {},
        automatic=states is not False,
        initial=initial,
        known=() if streaming is None else streaming.states,
    )
    steps = None
    if calibration is not None:
        kept = {pair.input for pair in pairs}
        first = next(port.name for port in graph.inputs if port.name not in kept)
        given = calibration if isinstance(calibration, dict) else {first: np.asarray(calibration)}
        if streaming is not None:
            given = in_calls(streaming, given)
        calibration, steps = flattened(graph, pairs, given)
    options = Options(
        bits,
        equalise,
        percentile,
        host_steps,
        images,
        tuple(on_host),
        states=pairs,
        steps=steps,
        approximate=approximate,
    )
    return Compiled(compile_graph(graph, build, calibration, options))
