# SPDX-License-Identifier: BSD-2-Clause
"""The dot unit with its tiles against the golden model: random operations, waits, contention."""

import pytest

from quintet.gateware.cores.cherry.engine.ops import DotKind, Unit
from quintet.gateware.cores.cherry.engine.units.dotpath import DotPath
from quintet.gateware.cores.cherry.params import SPACE
from quintet.gateware.cores.cherry.small.dot import SerialDot
from tests.gateware.cores.cherry.bench.units import UnitBench, parameters
from tests.support.shares import shares, some


def operation(axes):
    def make(rnd):
        kind = rnd.choice(list(DotKind) + [DotKind.SUM] * 3)
        values = (
            {
                "axis": rnd.randrange(3 if axes else 1),
                "count": rnd.randrange(1, 5),
                "target": rnd.randrange(4),
                "acc": rnd.randrange(2),
            }
            if kind == DotKind.SUM
            else {}
        )
        return kind.name.lower(), values, {"kind": kind, **values}

    return make


@pytest.mark.parametrize(
    "changed",
    [
        {"macs": 64},
        {"macs": 32},
        {"macs": 16},
        {"macs": 8},
        {"macs": 4, "reduce_axes": 0},
        {"macs": 16, "acc_frac": 17},
        {"macs": 32, "acc_frac": 17},
    ],
    ids=lambda c: "-".join(str(v) for v in c.values()),
)
@shares
def test_random_operations(changed, share):
    params = parameters("sim", **changed)
    unit = DotPath(params=params, latency=11)
    UnitBench(
        unit, Unit.DOT.value, params, operation(params["reduce_axes"]), seed=str(changed)
    ).run(some(30 if params["macs"] == 64 else 60, share))


@pytest.mark.parametrize("axes", [0, 1])
def test_random_operations_element_by_element(axes):
    params = SPACE.resolve("hx8k", {"reduce_axes": axes})
    UnitBench(SerialDot(params=params), Unit.DOT.value, params, operation(axes), seed=axes).run(24)


def test_arguments():
    with pytest.raises(
        ValueError, match="Parallel dot units need 4, 8, 16, 32 or 64 multipliers, not 1"
    ):
        DotPath(params=SPACE.resolve("hx8k"))
    with pytest.raises(ValueError, match="Notice must be 1 to 10 cycles, not 12"):
        DotPath(params=parameters("sim"), latency=11, notice=12)
