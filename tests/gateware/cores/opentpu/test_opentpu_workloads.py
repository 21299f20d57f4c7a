# SPDX-License-Identifier: BSD-2-Clause
"""The workloads' programs are what section 10.3 says, and the model's results those of plain
numpy."""

import numpy as np
import pytest

from quintet.firmware.opentpu.measure.workloads import WORKLOADS, workload
from quintet.gateware.cores.opentpu.model.model import Model

_ARRAY_TIME = {
    "W1": 4820,
    "W2": 3880,
    "W3": 64 * 19,
    "W4": 1212,
    "W5": 3020,
    "W6": 4050,
    "W7": 64256,
    "W8": 4820,
    "W9": 137280,
    "W10": 272448,
    "W15": 9 * 197,
}
_KILOBYTES = {"W7": 88, "W8": 19.3, "W9": 213, "W10": 231}


@pytest.mark.parametrize("name", WORKLOADS)
def test_workload(name):
    case = workload(name)
    if name in _ARRAY_TIME:
        assert case.t_a == _ARRAY_TIME[name]
    if name in _KILOBYTES:
        assert case.traffic / 1000 == pytest.approx(_KILOBYTES[name], rel=0.01)
    outcome = Model(case.params, case.memory).run(case.registers)
    assert outcome.status == "done"
    assert outcome.counters["bytes_read"] + outcome.counters["bytes_written"] == case.traffic
    assert outcome.counters["instructions"] == len(case.words)
    for address, expected in case.expected.items():
        got = case.memory[address : address + expected.size].view(np.int8).reshape(expected.shape)
        assert np.array_equal(got, expected)


def test_no_such_workload():
    with pytest.raises(KeyError, match="no workload 'W99'"):
        workload("W99")
