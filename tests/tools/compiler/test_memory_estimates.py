# SPDX-License-Identifier: BSD-2-Clause
"""Estimated cycles of a network on boards with DDR3, or whose SDRAM runs at twice the main clock,
against those of the virtual board."""

import numpy as np
import pytest

from quintet.gateware.cores.cherry.params import SPACE as CHERRY
from quintet.gateware.cores.opentpu.params import SPACE as OPENTPU
from quintet.gateware.cores.opu.params import SPACE as OPU
from quintet.tools.compiler.backends.cherry.backend import Cherry
from quintet.tools.compiler.backends.cherry.schedule.memory import main_memory as cherry_memory
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
DOUBLE = {"kind": "SDRAM", "beat_bytes": 4, "rate": 2, "size": 1 << 25}
SPLIT = {
    "kind": "SDRAM",
    "beat_bytes": 2,
    "size": 1 << 25,
    "on_chip": {"size": 96 << 10, "beat_bytes": 8},
}
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


def cherry_dense_program(memory):
    """Three dense layers on Cherry, whose weights are 256 KiB in bfloat16."""
    backend = Cherry(params=CHERRY.resolve("85f"), memory_size=1 << 24, memory=memory)
    made = Builder("dense", (256,))
    for width in (256, 256, 0):
        made.dense(width or 16)
    return backend.lower(Quantised(graph=backend.legalise(made.finish())))


def measured(target, lowered):
    """Cycles of a program on a virtual board; its maps hold zeros."""
    image = np.zeros(-(-lowered.memory // 64) * 64, np.uint8)
    parts = [(lowered.program_at, lowered.program), *((at, d) for at, d, _ in lowered.constants)]
    for at, data in parts:
        raw = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else np.asarray(data)
        image[at : at + raw.size] = raw.astype(np.uint8).ravel()
    target.board.chip[: image.size] = image
    if on_chip := target.info.memory.get("on_chip"):
        target.write(0, image[: on_chip["size"]].tobytes())
    registers = {"program_length": len(lowered.program), **lowered.registers}
    outcome = target.run({"window_limit": image.size, **registers}, 1 << 24)
    assert outcome.status == "done"
    return outcome.counters["cycles"]


@pytest.mark.parametrize(
    "target, kind, program",
    [
        ("orangecrab-85f/opu?preset=85f", DDR3, opu_program),
        ("orangecrab-85f/opentpu?preset=85f-8x8-conv", DDR3, opentpu_program),
        pytest.param(
            "orangecrab-85f/cherry?preset=85f", DDR3, cherry_program, marks=pytest.mark.long
        ),
        ("ulx3s-85f/cherry?preset=85f&on_chip=98304&load=direct", SPLIT, cherry_dense_program),
        ("ulx3s-85f/opu?preset=85f&sdram_rate=2", DOUBLE, opu_program),
        ("ulx3s-85f/opentpu?preset=85f-8x8-conv&sdram_rate=2", DOUBLE, opentpu_program),
    ],
    ids=[
        "ddr3-opu",
        "ddr3-opentpu",
        "ddr3-cherry",
        "on-chip-cherry",
        "double-opu",
        "double-opentpu",
    ],
)
def test_estimates_are_near_the_cycles_of_the_virtual_board(target, kind, program):
    with open_sim_target(f"sim:{target}") as board:
        memory = board.info.memory
        assert {**memory, "size": kind["size"]} == kind
        lowered = program(memory)
        cycles = measured(board, lowered)
    estimated = sum(layer.cycles for layer in lowered.layers)
    assert abs(estimated / cycles - 1) < 0.05, (estimated, cycles)


@pytest.mark.parametrize(
    "memory, timing, faster", [(DDR3, "DDR3", 3), (DOUBLE, "SDRAM_DOUBLE", 1.9)]
)
def test_the_opu_knows_the_memory(memory, timing, faster):
    found = opu_cost.main_memory(memory)
    assert found == getattr(opu_cost, timing) and found.rate > faster * opu_cost.SDRAM.rate
    assert opu_cost.main_memory({"kind": "SDRAM", "beat_bytes": 2}) == opu_cost.SDRAM
    split = opu_cost.main_memory({**memory, "on_chip": ON_CHIP})
    assert split.at(1 << 17).rate == found.rate and split.at(1 << 17).load > found.load
    assert split.at(0).rate == 8 and split.border == 1 << 17


@pytest.mark.parametrize("memory, lowest, highest", [(DDR3, 7, 8), (DOUBLE, 4, 4)])
def test_opentpu_knows_the_memory(memory, lowest, highest):
    found = opentpu_cost.main_memory(memory)
    assert lowest <= found.bandwidth <= highest and opentpu_cost.SDRAM16.bandwidth == 2
    split = opentpu_cost.main_memory({**memory, "on_chip": ON_CHIP})
    assert split.at(1 << 17).bandwidth == found.bandwidth and split.at(0).bandwidth == 8


def test_opentpu_knows_ddr3():
    found = opentpu_cost.main_memory(DDR3)
    assert found.latency > opentpu_cost.SDRAM16.latency
    assert opentpu_cost.main_memory({**DDR3, "beat_bytes": 4}).bandwidth <= 4


def test_pim_knows_ddr3():
    found = pim_cost.main_memory(DDR3)
    assert 7 < found.rate < 8 and found.latency > pim_cost.SDRAM.latency
    assert pim_cost.main_memory({"kind": "SDRAM"}) == pim_cost.SDRAM


def test_cherry_knows_ddr3():
    assert cherry_memory(DDR3).half_word < 0.3 < cherry_memory({"kind": "SDRAM"}).half_word


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
