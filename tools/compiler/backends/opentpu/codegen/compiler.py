# SPDX-License-Identifier: BSD-2-Clause
"""Compiler from steps to a program: buffer allocation, instruction emission, weight tiles,
scheduling of weight reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..form import BIAS_LANE, InterleaveStep, KernelStep, PoolStep, Step, packed_vector
from ..schedule.geometry import settle
from ..schedule.plan import make_plan
from .emit import Emitter
from .program import RW, Program, schedule_weights

if TYPE_CHECKING:
    from ..planes import Planes

__all__ = ["CompiledSteps", "compile_steps", "constant_vectors"]


@dataclass(eq=False, kw_only=True)
class CompiledSteps:
    """A compiled program with its memory contents.

    Attributes
    ----------
    program : Program with all its RWs
    spans : list of (first word, word behind the last), a step's
    tiles : int8 [tiles, n, n]
    constants : int8 [vectors, n], host memory from vector 0
    placement : dict, tensor -> (first host vector, Planes)
    vectors : host vectors in all
    far_vectors : host vectors from :data:`~..schedule.plan.FAR` on, besides
    resident : names of the tensors that stay in the unified buffer
    first_tile : number of the first of ``tiles``: more than 0 where tensors are tiles,
        and weight memory begins where host memory does
    """

    program: Program
    spans: list[tuple[int, int]]
    tiles: np.ndarray
    constants: np.ndarray
    placement: dict[str, tuple[int, Planes]]
    vectors: int
    far_vectors: int = 0
    resident: set[str] = field(default_factory=set)
    first_tile: int = 0


def constant_vectors(count: int, n: int, packed: Mapping[int, int] | None = None) -> np.ndarray:
    """Constant vectors that are multiplied with bias tiles, followed by those of packed biases,
    int8 [vectors, n]. ``packed``: rows of a bias -> vectors of each slot."""
    vector = np.full(n, BIAS_LANE, np.int8)
    vector[0] = 1
    found = [np.tile(vector, (count, 1))]
    for rows, number in (packed or {}).items():
        found += [np.tile(packed_vector(n, rows, slot), (number, 1)) for slot in range(n // rows)]
    return np.concatenate(found)


def compile_steps(
    steps: Sequence[Step | PoolStep | KernelStep | InterleaveStep],
    planes: Mapping[str, Planes],
    *,
    inputs: Collection[str],
    stored: Collection[str],
    params: Mapping[str, Any],
    ahead: int | None = None,
    merge: str = "all",
    least: int = 4,
    far: Collection[str] | None = None,
) -> CompiledSteps:
    """Compiles the steps of a network into one program.

    Parameters
    ----------
    steps : list of Step, PoolStep, KernelStep and InterleaveStep, each behind those that make its
        sources
    planes : dict, tensor -> Planes without gaps
    inputs : names of tensors that are in main memory before a run
    stored : names of tensors that must be there after it
    params : build parameters
    ahead : tiles that are requested ahead of their product
    merge : name out of :data:`~..schedule.geometry.MERGES`
    least, far : as of :func:`~..schedule.plan.make_plan`

    Raises
    ------
    KernelError
        A build that does not hold what one step needs.
    """
    settled, zeroed = settle(steps, planes, merge)
    plan = make_plan(
        steps, settled, zeroed, inputs=inputs, stored=stored, params=params, least=least, far=far
    )
    emitter = Emitter(plan, inputs=inputs, stored=stored, params=params)
    for number, step in enumerate(steps):
        emitter.step(number, step)
    emitter.program.hlt()
    if ahead is None:
        ahead = min(3, params["wfifo_tiles"])
    beside = 1 if params["banks"] == 1 and not params["chain"] else 0
    words = schedule_weights(emitter.program.words, ahead, beside)
    spans = _spans(emitter.program.words, words, emitter.marks)
    n = params["n"]
    tiles = np.array(emitter.tiles.list, np.int8).reshape(-1, n, n)
    return CompiledSteps(
        program=Program(words),
        spans=spans,
        tiles=tiles,
        constants=constant_vectors(plan.ones, n, plan.packed),
        placement={name: (at, settled[name]) for name, at in plan.home.items()},
        vectors=plan.vectors,
        far_vectors=plan.far_vectors,
        resident=set(plan.base),
        first_tile=emitter.tiles.first,
    )


def _spans(before, after, marks):
    """Ranges of the steps after the weight reads were inserted; the words of ``before`` keep their
    order."""
    places = [k for k, word in enumerate(after) if word.opcode != RW]
    edges = [places[mark] for mark in marks] + [places[len(before) - 1]]
    return list(zip(edges, edges[1:], strict=False))
