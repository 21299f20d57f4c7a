# SPDX-License-Identifier: BSD-2-Clause
"""Programs of Cherry's kernels: those that do not say how many contexts they need leave the same
with every number of them."""

import pytest

from quintet.tools.kernels.cherry import KernelError
from tests.gateware.cores.cherry.bench.portable import WIDTHS, assert_same, programs
from tests.tools.cherry_operations import OPERATIONS, Bench

ALL = [(label, make) for operations in OPERATIONS.values() for label, make in operations]


def portable(label, make, shape, stored):
    """How many programs of an operation on a matrix were compared."""
    b = Bench(3)
    x, _ = b.input(*((4, 18) if label == "convolution" else shape), stored=stored)
    try:
        make(b, x)
    except KernelError:
        return 0
    texts = {
        text for text in programs(b.m.source()) if ".needs contexts" not in text and "store" in text
    }
    for text in texts:
        assert assert_same(text, log_mem=17) == list(WIDTHS)
    return len(texts)


#: One tile; a prime number of tiles beside each other and below.
@pytest.mark.parametrize("shape", [(3, 4), (5, 67), (75, 2)], ids=str)
def test_portable_programs_of_every_kernel(shape):
    compared = [
        portable(label, make, shape, stored) for label, make in ALL for stored in (False, True)
    ]
    assert sum(compared) > 20
