# SPDX-License-Identifier: BSD-2-Clause
"""The directed programs themselves, on the golden model and in single bits, for every build they
are run on."""

import numpy as np
import pytest

from quintet.gateware.cores.imagine.model.model import Model
from quintet.gateware.cores.imagine.params import SPACE
from tests.gateware.cores.imagine.bench import compare as imagine_compare
from tests.gateware.cores.imagine.bench import directed as imagine_directed
from tests.gateware.cores.imagine.oracle.slow import SlowMachine


@pytest.mark.parametrize("group", imagine_directed.group_names())
@pytest.mark.parametrize("build", ("n4", "one"))
def test_directed_programs_do_what_they_say(build, group):
    preset, overrides, _, _ = imagine_compare.BUILDS[build]
    params = SPACE.resolve(preset, overrides)
    for case in imagine_directed.directed_cases(params, group):
        assert case.memory.size < imagine_compare.MEMORY, case.name
        model = Model(params, case.memory.copy())
        outcome = model.run({"window_limit": case.memory.size, **case.registers})
        assert (outcome.fault.name if outcome.fault else None) == case.fault, (
            case.name,
            outcome.fault,
        )
        if build == "one" and case.fault is None:
            slow = SlowMachine(*(params[n] for n in ("rows", "cols", "reg_width", "depth")))
            for word in case.words:
                slow.run(word)
            at = case.registers["output_at"]
            assert (
                model.memory[at : at + 4 * len(slow.emitted)].view("<u4").tolist() == slow.emitted
            ), case.name


def test_products_are_products():
    params = SPACE.resolve("sim", {"rows": 4, "cols": 1, "reg_width": 4, "depth": 64})
    pairs = [(a, b) for a in range(-8, 8) for b in range(-8, 8)]
    case = imagine_directed.products_of(params, pairs)
    model = Model(params, case.memory.copy())
    model.run(case.registers)
    at = case.registers["output_at"]
    words = model.memory[at : at + 4 * 4 * 2 * 64].view("<i2")[::2].reshape(64, 2, 4)
    found = (words[:, 0] & 15) + (words[:, 1].astype(np.int64) << 4)
    assert found.reshape(-1).tolist() == [a * b for a, b in pairs]
