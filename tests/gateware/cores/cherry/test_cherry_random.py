# SPDX-License-Identifier: BSD-2-Clause
"""Random programs: the golden model, its contexts in any order, against the slow machine."""

import numpy as np
import pytest

from quintet.gateware.cores.cherry.model import special
from quintet.gateware.cores.cherry.model.model import Model
from quintet.gateware.cores.cherry.params import SPACE
from tests.gateware.cores.cherry.bench.programs import SPAN, random_case
from tests.gateware.cores.cherry.oracle.slow import Slow

FUNCTIONS = {
    "div": special.div,
    "pow": special.power,
    "exp": lambda x, y: special.exp(x),
    "log": lambda x, y: special.log(x),
}


def function(name, x, y):
    return int(FUNCTIONS[name](np.array(x), np.array(y)))


def run(case, params, **options):
    model = Model(params, np.frombuffer(bytes(case.memory), np.uint8).copy(), **options)
    outcome = model.run(case.registers)
    assert outcome.status == "done", (outcome.fault, outcome.values)
    return outcome, model.memory[case.result_at : case.result_at + 4 * SPAN].view("<u4").tolist()


@pytest.mark.parametrize("contexts, acc_frac", [(1, 9), (4, 9), (4, 17), (16, 9)])
@pytest.mark.parametrize("seed", range(8))
def test_model_against_the_slow_machine(seed, contexts, acc_frac):
    params = SPACE.resolve("sim", {"contexts": contexts, "acc_frac": acc_frac})
    case = random_case(seed, params)
    slow = Slow(case.image, list(case.before), contexts, acc_frac, function)
    slow.run()
    outcome, result = run(case, params)
    assert result == slow.mem
    assert (outcome.counters["instructions"], outcome.counters["operations"]) == (
        slow.instructions,
        slow.operations,
    )
    assert run(case, params, shuffle=seed)[1] == slow.mem
