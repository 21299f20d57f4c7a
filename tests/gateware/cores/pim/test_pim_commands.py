# SPDX-License-Identifier: BSD-2-Clause
"""Layouts between the parts of a PIM processor: their widths follow the parameters, their numbers
the instruction set."""

import pytest

from quintet.gateware.cores.pim.engine import commands
from quintet.gateware.cores.pim.isa import ISA
from quintet.gateware.cores.pim.params import SPACE


@pytest.mark.parametrize("preset", list(SPACE.presets))
def test_every_preset_has_layouts(preset):
    params = SPACE.resolve(preset)
    for make in (
        commands.matrix_layout,
        commands.vector_layout,
        commands.transfer_layout,
        commands.weights_layout,
        commands.group_write_layout,
        commands.ids_write_layout,
        commands.bias_layout,
    ):
        assert make(params).size > 0
    assert commands.lmem_word_bytes(params) * 8 >= params["max_biw"]
    commands.LMemRead(params).create()
    commands.LMemWrite(params).create()


def test_weights_are_addressed_by_eight_bytes():
    params = SPACE.resolve("85f")
    assert commands.weights_layout(params)["address"].width == 13  # 64 KiB


def test_operations_have_their_opcodes():
    opcodes = {instruction.mnemonic: instruction.opcode for instruction in ISA.instructions}
    for op in commands.VectorOp:
        assert opcodes[op.name.lower()] == op.value
    for op in commands.TransferOp:
        assert opcodes[op.name.lower()] == op.value + 24
