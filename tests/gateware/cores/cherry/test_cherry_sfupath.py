# SPDX-License-Identifier: BSD-2-Clause
"""The special functions with their tiles against the golden model: random operations, waits,
contention."""

import pytest

from quintet.gateware.cores.cherry.engine.memory.wordqueue import WordQueue
from quintet.gateware.cores.cherry.engine.ops import SfuKind, Unit
from quintet.gateware.cores.cherry.engine.units.sfupath import SfuPath
from tests.gateware.cores.cherry.bench.units import UnitBench, parameters
from tests.support.shares import shares, some


def operation(rnd):
    kind = rnd.choice(list(SfuKind))
    return kind.name.lower(), {}, {"kind": kind}


@pytest.mark.parametrize(
    "changed",
    [
        {"macs": 32, "sfu_lanes": 2},
        {"macs": 16, "sfu_lanes": 1},
        {"macs": 8, "sfu_lanes": 4, "acc_frac": 17},
    ],
    ids=lambda c: "-".join(str(v) for v in c.values()),
)
@shares
def test_random_operations(changed, share):
    params = parameters("sim", **changed)
    bench = UnitBench(SfuPath(params=params), Unit.SFU.value, params, operation, seed=str(changed))
    bench.run(some(40, share))


def test_arguments():
    with pytest.raises(ValueError, match="Special functions need a lane at least, not sfu_lanes 0"):
        SfuPath(params=parameters("sim", sfu_lanes=0))
    with pytest.raises(ValueError, match="Depth must be a power of two, at least 2, not 12"):
        WordQueue(width=18, depth=12)
