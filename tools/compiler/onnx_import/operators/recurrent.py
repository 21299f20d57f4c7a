# SPDX-License-Identifier: BSD-2-Clause
"""Translators of recurrent layers. An LSTM or GRU becomes one node per direction, and two
directions are concatenated; any other layer is unrolled."""

import numpy as np

from ...graph import Concat, Gru, Lstm, Reshape, Slice
from ..errors import Refused
from ..step import View, operator
from .unrolled import USUAL, unrolled


@operator("RNN", "LSTM", "GRU")
def _recurrent(step):
    if not _plain(step):
        return unrolled(step)
    both = step.attribute("direction", "forward") == "bidirectional"
    directions = 2 if both else 1
    tensor, steps = _sequence(step)
    made = [_direction(step, tensor, at, directions) for at in range(directions)]
    hidden = step.draft.graph.shape(made[0])[1]
    return [*_outputs(step, made, steps, hidden), None][: len(step.outputs)]


def _plain(step):
    """Whether the graph's own LSTM or GRU node covers all features of the layer."""
    if step.operator == "RNN":
        return False
    step.wants("direction", ("forward", "reverse", "bidirectional"), "forward")
    usual = USUAL[step.operator]
    names = [name.lower() for name in step.attribute("activations") or usual]
    peephole, x = step.operand(7), step.operand(0)
    batch = 0 if step.attribute("layout", 0) else 1
    return (
        names in (usual, usual * 2)
        and not step.attribute("clip")
        and not step.attribute("input_forget", 0)
        and not any(isinstance(operand, View) for operand in step.operands[1:])
        and (peephole is None or not peephole.data.any())
        and (x is None or len(x.lengths) != 3 or x.lengths[batch] == 1)
        and not (len(step.outputs) > 2 and step.outputs[2] in step.used)
    )


def _sequence(step):
    """Name of the input tensor (steps, features), and its number of steps."""
    view = step.flowing(0, "X")
    if len(view.lengths) != 3:
        raise Refused(f"X of shape {view.lengths}: expected three axes")
    batch = 0 if step.attribute("layout", 0) else 1
    steps = view.lengths[1 - batch]
    lengths = step.numbers(4, "sequence_lens")
    if lengths is not None and lengths != [steps]:
        raise Refused(f"sequence_lens = {lengths}: expected all {steps} steps")
    return step.draft.arranged(view, [(1 - batch,), (2,)]), steps


def _direction(step, tensor, at, directions):
    """Adds a layer in one direction and returns the name of the states of all steps."""
    lstm = step.operator == "LSTM"
    gates = 4 if lstm else 3
    features = step.draft.graph.shape(tensor)[1]
    weights, recurrent = (
        step.finite(name, step.fixed(index, name).data) for index, name in ((1, "W"), (2, "R"))
    )
    if (
        recurrent.ndim != 3
        or recurrent.shape != (directions, gates * recurrent.shape[2], recurrent.shape[2])
        or not recurrent.size
    ):
        raise Refused(
            f"R of shape {recurrent.shape}: expected ({directions}, {gates} * hidden, hidden)"
        )
    hidden = recurrent.shape[2]
    if step.attribute("hidden_size", hidden) != hidden or weights.shape != (
        directions,
        gates * hidden,
        features,
    ):
        raise Refused(
            f"W of shape {weights.shape} and hidden_size = {step.attribute('hidden_size')} "
            f"with R of {recurrent.shape} on {features} features"
        )
    bias = step.fixed(3, "B")
    bias = (
        np.zeros((directions, 2 * gates * hidden)) if bias is None else step.finite("B", bias.data)
    )
    if bias.shape != (directions, 2 * gates * hidden):
        raise Refused(f"B of shape {bias.shape}: expected ({directions}, {2 * gates * hidden})")
    pair = bias[at].reshape(2, gates * hidden)
    attributes = {
        "weights": weights[at],
        "recurrent": recurrent[at],
        "bias": pair.sum(axis=0) if lstm else pair,
        "initial": _state(step, 5, "initial_h", at, directions, hidden),
        "reverse": step.attribute("direction") == "reverse" or at == 1,
    }
    if lstm:
        attributes["cell"] = _state(step, 6, "initial_c", at, directions, hidden)
    else:
        attributes["linear_before_reset"] = bool(step.attribute("linear_before_reset", 0))
    own = directions == 1 and step.outputs[0]
    return step.draft.add(
        Lstm if lstm else Gru,
        tensor,
        output=own or None,
        part="" if directions == 1 else ("forward", "backward")[at],
        **attributes,
    )


def _state(step, index, name, at, directions, hidden):
    """Initial state of a layer in one direction."""
    given = step.fixed(index, name)
    if given is None:
        return np.zeros(hidden)
    data = step.finite(name, given.data)
    if data.size != directions * hidden:
        raise Refused(
            f"{name} of shape {given.data.shape}: expected {directions} directions, a batch of 1 "
            f"and {hidden} states"
        )
    return data.reshape(directions, hidden)[at]


def _outputs(step, made, steps, hidden):
    """Views of the outputs Y and Y_h in the model's layout, if they are used."""
    draft, names = (
        step.draft,
        [name if name in step.used else "" for name in (*step.outputs, "", "", "")[:3]],
    )
    batch_first, both = bool(step.attribute("layout", 0)), len(made) == 2
    whole = last = None
    if names[0]:
        tensor, axes = made[0], [(0,), (), (), (1,)]
        if both:
            tensor = draft.add(
                Reshape,
                draft.add(Concat, *made, part="both", axis=1),
                output=names[0],
                part="directions",
                shape=(steps, 2, hidden),
            )
            axes = [(0,), (1,), (), (2,)]
        whole = draft.view(tensor, [axes[2], axes[0], axes[1], axes[3]] if batch_first else axes)
    if names[1]:
        ends = []
        for at, tensor in enumerate(made):
            first = 0 if at == 1 or step.attribute("direction") == "reverse" else steps - 1
            ends.append(
                draft.add(
                    Slice,
                    tensor,
                    output=None if both else names[1],
                    part="last",
                    start=(first, 0),
                    stop=(first + 1, hidden),
                    step=(1, 1),
                )
            )
        axes = [(0,), (), (1,)]
        tensor = draft.add(Concat, *ends, output=names[1], part="ends", axis=0) if both else ends[0]
        last = draft.view(tensor, [axes[1], axes[0], axes[2]] if batch_first else axes)
    return whole, last
