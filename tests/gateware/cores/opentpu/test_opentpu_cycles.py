# SPDX-License-Identifier: BSD-2-Clause
"""The acceptance workloads on compiled gateware: exact, and within their bounds (specification,
section 10.3)."""

import pytest

from quintet.firmware.opentpu.measure.run import measure, open_board, open_ideal
from quintet.firmware.opentpu.measure.workloads import workload

_machines = {}


def check(name):
    case = workload(name)
    key = "sdram" if case.kind == "sdram16" else case.params["n"]
    if key not in _machines:
        _machines[key] = open_board() if key == "sdram" else open_ideal(key)
    measured = measure(case, _machines[key])
    counters = measured.outcome.counters
    assert measured.exact
    assert measured.cycles <= measured.bound
    assert counters["instructions"] == len(case.words)
    assert counters["bytes_read"] + counters["bytes_written"] == case.traffic
    assert counters["cycles"] == counters["work"] + sum(
        counters[f"stall_{kind}"] for kind in ("fetch", "operand", "write", "other")
    )


# The builds of the differential tests and of the demo: nothing is compiled for these.
@pytest.mark.parametrize("name", ("W1", "W2", "W3", "W5", "W15", "W16"))
def test_ideal_memory(name):
    check(name)


@pytest.mark.parametrize("name", ("W7", "W8", "W9", "W10"))
def test_sdram_of_the_default_soc(name):
    check(name)


@pytest.mark.long
@pytest.mark.parametrize("name", ("W4", "W6", "W18"))
def test_other_sizes(name):
    check(name)
