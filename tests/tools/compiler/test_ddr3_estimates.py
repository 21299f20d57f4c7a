# SPDX-License-Identifier: BSD-2-Clause
"""Estimated cycles of a network on a board with DDR3 against those of the virtual board."""

import numpy as np
import pytest

from quintet.gateware.cores.cherry.params import SPACE as CHERRY
from quintet.gateware.cores.opentpu.params import SPACE as OPENTPU
from quintet.gateware.cores.opu.params import SPACE as OPU
from quintet.tools.compiler.backends.cherry.backend import Cherry
from quintet.tools.compiler.backends.cherry.schedule.steps import half_word_cycles
from quintet.tools.compiler.backends.opentpu import BACKEND as OPENTPU_BACKEND
from quintet.tools.compiler.backends.opentpu import cost as opentpu_cost
from quintet.tools.compiler.backends.opu import OpuBackend
from quintet.tools.compiler.backends.opu import cost as opu_cost
from quintet.tools.compiler.backends.pim import cost as pim_cost
from quintet.tools.compiler.quantised import Quantised
from quintet.tools.targets.names import open_sim_target
from tests.tools.compiler import opentpu_networks
from tests.tools.compiler.networks import NETWORKS, Builder
from tests.tools.compiler.opu_runs import fused, running_part, whole_numbers

DDR3 = {"kind": "DDR3", "beat_bytes": 8, "size": 1 << 27}
ON_CHIP = {"size": 1 << 17, "beat_bytes": 8}


def opu_program(memory):
    """ResNet-8 on the OPU with 128 lanes."""
    backend = OpuBackend(params=OPU.resolve("85f"), memory_size=1 << 25, memory=memory)
    graph = backend.legalise(fused(NETWORKS["resnet8"][0](0)))
    return backend.lower(whole_numbers(running_part(graph, backend), backend))


def opentpu_program(memory):
    """DS-CNN on OpenTPU with an array of 8 x 8."""
    backend = OPENTPU_BACKEND(
        params=OPENTPU.resolve("85f-8x8-conv"), memory_size=1 << 24, memory=memory
    )
    graph = opentpu_networks.fused(NETWORKS["ds_cnn"][0](0))
    return backend.lower(opentpu_networks.quantised_of(graph, backend))


def cherry_program(memory):
    """Three convolutions on Cherry."""
    backend = Cherry(params=CHERRY.resolve("85f"), memory_size=1 << 24, memory=memory)
    made = Builder("three", (24, 24, 16))
    for channels in (32, 64, 64):
        made.conv(channels, (3, 3))
    return backend.lower(Quantised(graph=backend.legalise(made.finish())))


def measured(target, lowered):
    """Cycles of a program on a virtual board; its maps hold zeros."""
    image = np.zeros(-(-lowered.memory // 64) * 64, np.uint8)
    parts = [(lowered.program_at, lowered.program), *((at, d) for at, d, _ in lowered.constants)]
    for at, data in parts:
        raw = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else np.asarray(data)
        image[at : at + raw.size] = raw.astype(np.uint8).ravel()
    target.board.chip[: image.size] = image
    registers = {"program_length": len(lowered.program), **lowered.registers}
    outcome = target.run({"window_limit": image.size, **registers}, 1 << 24)
    assert outcome.status == "done"
    return outcome.counters["cycles"]


@pytest.mark.parametrize(
    "target, program",
    [
        ("opu?preset=85f", opu_program),
        ("opentpu?preset=85f-8x8-conv", opentpu_program),
        pytest.param("cherry?preset=85f", cherry_program, marks=pytest.mark.long),
    ],
    ids=["opu", "opentpu", "cherry"],
)
def test_estimates_are_near_the_cycles_of_the_virtual_board(target, program):
    with open_sim_target(f"sim:orangecrab-85f/{target}") as board:
        memory = board.info.memory
        assert (memory["kind"], memory["beat_bytes"]) == ("DDR3", 8)
        lowered = program(memory)
        cycles = measured(board, lowered)
    estimated = sum(layer.cycles for layer in lowered.layers)
    assert abs(estimated / cycles - 1) < 0.05, (estimated, cycles)


def test_the_opu_knows_ddr3():
    found = opu_cost.main_memory(DDR3)
    assert found == opu_cost.DDR3 and found.rate > 3 * opu_cost.SDRAM.rate
    split = opu_cost.main_memory({**DDR3, "on_chip": ON_CHIP})
    assert split.at(1 << 17).rate == found.rate and split.at(1 << 17).load > found.load
    assert split.at(0).rate == 8 and split.border == 1 << 17


def test_opentpu_knows_ddr3():
    found = opentpu_cost.main_memory(DDR3)
    assert 7 < found.bandwidth < 8 and found.latency > opentpu_cost.SDRAM16.latency
    assert opentpu_cost.main_memory({**DDR3, "beat_bytes": 4}).bandwidth <= 4
    split = opentpu_cost.main_memory({**DDR3, "on_chip": ON_CHIP})
    assert split.at(1 << 17).bandwidth == found.bandwidth and split.at(0).bandwidth == 8


def test_pim_knows_ddr3():
    found = pim_cost.main_memory(DDR3)
    assert 7 < found.rate < 8 and found.latency > pim_cost.SDRAM.latency
    assert pim_cost.main_memory({"kind": "SDRAM"}) == pim_cost.SDRAM


def test_cherry_knows_ddr3():
    assert half_word_cycles(DDR3) < 0.3 < half_word_cycles({"kind": "SDRAM"})


def test_stores_may_be_slower_than_loads_and_answers_late():
    """Each of the fields that DDR3 added costs cycles, and none does by default."""
    lowered = opu_program({"kind": "SDRAM", "beat_bytes": 2, "size": 1 << 25})
    words = np.frombuffer(lowered.program, "<u4").tolist()
    params = OPU.resolve("85f")

    def cycles(**changes):
        timing = opu_cost.replace(opu_cost.SDRAM, **changes)
        return opu_cost.estimate(words, params, timing).cycles

    assert cycles() == cycles(write_rate=opu_cost.SDRAM.rate)
    for change in ({"write_rate": 1.0}, {"latency": 50}, {"read_slot": 40.0}):
        assert cycles(**change) > cycles()
