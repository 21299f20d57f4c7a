# SPDX-License-Identifier: BSD-2-Clause
"""The decoder's classes of words against the ISA's table, and its adder against integers."""

import random

import pytest
from amaranth import Const, Signal
from amaranth.sim import Simulator

from quintet.gateware.cores.opentpu.engine.adder import OperandAdder
from quintet.gateware.cores.opentpu.engine.classify import OPS, Classify
from quintet.gateware.cores.opentpu.isa import ISA
from quintet.gateware.cores.opentpu.params import SPACE
from quintet.gateware.isa.words import extreme_words, illegal_words, random_word
from tests.support.simulating import simulate

BUILDS = {
    "default": ("85f-8x8", {}),
    "ext": ("sim-ext", {}),
    "plain": ("sim-plain", {}),
    "wide": ("85f-12x12", {"ext_conv": True, "ext_diag": True}),
}


def words_for(params):
    rng = random.Random(1)
    words = [word for word, _ in illegal_words(ISA, params)]
    for instruction in ISA.instructions:
        words += list(extreme_words(ISA, instruction))
    words += [random_word(ISA, rng, legal=False, params=params) for _ in range(600)]
    words += [random_word(ISA, rng, params=params) for _ in range(300)]
    return words


@pytest.mark.parametrize("build", BUILDS)
def test_words_are_classed_as_the_table_says(build):
    preset, overrides = BUILDS[build]
    params = SPACE.resolve(preset, overrides)
    classify = Classify(params=params)
    faults = set()

    def verdict(about):
        stray = [k + 1 for k in range(4) if about.stray >> k & 1]
        if about.bad_cfg:
            return "bad_config", about.ub
        if about.illegal:
            return "illegal_opcode", about.opcode
        if stray:
            return "bad_field", stray[0]
        if about.ub_bad:
            return "ub_range", about.ub + about.number
        if about.acc_bad:
            detail = 0xFFFF_FFFF if about.high_addr else min(about.addr + about.number, 0xFFFF_FFFF)
            return "acc_range", detail
        return None, 0

    async def drive(ctx):
        for word in words_for(params):
            ctx.set(classify.word.as_value(), word)
            about = ctx.get(classify.about)
            decoded = ISA.decode(word, params)
            faults.add(decoded.fault)
            assert verdict(about) == (decoded.fault, decoded.detail), f"{word:028x}"
            set_bits = [name for name in OPS if name != "fault" and about[name]]
            assert set_bits == (
                [] if decoded.instruction is None else [decoded.instruction.mnemonic.lower()]
            ), f"{word:028x}"
            if decoded.fault is None and decoded.instruction.mnemonic in ("RHM", "WHM", "RW"):
                tile = decoded.instruction.mnemonic == "RW" and not decoded.values["diagonal"]
                size = params["n"] ** (2 if tile else 1)
                assert about.memory
                if params["ext_diag"]:
                    assert about.tile == tile
                # A shift may lose bits where the product itself does not fit, and nowhere else.
                assert about.far >= (decoded.values["addr"] * size >> 33 != 0), f"{word:028x}"
                assert about.far <= (decoded.values["addr"] * size >> 32 != 0), f"{word:028x}"

    sim = Simulator(classify)
    sim.add_testbench(drive)
    sim.run()
    assert {"illegal_opcode", "bad_field", "ub_range", "acc_range", None} <= faults


def test_adder_does_what_was_said_two_cycles_ago():
    rng = random.Random(2)
    values = {name: rng.getrandbits(32) for name in "abcdefgh"}
    operands = {name: Const(value, 32) for name, value in values.items()}
    acc = Signal(32)
    adder = OperandAdder(
        x={name: operands[name] for name in "abc"},
        y={**{name: operands[name] for name in "def"}, "small": None, "shifted": None},
        small={"five": Const(5, 16), "six": Const(6, 16)},
        shifted={2: operands["g"], 3: operands["h"]},
        acc=acc,
    )
    cases = []
    for say, result in (
        (adder.add, lambda a, b: a + b),
        (adder.less, lambda a, b: a + (~b & 0xFFFF_FFFF) + 1),
        (adder.above, lambda a, b: a + (~b & 0xFFFF_FFFF)),
    ):
        for first in ("a", "b", "c", None):
            for second in ("d", "e", "f", "small", "shifted"):
                when = Signal(name=f"when_{len(cases)}")
                say(when, first, second)
                number = values.get(second)
                if second == "small":
                    name = rng.choice(("five", "six"))
                    adder.choose_small(when, name)
                    number = {"five": 5, "six": 6}[name]
                elif second == "shifted":
                    shift = rng.choice((2, 3))
                    adder.choose_shifted(when, shift)
                    number = values["g" if shift == 2 else "h"]
                cases.append((when, first, number, result))
    order = [rng.randrange(len(cases)) for _ in range(300)]

    async def drive(ctx):
        accs = []
        for k in range(len(order) + 2):
            accs.append(rng.getrandbits(32))
            ctx.set(acc, accs[-1])
            for j, (when, *_) in enumerate(cases):
                ctx.set(when, k < len(order) and order[k] == j)
            if k >= 2:
                _, first, number, result = cases[order[k - 2]]
                expected = result(accs[k] if first is None else values[first], number)
                assert ctx.get(adder.total) == expected & 0xFFFF_FFFF
                assert ctx.get(adder.carry) == expected >> 32
            await ctx.tick()

    simulate(adder, drive)
