# SPDX-License-Identifier: BSD-2-Clause
"""The acceptance workloads: their programs take the formulas' cycles by the estimate, and are right
on the model."""

import pytest

from quintet.firmware.imagine.measure.workloads import ROWS, instruction_rows, params_of
from quintet.gateware.cores.imagine.model import cycles
from quintet.gateware.cores.imagine.model.model import Model
from tests.gateware.cores.imagine.bench.programs import case_of


@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if row.array not in ("48x4", "16x16")],
    ids=lambda row: f"{row.title} {row.array}",
)
def test_rows(row):
    params = params_of(row.array)
    words = row.kernel().words()
    count = cycles.estimate(words, params)
    if row.without is not None:
        count = (count - cycles.estimate(row.without().words(), params)) / row.per
    # A tiled kernel's formula counts up to where another would begin: one cycle behind the last
    # word.
    assert count in (row.formula, row.formula - 1)
    case = case_of("row", params, words)
    assert Model(params, case.memory.copy()).run(case.registers).status == "done"


def test_instructions_of_every_array():
    for array in ("16x4", "16x4n8", "16x4n4"):
        params = params_of(array)
        for row in instruction_rows(array):
            found = cycles.estimate(row.kernel().words(), params) - cycles.estimate(
                row.without().words(), params
            )
            assert found / row.per == row.formula, row.title
