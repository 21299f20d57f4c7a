# SPDX-License-Identifier: BSD-2-Clause
"""Language models: networks that take one token an inference and give a score for each token that
may come next. Their vocabulary comes from the ONNX file; what they have read stays in states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..compiler.evaluate import run_graph
from ..compiler.streams.states import initial_value
from ..compiler.values import from_graph, to_graph
from ..errors import InputError

if TYPE_CHECKING:
    from ..compiler.graph import Graph, Port
    from ..compiler.plan.plan import Plan
    from ..compiler.session import Session
    from ..compiler.streams.states import StatePair

__all__ = ["Choice", "LanguageModel", "language_model", "own_text", "plan_model", "written"]


@dataclass(frozen=True)
class LanguageModel:
    """The form of a language model: name of the ``network``, its ``vocabulary``, the port ``token``
    that takes a token, and the port ``scores``."""

    network: str
    vocabulary: tuple[str, ...]
    token: Port
    scores: Port

    def encode(self, text: str) -> list[int]:
        """Numbers of a text's tokens; the longest token that fits is taken each time. Raises
        InputError."""
        places = {token: number for number, token in enumerate(self.vocabulary)}
        longest = max(map(len, self.vocabulary))
        found = []
        at = 0
        while at < len(text):
            sizes = range(min(longest, len(text) - at), 0, -1)
            token = next((text[at : at + n] for n in sizes if text[at : at + n] in places), None)
            if token is None:
                raise InputError(
                    f"prompt: {text[at]!r} is not in the vocabulary of {self.network}, which has "
                    f"{len(self.vocabulary)} tokens"
                )
            found.append(places[token])
            at += len(token)
        return found

    def inputs(self, numbers: Sequence[int]) -> np.ndarray:
        """Array of the input for the ``numbers`` of tokens: ones at their places, or the numbers
        themselves if the input has a single element."""
        size = int(np.prod(self.token.shape, dtype=int))
        if size == 1:
            found = np.array(numbers, np.float64)
        else:
            found = np.zeros((len(numbers), size))
            found[np.arange(len(numbers)), list(numbers)] = 1
        return found.reshape(len(numbers), *self.token.shape)


def language_model(
    network: str, vocabulary: Sequence[str], inputs: Sequence[Port], outputs: Sequence[Port]
) -> LanguageModel:
    """Checks that a network is a language model. ``inputs``, ``outputs``: its ports without the
    states. Raises InputError."""
    if not vocabulary:
        raise InputError(
            f"{network}: no vocabulary: expected the metadata vocabulary in the ONNX file, a JSON "
            f"list with the text of each token"
        )
    if "" in vocabulary or len(set(vocabulary)) != len(vocabulary):
        raise InputError(f"{network}: the vocabulary: expected different texts, none of them empty")
    for what, ports in (("input", inputs), ("output", outputs)):
        if len(ports) != 1:
            names = ", ".join(port.name for port in ports)
            raise InputError(f"{network}: {what}s {names}: expected one beside the states")
    (token,), (scores,) = inputs, outputs
    sizes = [int(np.prod(port.shape, dtype=int)) for port in (token, scores)]
    if sizes[1] != len(vocabulary):
        raise InputError(
            f"{network}: the output {scores.name} has {sizes[1]:,} values: expected "
            f"{len(vocabulary):,}, a score for each token of the vocabulary"
        )
    if sizes[0] not in (1, len(vocabulary)):
        raise InputError(
            f"{network}: the input {token.name} has {sizes[0]:,} values: expected "
            f"{len(vocabulary):,}, one for each token of the vocabulary, or a token's number"
        )
    return LanguageModel(network, tuple(vocabulary), token, scores)


class Choice:
    """Choice of the next token: the highest score at ``temperature`` 0, else a draw by the softmax
    of the scores over the temperature, from random numbers of ``seed``."""

    def __init__(self, temperature: float, seed: int):
        self._temperature = temperature
        self._rng = np.random.default_rng(seed)

    def __call__(self, scores: np.ndarray) -> int:
        flat = np.asarray(scores, np.float64).ravel()
        if self._temperature == 0:
            return int(flat.argmax())
        powers = np.exp((flat - flat.max()) / self._temperature)
        bounds = np.cumsum(powers / powers.sum())
        # Rounding may leave the last bound below 1.
        return min(int(np.searchsorted(bounds, self._rng.random(), "right")), len(flat) - 1)


def written(
    session: Session, model: LanguageModel, prompt: Sequence[int], count: int, choice: Choice
) -> Iterator[int]:
    """Numbers of ``count`` tokens that a session writes behind a prompt, each as soon as it is
    known; the states go on from where they are."""
    numbers = list(prompt)
    for _ in range(count):
        scores = session.outputs(model.inputs(numbers))[model.scores.name]
        numbers = [choice(scores[-1])]
        yield numbers[0]


def own_text(
    graph: Graph,
    pairs: Sequence[StatePair],
    *,
    texts: int = 4,
    steps: int = 128,
    seed: int = 0,
) -> np.ndarray:
    """Text that a language model writes itself, in floating point at temperature 1, as calibration
    for a quantiser: inputs [texts, steps, ...]."""
    states = {pair.input for pair in pairs}, {pair.output for pair in pairs}
    model = language_model(
        graph.name,
        graph.vocabulary,
        [port for port in graph.inputs if port.name not in states[0]],
        [port for port in graph.outputs if port.name not in states[1]],
    )
    ports = {port.name: port for port in (*graph.inputs, *graph.outputs)}
    choices = [Choice(1.0, seed + number) for number in range(texts)]
    tokens = [int(number) for number in np.arange(texts) % len(model.vocabulary)]
    now = {
        pair.input: np.repeat(initial_value(pair, ports[pair.input])[None], texts, axis=0)
        for pair in pairs
    }
    found = []
    for _ in range(steps):
        given = {model.token.name: model.inputs(tokens), **now}
        found.append(given[model.token.name])
        values = run_graph(
            graph, {ports[name].tensor: to_graph(ports[name], one) for name, one in given.items()}
        )
        results = {
            name: from_graph(ports[name], values[ports[name].tensor])
            for name in (model.scores.name, *(pair.output for pair in pairs))
        }
        now = {pair.input: results[pair.output] for pair in pairs}
        scores = results[model.scores.name]
        tokens = [choice(row) for choice, row in zip(choices, scores, strict=True)]
    return np.stack(found, axis=1)


def plan_model(plan: Plan) -> LanguageModel:
    """The language model that a plan holds. Raises InputError."""
    return language_model(plan.network, plan.vocabulary, plan.inputs, plan.outputs)
