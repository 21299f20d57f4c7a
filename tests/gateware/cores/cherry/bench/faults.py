# SPDX-License-Identifier: BSD-2-Clause
"""Random Cherry programs with something wrong: a word, an address, a record."""

from tests.gateware.cores.cherry.bench.programs import random_case

__all__ = ["spoilt"]


def spoilt(rnd, params):
    """A random program with something wrong somewhere."""
    found = random_case(rnd.randrange(10**6), params, words=24).image
    kind = rnd.randrange(6)
    if kind == 0:
        found.words[rnd.randrange(len(found.words))] = rnd.getrandbits(18)
    elif kind == 1 and found.units:
        found.units[rnd.choice(list(found.units))].address = rnd.choice(
            (0x3FFFE, (1 << params["log_mem"]) - 20)
        )
    elif kind == 2 and found.units:
        found.units[rnd.choice(list(found.units))].coefficients[rnd.randrange(8)] = rnd.choice(
            (600, 1500, 0x3F000)
        )
    elif kind == 3 and found.units:
        del found.units[rnd.choice(list(found.units))]
    elif kind == 4 and found.loops:
        k = rnd.choice(list(found.loops))
        count, body = found.loops[k]
        found.loops[k] = rnd.choice(
            ((count, body + 1), (0, body + 40), (0, body), (count + 2, 0x3FFFF))
        )
    elif found.loops:
        found.contexts = 1
        del found.words[rnd.randrange(len(found.words))]
    return found
