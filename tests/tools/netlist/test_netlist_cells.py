# SPDX-License-Identifier: BSD-2-Clause
"""Cells of the netlist's simulation: small designs, synthesised and read back, beside the same
designs in Amaranth's simulator; SB_MAC16 beside yosys' model."""

import json
import random

import pytest
from amaranth import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from quintet.boards.virtual.simulation import Simulation as VirtualSimulation
from quintet.gateware.primitives.bram import BlockRAM
from quintet.gateware.primitives.dsp import MultiplierArray
from quintet.gateware.primitives.dualram import DualPortRAM, HalvesRAM
from quintet.gateware.primitives.multipliers import PipelinedMultipliers
from quintet.gateware.primitives.spram import SPRAM
from quintet.tools.build.toolchain import find_tool, run_tool
from quintet.tools.netlist.ice40 import read_ice40
from quintet.tools.netlist.simulation import NetlistSimulation
from quintet.tools.netlist.yosys_json import has_behavioural_model
from tests.support.cells import ice40_cell
from tests.support.netlist_builds import Pins
from tests.support.simulating import simulate

CYCLES = 400


class Parts(wiring.Component):
    """Primitives of a family (``None``: their twins) and what synthesis makes of plain logic,
    between registered inputs and one wide output.

    Reads never meet writes: what then comes is not defined.
    """

    def __init__(self, family, chip):
        self._family, self._chip = family, chip
        super().__init__(
            {
                "write": In(1),
                "at": In(11),
                "source": In(11),
                "data": In(36),
                "other": In(36),
                "o": Out(512),
            }
        )

    def elaborate(self, platform):
        m = Module()
        seen = []
        at, source = Signal(10), Signal(10)
        # Different rows, whatever the shape of the block: one is even, the other odd.
        m.d.comb += [at.eq(self.at << 1), source.eq(self.source << 1 | 1)]

        def add(name, part, pairs, outputs):
            m.submodules[name] = part
            for member, value in pairs.items():
                target = getattr(part, member)
                if isinstance(target, (Signal, Value)):
                    m.d.comb += target.eq(value)
                    continue
                width = len(Value.cast(target[0]))
                m.d.comb += [
                    each.eq(value[(k * width) % 18 :][:width]) for k, each in enumerate(target)
                ]
            for member in outputs:
                target = getattr(part, member)
                seen.extend(
                    [target]
                    if isinstance(target, (Signal, Value))
                    else [Value.cast(each) for each in target]
                )

        shapes = (
            [(36, 512, 2), (18, 1024, 1), (9, 1024, 2), (4, 1024, 3), (2, 1024, 1)]
            if self._chip == "ecp5"
            else [(16, 256, 1), (8, 512, 2), (4, 1024, 1), (2, 1024, 3)]
        )
        for width, depth, latency in shapes:
            add(
                f"ram_{width}",
                BlockRAM(width=width, depth=depth, latency=latency, family=self._family),
                {
                    "write_en": self.write,
                    "write_addr": at,
                    "read_addr": source,
                    "write_data": self.data,
                },
                ["read_data"],
            )
        add(
            "halves",
            HalvesRAM(depth=256, family=self._family),
            {
                "write_en": self.write.replicate(2),
                "write_addr": at,
                "read_addr": source,
                "write_data": self.data,
            },
            ["read_data"],
        )
        for width in (8, 16):
            add(
                f"array_{width}",
                MultiplierArray(lanes=2, width=width, family=self._family),
                {"a": self.data, "b": self.other},
                ["p"],
            )
        if self._chip == "ecp5":
            add(
                "dual",
                DualPortRAM(depth=1024, family=self._family),
                {
                    "a_addr": at,
                    "b_addr": source,
                    "a_write": self.write,
                    "b_write": 0,
                    "a_write_data": self.data,
                    "b_write_data": 0,
                },
                ["b_data"],
            )
            add(
                "long",
                PipelinedMultipliers(lanes=1, a_width=18, b_width=18, family=self._family),
                {"a": self.data, "b": self.other},
                ["p"],
            )
        else:
            add(
                "single",
                SPRAM(family=self._family),
                {"address": self.at, "enable": 1, "write": 0, "mask": 0, "write_data": 0},
                [],
            )
        self._logic(m, seen)
        total = Cat(seen)
        assert len(total) <= len(self.o)
        m.d.comb += self.o.eq(total)
        return m

    def _logic(self, m, seen):
        """Adders, registers with each kind of enable and reset, a small memory of look-up tables, a
        memory with contents, wide selections."""
        sums, held, kept = Signal(24), Signal(12, init=0xA5A), Signal(12)
        m.d.sync += sums.eq(sums + self.data[:20] + self.other[3])
        with m.If(self.data[0]):
            m.d.sync += held.eq(held ^ self.other)
        with m.If(self.data[1] & self.data[2] & self.data[3]):
            m.d.sync += held.eq(0x123)
        with m.Elif(self.other[4]):
            m.d.sync += kept.eq(kept - 3)
        small = m.submodules.small = Memory(shape=6, depth=16, init=[])
        put, get = small.write_port(), small.read_port(domain="comb")
        rom = m.submodules.rom = Memory(
            shape=12, depth=256, init=[(k * 37 + 11) & 0xFFF for k in range(256)]
        )
        line = rom.read_port()
        chosen = Signal()
        with m.Switch(self.other[:5]):
            for k in range(32):
                with m.Case(k):
                    m.d.comb += chosen.eq(self.data[k] ^ (self.at[0] if k & 1 else self.write))
        m.d.comb += [
            put.en.eq(self.write),
            put.addr.eq(self.at),
            put.data.eq(self.data),
            get.addr.eq(self.source),
            line.addr.eq(self.source),
            line.en.eq(1),
        ]
        seen.extend([sums, held, kept, get.data, line.data, chosen])


def stimuli(seed):
    rng = random.Random(seed)
    return [
        {
            "write": rng.getrandbits(1),
            "at": rng.choice((rng.randrange(8), rng.getrandbits(11))),
            "source": rng.choice((rng.randrange(8), rng.getrandbits(11))),
            "data": rng.choice((rng.getrandbits(36), 0x808080808, 0x800080008)),
            "other": rng.getrandbits(36),
        }
        for _ in range(CYCLES)
    ]


def expected(chip, steps):
    part = Parts(None, chip)
    values = []

    async def bench(ctx):
        for step in steps:
            for name, value in step.items():
                ctx.set(getattr(part, name), value)
            await ctx.delay(1e-9)
            values.append(ctx.get(part.o))
            await ctx.tick()

    simulate(part, bench)
    return values


@pytest.mark.parametrize("chip", ["ecp5", "ice40"])
def test_parts_are_their_twins(chip, tmp_path, monkeypatch):
    """Every primitive, LUTs of all widths, carries, flip-flops with enables and resets, table
    memories, contents; nothing depends on what is undefined once it has been written."""
    monkeypatch.chdir(tmp_path)
    steps = stimuli(1)
    pins = Pins(tmp_path / "parts", Parts(chip, chip), chip)
    wrong = []
    # Memories of the twins hold zeros: so do the cells' but for outputs before the first reads.
    for cycle, (step, value) in enumerate(zip(steps, expected(chip, steps), strict=True)):
        for name, level in step.items():
            pins.set(name, level)
        if cycle > 6 and pins.get("o") != value:
            wrong.append((cycle, f"{pins.get('o') ^ value:x}"))
        pins.tick()
    assert not wrong, wrong[:5]
    assert pins.simulation.seen().any()


@pytest.mark.parametrize(
    "attributes, expected",
    [
        ({"hdlname": "soc ram cell", "src": "bram.py:30"}, 1),
        ({"module_not_derived": "1", "src": "brams_map_16kd.v:131"}, 0),
        # Inferred in a module that was synthesised apart.
        ({"hdlname": "soc fifo storage.0.0", "module_not_derived": "1"}, 0),
    ],
)
def test_inferred_block_rams_are_told_from_instances(attributes, expected):
    assert has_behavioural_model({"attributes": attributes}) == expected


#: Modes of an SB_MAC16 beyond those that quintet uses: plain and accumulating, one product and two,
#: with and without each register.
MODES = [
    {
        "A_REG": 1,
        "B_REG": 1,
        "TOPOUTPUT_SELECT": 3,
        "BOTOUTPUT_SELECT": 3,
        "PIPELINE_16x16_MULT_REG2": 1,
    },
    {
        "A_REG": 1,
        "B_REG": 1,
        "C_REG": 1,
        "D_REG": 1,
        "TOPOUTPUT_SELECT": 1,
        "BOTOUTPUT_SELECT": 1,
        "TOPADDSUB_LOWERINPUT": 2,
        "BOTADDSUB_LOWERINPUT": 2,
        "TOPADDSUB_CARRYSELECT": 2,
        "A_SIGNED": 1,
        "B_SIGNED": 1,
    },
    {
        "TOPOUTPUT_SELECT": 0,
        "BOTOUTPUT_SELECT": 0,
        "TOPADDSUB_LOWERINPUT": 2,
        "BOTADDSUB_LOWERINPUT": 2,
        "TOPADDSUB_UPPERINPUT": 1,
        "BOTADDSUB_UPPERINPUT": 1,
        "TOPADDSUB_CARRYSELECT": 3,
        "BOTADDSUB_CARRYSELECT": 3,
        "PIPELINE_16x16_MULT_REG1": 1,
        "TOP_8x8_MULT_REG": 1,
        "BOT_8x8_MULT_REG": 1,
    },
    {
        "MODE_8x8": 1,
        "TOPOUTPUT_SELECT": 2,
        "BOTOUTPUT_SELECT": 2,
        "A_SIGNED": 1,
        "TOP_8x8_MULT_REG": 1,
    },
    {
        "MODE_8x8": 1,
        "TOPOUTPUT_SELECT": 1,
        "BOTOUTPUT_SELECT": 1,
        "TOPADDSUB_LOWERINPUT": 1,
        "BOTADDSUB_LOWERINPUT": 1,
        "TOPADDSUB_CARRYSELECT": 1,
        "BOTADDSUB_CARRYSELECT": 2,
        "B_SIGNED": 1,
        "B_REG": 1,
    },
    {
        "TOPOUTPUT_SELECT": 1,
        "BOTOUTPUT_SELECT": 0,
        "TOPADDSUB_LOWERINPUT": 3,
        "BOTADDSUB_LOWERINPUT": 3,
        "A_SIGNED": 1,
        "B_SIGNED": 1,
    },
]
WIDTHS = {
    "CE": 1,
    **dict.fromkeys("CABD", 16),
    **dict.fromkeys(
        (
            "AHOLD",
            "BHOLD",
            "CHOLD",
            "DHOLD",
            "IRSTTOP",
            "IRSTBOT",
            "ORSTTOP",
            "ORSTBOT",
            "OLOADTOP",
            "OLOADBOT",
            "ADDSUBTOP",
            "ADDSUBBOT",
            "OHOLDTOP",
            "OHOLDBOT",
            "CI",
            "ACCUMCI",
            "SIGNEXTIN",
        ),
        1,
    ),
}
OUTPUTS = {"O": 32, "CO": 1, "ACCUMCO": 1, "SIGNEXTOUT": 1}


def _yosys_mac16(folder):
    """All modes side by side, by yosys' model of the cell, with common inputs."""
    inputs = ", ".join(f"input [{width - 1}:0] {name}" for name, width in WIDTHS.items())
    outputs = ", ".join(
        f"output [{width - 1}:0] {name}_{k}"
        for k in range(len(MODES))
        for name, width in OUTPUTS.items()
    )
    cells = [
        f"SB_MAC16 #({', '.join(f'.{n}({v})' for n, v in mode.items())}) c{k} (.CLK(clk), "
        + ", ".join([f".{n}({n})" for n in WIDTHS] + [f".{n}({n}_{k})" for n in OUTPUTS])
        + ");"
        for k, mode in enumerate(MODES)
    ]
    (folder / "cell.v").write_text(
        f"module top(input clk, {inputs}, {outputs});\n"
        + "\n".join(cells)
        + f"\nendmodule\n{ice40_cell('SB_MAC16')}"
    )
    run_tool(
        folder,
        [
            find_tool("yosys"),
            "-q",
            "-p",
            "read_verilog cell.v; hierarchy -top top; proc; flatten; async2sync; opt_clean; "
            "write_rtlil cell.il",
        ],
    )
    return VirtualSimulation.build((folder / "cell.il").read_text())


def _mac16_json(mode):
    """The cell in a netlist of its own, its pins as ports."""
    cell = {
        "type": "SB_MAC16",
        "parameters": {name: f"{value:02b}" for name, value in mode.items()},
        "connections": {},
    }
    bits = iter(range(2, 1000))
    for name, width in {"CLK": 1, **WIDTHS, **OUTPUTS}.items():
        cell["connections"][name] = [next(bits) for _ in range(width)]
    ports = {
        name: {"direction": "output" if name in OUTPUTS else "input", "bits": found}
        for name, found in cell["connections"].items()
    }
    return {"modules": {"top": {"ports": ports, "cells": {"mac": cell}}}}


def test_mac16_of_every_kind_is_yosys_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model, cells = _yosys_mac16(tmp_path), []
    for k, mode in enumerate(MODES):
        path = tmp_path / f"mode_{k}.json"
        path.write_text(json.dumps(_mac16_json(mode)))
        netlist = read_ice40(path)
        simulation = NetlistSimulation(netlist)
        simulation.finish()
        cells.append((netlist, simulation))
    rng = random.Random(1)
    once = {"IRSTTOP", "IRSTBOT", "ORSTTOP", "ORSTBOT"}
    for cycle in range(300):
        # Resets for a whole cycle at the beginning, and now and then.
        values = {
            name: int(cycle < 2 or rng.random() < 0.03) if name in once else rng.getrandbits(width)
            for name, width in WIDTHS.items()
        }
        values["CE"] = int(rng.random() < 0.8)
        for name, value in values.items():
            model.set(name, value)
        for k, (netlist, simulation) in enumerate(cells):
            for name, value in values.items():
                for bit, pad in enumerate(netlist.pads[name]):
                    simulation.set(pad.sees, value >> bit & 1)
            if cycle > 2:
                for name in OUTPUTS:
                    got = sum(
                        simulation.get(pad.drives) << bit
                        for bit, pad in enumerate(netlist.pads[name])
                    )
                    assert got == model.get(f"{name}_{k}"), (cycle, MODES[k], name)
            for level in (1, 0):
                simulation.set(netlist.pads["CLK"][0].sees, level)
        model.step()
