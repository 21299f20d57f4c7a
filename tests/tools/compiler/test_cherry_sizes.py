# SPDX-License-Identifier: BSD-2-Clause
"""Windows, sums and products on Cherry of which not even one result's operands fit the scratchpad:
in ranges, whose partial results are what the next ones begin with."""

import pytest

from quintet.tools.compiler import graph as g
from tests.tools.compiler.networks import Builder
from tests.tools.compiler.test_cherry_tiling import equal


def net(shape, kind, **attributes):
    b = Builder("net", shape, 2)
    b.add(kind, **attributes)
    return b.finish()


def depthwise(shape, size, **options):
    b = Builder("depthwise", shape, 2)
    b.conv(shape[2], size, groups=shape[2], relu=True, **options)
    return b.finish()


def product(rows, inner, columns):
    b = Builder("product", (rows, inner), 2)
    other = b.input((inner, columns))
    b.act("relu", b.add(g.MatMul, "input_0", other))
    return b.finish()


#: Networks for a scratchpad of 1,024 elements.
SIZES = {
    "depthwise window": depthwise((19, 17, 3), (19, 17), padding=(0, 1, 0, 0)),
    "depthwise row": depthwise((1, 301, 5), (1, 300), padding=(0, 0, 0, 0)),
    "global maximum": net((19, 23, 5), g.MaxPool, window=(19, 23), stride=(1, 1)),
    "maximum of a line": net((1, 520, 3), g.MaxPool, window=(1, 520), stride=(1, 1)),
    "maximum of a column": net(
        (320, 2, 3), g.MaxPool, window=(300, 1), stride=(50, 1), padding=(20, 0, 30, 0)
    ),
    "sum of a prime length": net((1, 1021, 3), g.Reduce, function="sum", axes=(1,)),
    "maximum of all": net((5, 11, 23), g.Reduce, function="max", axes=(0, 1, 2)),
    "average of large windows": net(
        (20, 22, 4), g.AveragePool, window=(19, 21), stride=(2, 2), padding=(1, 0, 0, 1)
    ),
    "product of tensors": product(2, 300, 5),
    "softmax": net((2, 1100), g.Softmax),
}


@pytest.mark.parametrize("name", SIZES)
def test_operands_larger_than_the_scratchpad(name):
    equal(SIZES[name], "sim", log_mem=10)
