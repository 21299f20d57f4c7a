# SPDX-License-Identifier: BSD-2-Clause
"""Vector ALU with its tiles against the golden model: random operations, waits, contention."""

import pytest

from quintet.gateware.cores.cherry.engine.ops import AluKind, Unit
from quintet.gateware.cores.cherry.engine.units.alu import Alu
from quintet.gateware.cores.cherry.params import SPACE
from quintet.gateware.cores.cherry.small.alu import SerialAlu
from tests.gateware.cores.cherry.bench.units import UnitBench, parameters
from tests.support.shares import shares, some


def operation(axes):
    def make(rnd):
        kind = rnd.choice(list(AluKind) + [AluKind.MAX] * 3 + [AluKind.COPY])
        values, fields = {}, {}
        if kind == AluKind.MAX:
            fields = values = {
                "axis": rnd.randrange(3 if axes else 1),
                "count": rnd.randrange(1, 5),
                "target": rnd.randrange(4),
                "acc": rnd.randrange(2),
            }
        elif kind == AluKind.COPY:
            src, dst = rnd.sample(range(4), 2)
            fields = values = {"src": src, "dst": dst}
        elif kind == AluKind.ZERO:
            values = {"reg": rnd.randrange(4)}
            fields = {"dst": values["reg"]}
        return kind.name.lower(), values, {"kind": kind, **fields}

    return make


@pytest.mark.parametrize(
    "changed",
    [
        {"macs": 32},
        {"macs": 32, "reduce_axes": 0, "acc_frac": 17},
        {"macs": 16},
        {"macs": 8, "acc_frac": 17},
        {"macs": 8, "reduce_axes": 0},
    ],
    ids=lambda c: "-".join(str(v) for v in c.values()),
)
@shares
def test_random_operations(changed, share):
    params = parameters("sim", **changed)
    bench = UnitBench(
        Alu(params=params),
        Unit.ALU.value,
        params,
        operation(params["reduce_axes"]),
        seed=str(changed),
    )
    bench.announced(bench.unit.soon)
    bench.run(some(100, share))


@pytest.mark.parametrize("axes", [0, 1])
def test_random_operations_element_by_element(axes):
    params = SPACE.resolve("hx8k", {"reduce_axes": axes})
    UnitBench(SerialAlu(params=params), Unit.ALU.value, params, operation(axes), seed=axes).run(20)
