# SPDX-License-Identifier: BSD-2-Clause
"""States: outputs of a network that become inputs of its next inference, and the sequences that
calibration runs through them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError, suggestion
from ..evaluate import run_graph
from ..values import check_arrays, from_graph, to_graph

if TYPE_CHECKING:
    from ..graph import Graph, Port

__all__ = [
    "PATTERNS",
    "Pattern",
    "StatePair",
    "carried",
    "choose_states",
    "flattened",
    "found_states",
    "initial_value",
]


@dataclass(frozen=True)
class StatePair:
    """A chosen state: names of output and input; ``initial``: array of the input's shape for the
    first inference (``None``: zeros); ``why``: the reason for the choice.
    ``alike``: further tensors that hold the same numbers, and so get the same scale."""

    output: str
    input: str
    initial: np.ndarray | None = None
    why: str = "asked for"
    alike: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pattern:
    """Naming pattern of states in exported streaming models: ``shown`` describes it for messages;
    two expressions match input and output, and their groups form the common part of the names.
    ``named``: that part must contain a member of :data:`WORDS`."""

    shown: tuple[str, str]
    input: str
    output: str
    named: bool = True

    def common(self, side: str, name: str) -> str | None:
        """Common part of a port's ``name`` and its partner's; ``None`` if it does not match."""
        found = re.fullmatch(getattr(self, side), name, re.IGNORECASE)
        if found is None:
            return None
        common = "".join(group for group in found.groups() if group).lower()
        if self.named and not WORDS & set(re.split(r"[^a-z]+", common)):
            return None
        return common


#: Words, one of them in the name of a state, so that an autoencoder's ``image_in`` and
#: ``image_out`` are none.
WORDS = frozenset(
    "state states hidden cell cache caches memory mem buffer buf context h c hx cx hc conv ring "
    "window".split()
)
#: Pairs of names by which a state is found; input and output must have one shape as well.
PATTERNS = (
    Pattern(
        ("past_*", "present_*"),
        r"past(?:_key_values)?[._]?(.*)",
        r"present(?:_key_values)?[._]?(.*)",
        named=False,
    ),
    Pattern(("h0, c0", "hn, cn"), r"([hc])_?0", r"([hc])_?n", named=False),
    Pattern(("*_in", "*_out"), r"(.+)_in(?:put)?([._]?\d*)", r"(.+)_out(?:put)?([._]?\d*)"),
    Pattern(("in_*", "out_*"), r"in(?:put)?_(.+)", r"out(?:put)?_(.+)"),
    Pattern(
        ("prev_*, old_*", "next_*, new_*"), r"(?:prev|previous|old)_(.+)", r"(?:next|new)_(.+)"
    ),
    Pattern(("initial_*", "final_*"), r"(?:initial|init)_(.+)", r"(?:final|last)_(.+)"),
    Pattern(("*", "next_*, new_*"), r"(.+)", r"(?:next|new)_(.+)"),
    Pattern(("*", "*_next, *_out, *N"), r"(.+)", r"(.+?)(?:_next|_new|_out|_?N)"),
)


def found_states(graph: Graph) -> list[StatePair]:
    """States of an imported graph that are found without options: recurrent layers whose first and
    last state are ports, and ports whose names match a member of :data:`PATTERNS`.

    A pair has one shape; an input or output that has several partners is none.
    """
    inputs = {port.name: port for port in graph.inputs}
    outputs = {port.name: port for port in graph.outputs}
    found = {
        (output, source): "last and first state of a recurrent layer"
        for output, source in graph.recurrent
        if _alike(outputs[output], inputs[source])
    }
    for pattern in PATTERNS:
        taken = {name for pair in found for name in pair}
        pairs = [
            (output, source)
            for output in outputs
            for source in inputs
            if output not in taken
            and source not in taken
            and (common := pattern.common("input", source)) is not None
            and common == pattern.common("output", output)
            and _alike(outputs[output], inputs[source])
        ]
        found |= {
            pair: "names like {} and {}".format(*pattern.shown)
            for pair in pairs
            if all(sum(name in other for other in pairs) == 1 for name in pair)
        }
    if len({source for _, source in found}) == len(inputs):
        # Without an input of its own a network computes nothing of what its user has.
        return []
    return [StatePair(output, source, why=why) for (output, source), why in found.items()]


def _alike(output: Port, source: Port) -> bool:
    """Whether an output can become an input of the next inference: equal shape and type of
    numbers."""
    grid = ("scale", "zero_point", "bits", "signed")
    return output.shape == source.shape and all(
        getattr(output, name) == getattr(source, name) for name in grid
    )


def choose_states(
    graph: Graph,
    given: Mapping[str, str],
    *,
    automatic: bool = True,
    initial: Mapping[str, np.ndarray] | None = None,
    known: Sequence[StatePair] = (),
) -> tuple[StatePair, ...]:
    """Chooses the states of an imported graph, from options and names.

    Parameters
    ----------
    given : dict, name of an output -> name of the input that it is
    automatic : bool, those of :func:`found_states` as well, as far as they do not contradict
    initial : dict, name of an input -> array that the first inference reads
    known : further states, which a pass has made

    Raises
    ------
    InputError
        No such output or input, two of different shapes, an input or output that is in two states,
        no input left, an initial value of another shape or of no state.
    """
    pairs = [StatePair(output, source) for output, source in given.items()]
    outputs = {port.name: port for port in graph.outputs}
    inputs = {port.name: port for port in graph.inputs}
    for pair in pairs:
        for name, ports, side in ((pair.output, outputs, "output"), (pair.input, inputs, "input")):
            if name not in ports:
                raise InputError(
                    f"state {pair.output}={pair.input}: no {side} {name!r}{suggestion(name, ports)}"
                )
        output, source = outputs[pair.output], inputs[pair.input]
        if output.shape != source.shape:
            raise InputError(
                f"state {pair.output}={pair.input}: the output has the shape "
                f"{list(output.shape)}, the input {list(source.shape)}: expected one shape"
            )
        if not _alike(output, source):
            raise InputError(
                f"state {pair.output}={pair.input}: integers of different scales: expected one "
                f"scale and zero point"
            )
        if sum(pair.input == other.input for other in pairs) > 1:
            raise InputError(f"state {pair.output}={pair.input}: the input is in two states")
    pairs += known
    if automatic:
        taken = {name for pair in pairs for name in (pair.output, pair.input)}
        pairs += [pair for pair in found_states(graph) if not taken & {pair.output, pair.input}]
    if pairs and len(pairs) == len(inputs):
        raise InputError(
            f"{graph.name}: every input is a state: expected an input that each inference gets"
        )
    starts = dict(initial or {})
    made = [replace(pair, initial=_initial(pair, starts, inputs[pair.input])) for pair in pairs]
    if starts:
        name = next(iter(starts))
        states = [pair.input for pair in made]
        raise InputError(f"initial {name}: expected the input of a state{suggestion(name, states)}")
    return tuple(made)


def _initial(pair, starts, port):
    """Initial value, removed from ``starts``, of a state that ``port`` reads."""
    if pair.input not in starts:
        return None
    array = np.asarray(starts.pop(pair.input))
    if array.dtype.kind not in "iufb" or not np.isfinite(array).all():
        raise InputError(f"initial {pair.input}: expected finite numbers")
    if array.shape != port.shape and array.shape != (1, *port.shape):
        raise InputError(
            f"initial {pair.input}: has the shape {list(array.shape)}, expected {list(port.shape)}"
        )
    return array.reshape(port.shape)


def initial_value(pair: StatePair, port: Port) -> np.ndarray:
    """Initial value that the first inference reads, of the shape of the input ``port``, float64."""
    if pair.initial is not None:
        return np.asarray(pair.initial, np.float64)
    # A model of whole numbers has its zero at the zero point.
    return np.full(port.shape, float(port.zero_point if port.scale is not None else 0))


def flattened(
    graph: Graph, pairs: Sequence[StatePair], arrays: Mapping[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], int | None]:
    """Concatenates input sequences: ``(arrays [inputs, ...], steps of a sequence)``.

    Parameters
    ----------
    arrays : dict, name of an input that is no state -> array: [steps, ...], one sequence, or
        [sequences, steps, ...]

    Raises
    ------
    PlanError, InputError
        Arrays of other shapes, or sequences of different lengths.
    """
    states = {pair.input for pair in pairs}
    ports = [port for port in graph.inputs if port.name not in states]
    steps: set[int | None] = set()
    found = {}
    for name, array in arrays.items():
        if name in states:
            raise InputError(
                f"{graph.name}: {name} is a state, which is carried from step to step: expected "
                f"the other inputs alone, or no states"
            )
        array = np.asarray(array)
        port = next((port for port in ports if port.name == name), None)
        if pairs and port is not None and array.ndim == len(port.shape) + 2:
            steps.add(array.shape[1])
            array = array.reshape(-1, *array.shape[2:])
        else:
            steps.add(None)
        found[name] = array
    if len(steps) > 1:
        raise InputError(
            f"{graph.name}: some inputs are sequences [sequences, steps, ...] and others are not, "
            f"or their steps differ: expected all alike"
        )
    return check_arrays(graph.name, ports, found), next(iter(steps), None)


def carried(
    graph: Graph,
    pairs: Sequence[StatePair],
    inputs: Mapping[str, np.ndarray],
    steps: int | None,
) -> dict[str, np.ndarray]:
    """Computes all inputs of a network with states, in floating point: ``inputs`` (name -> array in
    the user's layout, the first axis counts consecutive steps), and for each state the values that
    the steps read.

    ``steps``: those of a sequence, behind which the states begin anew; ``None``: never.
    """
    states = {pair.input for pair in pairs}
    ports = {port.name: port for port in graph.inputs}
    outputs = {port.name: port for port in graph.outputs}
    own = {name: np.asarray(inputs[name]) for name in ports if name not in states}
    count = len(next(iter(own.values())))
    length = count if steps is None else min(steps, count)
    rows = -(-count // length)
    read = {pair.input: np.zeros((rows * length, *ports[pair.input].shape)) for pair in pairs}
    first = np.arange(rows) * length
    now = {
        pair.input: np.repeat(initial_value(pair, ports[pair.input])[None], rows, axis=0)
        for pair in pairs
    }
    for step in range(length):
        places = first + step
        given = {name: array[np.minimum(places, count - 1)] for name, array in own.items()}
        for name, array in now.items():
            read[name][places] = array
        values = {
            ports[name].tensor: to_graph(ports[name], array)
            for name, array in (given | now).items()
        }
        found = run_graph(graph, values)
        for pair in pairs:
            port = outputs[pair.output]
            now[pair.input] = np.asarray(from_graph(port, found[port.tensor]), np.float64)
    return {**own, **{name: array[:count] for name, array in read.items()}}
