# SPDX-License-Identifier: BSD-2-Clause
"""Random program lists for Cherry: steps with DMA lists before and behind them, some ahead of their
turn, some with a wrong word.

A step is marked prefetch or defer only where the model says that nothing else would come out.
"""

import random
from dataclasses import dataclass, field, replace

import numpy as np

from quintet.gateware.cores.cherry.image import (
    FILL,
    IN,
    OUT,
    Descriptor,
    Step,
    image_bytes,
    list_bytes,
    row_words,
)
from quintet.gateware.cores.cherry.model.model import Model
from quintet.gateware.cores.cherry.model.races import Overlap
from tests.gateware.cores.cherry.bench.programs import SPAN, random_case, random_element

__all__ = ["ListCase", "random_list"]

MEMORY = 1 << 16
_LIST_AT, _FIRST_AT, _LAST_AT, _DATA_AT, _RESULT_AT = 0x1000, 0x6000, 0x6800, 0x8000, 0xC000
_FORMATS = ("fp32", "bf16", "packed", "raw")


@dataclass
class ListCase:
    """A list in main memory and the registers of a run; ``deferred``: byte ranges of the out lists
    that may run beside the next program."""

    memory: np.ndarray
    registers: dict
    deferred: list = field(default_factory=list)
    wrong: int | None = None


def _descriptor(rnd, low, high, main, ops):
    """A transfer of a few rows between MEM low .. high - 1 and main memory from ``main`` on, 0x1000
    bytes at most."""
    op = rnd.choice(ops)
    rows, cols = rnd.choice(((1, 1), (2, 16), (4, 8), (3, 5), (1, 40), (5, 2), (1, 64)))
    form = rnd.choice(_FORMATS)
    mem_step, mem_pitch = rnd.choice(((1, cols), (1, cols + 3), (rows, 1), (-1, 3), (0, 1)))
    reach = [
        min(0, mem_step * (cols - 1)) + min(0, mem_pitch * (rows - 1)),
        max(0, mem_step * (cols - 1)) + max(0, mem_pitch * (rows - 1)),
    ]
    mem = rnd.randint(low - reach[0], high - 1 - reach[1])
    if op == FILL:
        return Descriptor(
            FILL, "fp32", random_element(rnd), mem, rows, cols, 0, mem_pitch, mem_step
        )
    pitch = 4 * row_words(form, cols) + 4 * rnd.randrange(3)
    at = main + 4 * rnd.randrange((0x1000 - pitch * rows) // 4)
    return Descriptor(
        op,
        form,
        at,
        mem,
        rows,
        cols,
        rnd.choice((pitch, pitch, 0) if op == IN else (pitch,)),
        mem_pitch,
        mem_step,
    )


def _dma(rnd, low, high, main, ops, most):
    return [_descriptor(rnd, low, high, main, ops) for _ in range(rnd.randint(0, most))]


def random_list(seed, params, wrong=False):
    """The :class:`ListCase` of ``seed``; ``wrong``: with a changed word, or a window that something
    lies outside of."""
    rnd = random.Random(seed)
    images = [
        random_case(rnd.randrange(1 << 30), params, words=rnd.choice((2, 6, 12))).image
        for _ in range(rnd.randint(1, 3))
    ]
    size = 1 << params["log_mem"]
    steps = []
    for number in range(rnd.randint(1, 5)):
        image = rnd.choice(images)
        # A program works in the first SPAN elements or, rebased as a whole, in the next; DMA of a
        # step anywhere near.
        half = rnd.choice((0, SPAN)) if number else 0
        mask = sum(1 << k for k in image.units)
        low = rnd.choice([at for at in (half, 2 * SPAN, 3 * SPAN) if at < size])
        high = low + SPAN
        steps.append(
            [
                image_bytes(image),
                Step(0, rebase=half, mask=mask if half else rnd.choice((0, mask))),
                _dma(rnd, low, high, _DATA_AT + 0x400 * rnd.randrange(8), (IN, IN, IN, FILL), 2),
                _dma(
                    rnd,
                    low,
                    high,
                    _RESULT_AT + 0x400 * rnd.randrange(8),
                    (OUT, OUT, FILL) if not wrong else (OUT,),
                    2,
                ),
                rnd.random() < 0.7,
                rnd.random() < 0.7,
            ]
        )
    first = _dma(rnd, 0, SPAN, _DATA_AT, (IN, FILL), 2)
    final = _dma(rnd, 0, SPAN, _RESULT_AT, (OUT,), 2)
    memory = np.zeros(MEMORY, np.uint8)
    memory[_DATA_AT:_RESULT_AT] = np.frombuffer(rnd.randbytes(_RESULT_AT - _DATA_AT), np.uint8)
    for at in range(_DATA_AT, _RESULT_AT, 8):  # every other word an element
        memory[at : at + 4] = np.frombuffer(
            (random_element(rnd) << 14).to_bytes(4, "little"), np.uint8
        )
    registers = {
        "program_address": _LIST_AT,
        "options": int(rnd.random() < 0.1),
        "window_limit": MEMORY,
    }
    for name, at, descriptors in (
        ("dma_in_list", _FIRST_AT, first),
        ("dma_out_list", _LAST_AT, final),
    ):
        if descriptors:
            registers[name] = at
            data = b"".join(d.to_bytes() for d in descriptors) + bytes(32)
            memory[at : at + len(data)] = np.frombuffer(data, np.uint8)
    if len(steps) == 1 and rnd.random() < 0.3:
        data = steps[0][0]  # an image alone
    else:
        data = _marked(steps, memory, registers, params)
    registers["program_length"] = rnd.choice((0, len(data)))
    memory[_LIST_AT : _LIST_AT + len(data)] = np.frombuffer(data, np.uint8)
    deferred, at = [], _LIST_AT + 32 + 32 * len(steps)
    for _, _, in_list, out_list, _, defer in steps:
        at += 32 * (len(in_list) + 1) if in_list else 0
        end = at + (32 * (len(out_list) + 1) if out_list else 0)
        if defer:
            deferred.append((at, end))
        at = end
    case = ListCase(memory, registers, deferred)
    return _spoiled(case, rnd, len(data)) if wrong else case


def _bytes(steps):
    return list_bytes(
        [
            (data, replace(step, prefetch=prefetch, defer=defer), ins, outs)
            for data, step, ins, outs, prefetch, defer in steps
        ]
    )


def _marked(steps, memory, registers, params):
    """The list's bytes, with as many marks as hold."""
    while True:
        data = _bytes(steps)
        trial = memory.copy()
        trial[_LIST_AT : _LIST_AT + len(data)] = np.frombuffer(data, np.uint8)
        try:
            Model(params, trial, races=False).run(registers | {"options": 0})
        except Overlap as error:
            words = str(error).split()
            steps[int(words[1])][4 if words[3].startswith("prefetched") else 5] = False
        else:
            return data


def _spoiled(case, rnd, length):
    kind = rnd.random()
    if kind < 0.1:
        case.registers["window_limit"] = rnd.choice(
            (_LIST_AT + 64 * rnd.randrange(length // 64 + 1), _DATA_AT + 64 * rnd.randrange(64))
        )
    elif kind < 0.2:
        case.registers["window_base"] = _LIST_AT + 64 * rnd.randrange(3)
    elif kind < 0.25:
        case.registers["program_length"] = rnd.randrange(4, length + 8, 4)
    elif kind < 0.3 and "dma_in_list" in case.registers:
        case.registers["dma_in_list"] += rnd.choice((1, 2, 4, 8))
    else:
        at = rnd.choice(
            (
                _LIST_AT + 4 * rnd.randrange(8),
                _LIST_AT + 4 * rnd.randrange(length // 4),
                _LIST_AT + 4 * rnd.randrange(length // 4),
                rnd.choice((_FIRST_AT, _LAST_AT)) + 4 * rnd.randrange(8),
            )
        )
        word = int.from_bytes(case.memory[at : at + 4].tobytes(), "little")
        word = (
            rnd.choice(
                (
                    word ^ 1 << rnd.randrange(32),
                    word + 4,
                    word ^ 0xFFFF_0000,
                    0,
                    rnd.randrange(1 << 32),
                )
            )
            & 0xFFFF_FFFF
        )
        case.memory[at : at + 4] = np.frombuffer(word.to_bytes(4, "little"), np.uint8)
        case.wrong = at
    return case
