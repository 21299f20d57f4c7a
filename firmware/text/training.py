# SPDX-License-Identifier: BSD-2-Clause
"""Training of the language model: ``python -m quintet.firmware.text.training TEXT...`` reads texts
and writes ``text.onnx`` and ``text.npz``. Needs the extra ``compile``; takes a quarter of an hour
of one processor.

Any text in UTF-8 will do, some hundred thousand characters of it. Of Markdown the prose is taken.
The last twentieth of the text is held out and decides about nothing.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from quintet.gateware.isa.files import write_whole
from quintet.gateware.requirements import extra_command

from . import FOLDER, one_hot
from .model import text_bytes
from .network import Sizes, Weights, backward, forward, initial_weights, loss_of

__all__ = ["main", "numbered", "prose", "train", "vocabulary"]

#: Characters of the vocabulary, at most; rarer ones are left out of the text.
_CHARACTERS = 80
#: Texts of a step, and characters of each.
_TEXTS, _LENGTH = 32, 128
#: Characters from the held-out text that are shipped, to calibrate a quantiser with.
_CALIBRATION = 512
_SMOOTHING, _SMOOTHING_OF_SQUARES = 0.9, 0.99


def prose(text: str) -> str:
    """Prose of a Markdown text: a paragraph a line, without code, tables, comments and the
    addresses of links."""
    text = re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.DOTALL)
    found = []
    for paragraph in re.split(r"\n\s*\n", text):
        lines = [line for line in paragraph.splitlines() if not re.match(r"\s*\|", line)]
        joined = re.sub(r"\n(?!\s*[*-] |\s*\d+\. )\s*", " ", "\n".join(lines).strip())
        joined = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", joined)
        if joined:
            found.append(joined + "\n")
    return "".join(found)


def vocabulary(text: str) -> str:
    """The most frequent characters of a text, in order of their codes."""
    return "".join(sorted(character for character, _ in Counter(text).most_common(_CHARACTERS)))


def numbered(text: str, characters: str) -> np.ndarray:
    """Numbers of a text's characters, without those that are not in the vocabulary."""
    places = {character: number for number, character in enumerate(characters)}
    return np.array([places[character] for character in text if character in places], np.int64)


def train(
    numbers: np.ndarray,
    held: np.ndarray,
    sizes: Sizes,
    *,
    steps: int = 2200,
    seed: int = 1,
    rate: float = 2e-3,
    decay: float = 0.05,
) -> Weights:
    """Trains the network by Adam on the cross-entropy of the next character. Prints the loss of
    both texts every 100 steps; ``numbers``, ``held``: the characters of the texts."""
    rng = np.random.default_rng(seed)
    weights = initial_weights(sizes, rng)
    first = {name: np.zeros_like(array) for name, array in weights.items()}
    second = {name: np.zeros_like(array) for name, array in weights.items()}
    lost = []
    for step in range(1, steps + 1):
        starts = rng.integers(0, len(numbers) - _LENGTH, _TEXTS)
        batch = numbers[starts[:, None] + np.arange(_LENGTH + 1)]
        found = forward(sizes, weights, batch[:, :-1])
        loss, gradient = loss_of(found["scores"], batch[:, 1:])
        slopes = backward(sizes, weights, found, gradient)
        size = np.sqrt(sum(float(np.vdot(slope, slope)) for slope in slopes.values()))
        shrink = np.float32(min(1.0, 1.0 / size))
        speed = rate * min(1.0, step / 300) * (0.02 + 0.49 * (1 + np.cos(np.pi * step / steps)))
        for name, slope in slopes.items():
            slope *= shrink
            first[name] += (1 - _SMOOTHING) * (slope - first[name])
            second[name] += (1 - _SMOOTHING_OF_SQUARES) * (slope * slope - second[name])
            move = first[name] / (1 - _SMOOTHING**step)
            move /= np.sqrt(second[name] / (1 - _SMOOTHING_OF_SQUARES**step)) + 1e-8
            if weights[name].ndim == 2:
                weights[name] *= np.float32(1 - speed * decay)
            weights[name] -= np.float32(speed) * move
        lost.append(loss)
        if step % 100 == 0 or step == steps:
            here, lost = float(np.mean(lost)), []
            there = held_loss(sizes, weights, held)
            seen = [float((found[f"attention{n}"] > 0).mean()) for n in range(sizes.layers)]
            shares = ", ".join(f"{100 * share:.1f} %" for share in seen)
            print(
                f"step {step}: {here:.3f} nats a character, held out {there:.3f}; attention to "
                f"{shares} of all pairs",
                flush=True,
            )
    return weights


def held_loss(sizes: Sizes, weights: Weights, held: np.ndarray) -> float:
    """Cross-entropy of a held-out text, in nats a character."""
    count = min(len(held) // (_LENGTH + 1), 64)
    batch = held[: count * (_LENGTH + 1)].reshape(count, -1)
    return loss_of(forward(sizes, weights, batch[:, :-1])["scores"], batch[:, 1:])[0]


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of this module's command line."""
    parser = argparse.ArgumentParser(
        prog="training", description="Train the language model on texts (extra `compile`)."
    )
    parser.add_argument("texts", type=Path, nargs="+", help="files of text or Markdown, UTF-8")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the model")
    parser.add_argument("--steps", type=int, default=2200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    try:
        import onnx  # noqa: F401
    except ImportError:
        parser.error(f"needs onnx: {extra_command('compile')}")
    text = "".join(prose(path.read_text(encoding="utf-8")) for path in options.texts)
    characters = vocabulary(text)
    numbers = numbered(text, characters)
    border = len(numbers) * 19 // 20
    if len(numbers) - border <= max(_LENGTH, _CALIBRATION):
        parser.error(f"{len(numbers):,} characters of text: expected some hundred thousand")
    held = numbers[border:]
    sizes = Sizes(len(characters))
    weights = train(numbers[:border], held, sizes, steps=options.steps, seed=options.seed)
    count = sum(array.size for array in weights.values())
    print(f"{count:,} weights, held out {held_loss(sizes, weights, held):.3f} nats a character")
    options.out.mkdir(parents=True, exist_ok=True)
    write_whole(options.out / "text.onnx", text_bytes(sizes, weights, characters))
    calibration = one_hot(numbers[:_CALIBRATION], len(characters)).astype(np.uint8)
    np.savez_compressed(options.out / "text.npz", calibration=calibration)
    print(f"wrote {options.out / 'text.onnx'} and {options.out / 'text.npz'}")


if __name__ == "__main__":
    main()
