# SPDX-License-Identifier: BSD-2-Clause
"""Several runs on one core: what ``run_flags`` keep, images elsewhere, another GMem, runs after
faults (sections 4.6, 7)."""

import numpy as np

from quintet.firmware.pim.measure.case import make_case
from quintet.gateware.cores.pim.image.image import CoreProgram, Group, Image
from tests.gateware.cores.pim.bench.programs import MEMORY

__all__ = ["SEQUENCES", "sequence"]

_BASE = MEMORY // 2


def _words(text):
    from tests.gateware.cores.pim.bench.directed import words_of

    return [(0, word) for word in words_of(text)]


def _case(name, params, text, groups=(), *, at=0x400, registers=None, base=_BASE, seed=1):
    memory = np.random.default_rng(seed).integers(0, 256, MEMORY, dtype=np.uint8)
    image = Image([CoreProgram(groups=list(groups))], params["xb_rows"], params["xb_cols"], base, 0)
    return make_case(name, params, image, _words(text), memory, at, registers)


def _group(seed, **more):
    rng = np.random.default_rng(seed)
    bias = more.pop("bias", None)
    return Group(
        6,
        5,
        (0,),
        8,
        1,
        1,
        rng.integers(-9, 9, (6, 5)).astype(np.int8),
        None if bias is None else np.full(5, bias, np.int32),
        **more,
    )


_MULTIPLY = "gaddr $2, 0\nld $0, $2, 6\nsldi $1, 10\nmvmul $1, $0, 8, 0, 0\nst $2, $1, 5, @64:d"
_KEEP = "gaddr $2, 0\nst $2, $0, 40, @128:d\nsldi $1, 20\nld $1, $2, 40"


def keep_weights(p):
    """The second image's other weights and biases are not programmed."""
    bias = 50 if p["bias_words"] else None
    return [
        _case("first", p, _MULTIPLY, [_group(1, bias=bias)]),
        _case("kept", p, _MULTIPLY, [_group(2, bias=bias)], registers={"run_flags": 1}, seed=2),
        _case("new", p, _MULTIPLY, [_group(2, bias=bias)], seed=2),
    ]


def keep_lmem(p):
    return [
        _case("first", p, _KEEP),
        _case("kept", p, _KEEP, registers={"run_flags": 2}, seed=2),
        _case("kept again", p, _KEEP, registers={"run_flags": 3}, seed=3),
        _case("zero", p, _KEEP, seed=4),
    ]


def image_elsewhere(p):
    """``core_table`` names the image; program address and length mean nothing then."""
    one = _case("elsewhere", p, _MULTIPLY, [_group(3)], at=0x2440)
    registers = {"core_table": 0x2440, "program_address": 0x40, "program_length": 0}
    one.registers = {**one.registers, **registers}
    return [one, _case("usual", p, _MULTIPLY, [_group(3)])]


def other_gmem(p):
    return [
        _case("header's", p, _KEEP),
        _case("registers'", p, _KEEP, registers={"gmem_base": _BASE + 0x333, "gmem_size": 0x400}),
        _case("base without size", p, _KEEP, registers={"gmem_base": 0x40}),
        _case("too small", p, _KEEP, registers={"gmem_base": _BASE, "gmem_size": 160}),
    ]


def after_faults(p):
    bad = [
        "nop\n.word 21",
        "ld $0, $0, 4, @-1:1",
        "wait 1, 1",
        "sldi $1, -1\nlldi $1, 0, 1",
        ".word 0x1819",
    ]
    found = []
    for k, text in enumerate(bad):
        found += [
            _case(f"fault {k}", p, _KEEP + "\n" + text),
            _case(f"after {k}", p, _KEEP, seed=k),
        ]
    return found


SEQUENCES = {
    f.__name__: f for f in (keep_weights, keep_lmem, image_elsewhere, other_gmem, after_faults)
}


def sequence(params, name):
    """The cases of a sequence, to be run one after another without a reset."""
    return SEQUENCES[name](params)
