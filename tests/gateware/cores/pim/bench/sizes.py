# SPDX-License-Identifier: BSD-2-Clause
"""Parameters of builds in tests: presets by their names, and two of the pipelined engine on narrow
memory."""

from quintet.gateware.cores.pim.params import SPACE

__all__ = ["NARROW", "TINY", "sizes"]

#: Overrides of "sim": 16 bits at most, no unit for vtanh and vsigm; and arrays of 32 x 32, no
#: biases, inputs of 8 bits.
NARROW = {
    "cores": 1,
    "lanes": 4,
    "arrays": 16,
    "lmem_bytes": 32768,
    "groups": 16,
    "bias_words": 64,
    "max_biw": 16,
    "vec_bytes": 2,
    "act_unit": 0,
    "prefetch_words": 64,
}
TINY = NARROW | {
    "lanes": 2,
    "xb_rows": 32,
    "xb_cols": 32,
    "arrays": 1,
    "lmem_bytes": 2048,
    "groups": 4,
    "bias_words": 0,
    "x_bits": 8,
    "prefetch_words": 32,
}


def sizes(name, overrides=None):
    """Parameters of a preset, or of ``narrow`` or ``tiny``."""
    own = {"narrow": NARROW, "tiny": TINY}.get(name)
    return SPACE.resolve(name if own is None else "sim", {**(own or {}), **(overrides or {})})
