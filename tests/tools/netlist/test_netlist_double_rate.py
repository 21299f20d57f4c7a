# SPDX-License-Identifier: BSD-2-Clause
"""Netlists with double-rate I/O cells: the cells by themselves, and the check of builds whose SDRAM
runs at twice the main clock."""

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from amaranth import Cat, IOPort, Module
from amaranth.lib import io, wiring
from amaranth.lib.wiring import In, Out

from quintet.gateware.primitives.pads import DOUBLE_LATENCY, DoubleRatePads
from quintet.tools.netlist.check import Subject, check_build
from quintet.tools.netlist.registers.reference import follow, make_reference, words
from tests.support.netlist_builds import Pins, synthesised

#: Pins of the cells' test, how many there are, and cycles that it takes.
SITES = {"pads[0]": "H5", "pads[1]": "K6", "pads[2]": "P5"}
WIDTH, CYCLES = len(SITES), 200


class Pads(wiring.Component):
    """Double-rate pads between wires: two words out, two words in."""

    def __init__(self):
        super().__init__({"o": In(2 * WIDTH), "oe": In(1), "i": Out(2 * WIDTH)})

    def elaborate(self, platform):
        m = Module()
        port = io.SingleEndedPort(IOPort(WIDTH, name="pads"))
        m.submodules.pads = pads = DoubleRatePads(port=port)
        m.d.comb += [Cat(pads.o).eq(self.o), pads.oe.eq(self.oe), self.i.eq(Cat(pads.i))]
        return m


def test_cells(tmp_path, monkeypatch):
    """A word of the first half leaves with the third rising edge from the one that takes it, that
    of the second half with the falling edge behind; a level at a rising edge and that at the
    falling edge behind it come in together with the next rising edge."""
    monkeypatch.chdir(tmp_path)
    pins = Pins(tmp_path / "pads", Pads(), "ecp5", SITES)
    rng, outer = random.Random(1), pins.netlist.pads["pads"]
    given, seen = [0] * DOUBLE_LATENCY, 0
    assert pins.get("pads") == 0 and not any(pins.simulation.get(pad.enable) for pad in outer)
    for cycle in range(CYCLES):
        words, enable = rng.getrandbits(2 * WIDTH), rng.getrandbits(1)
        levels = [rng.getrandbits(WIDTH) for _ in range(2)]
        pins.set("o", words)
        pins.set("oe", enable)
        given.append(words)
        for half, clock in enumerate((1, 0)):
            pins.set("pads", levels[half])
            pins.set("clk", clock)
            at_pads = given[-DOUBLE_LATENCY] >> WIDTH * half & (1 << WIDTH) - 1
            assert pins.get("pads") == at_pads, (cycle, half)
            assert pins.get("i") == seen, (cycle, half)
            assert {pins.simulation.get(pad.enable) for pad in outer} == {bool(enable)}, cycle
        seen = levels[0] | levels[1] << WIDTH


@pytest.fixture(scope="module")
def sound(double_rate):
    """A subject and what its virtual board does."""
    subject = Subject(double_rate)
    return subject, make_reference(subject)


def test_check(double_rate):
    check = check_build(double_rate)
    assert check.ok, check.wrong
    report = Subject(double_rate).report
    assert check.sdram_rises_ns == pytest.approx(
        report["sdram"]["phase_degrees"] / 360 * 1000 / (2 * report["clock_real_mhz"]), abs=0.02
    )
    assert check.registers["compared"] > 1100


def test_both_words_of_a_pad_are_compared(sound):
    subject, reference = sound
    names = set(reference.matched.names)
    assert {f"pads__dq__o[{bit}]" for bit in range(32)} <= names
    assert {f"pads__dqm[{bit}]" for bit in range(4)} <= names
    assert {f"memory_pins__dq__i[{bit}]" for bit in range(32)} <= names
    assert {"pads__ras_n", "pads__cas_n", "pads__we_n", "pads__cs_n", "pads__ba[1]"} <= names


def _flop(netlist, name):
    """Index of the flip-flop of a name, and its row."""
    place = next(k for k, (each, _) in enumerate(netlist.flops) if each == name)
    return place, netlist.flops[place][1]


def _cell_of(netlist, port, bit=0):
    """Name of the double-rate cell at a pad."""
    drives = netlist.pads[port][bit].drives
    name = next(name for name, row, _ in netlist.luts if row[4] == drives)
    return name.removesuffix(".double")


def _swap_outputs(netlist):
    """The two words of a data line leave in the other order."""
    drives = netlist.pads["sdram_0__dq"][5].drives
    place = next(k for k, (_, row, _) in enumerate(netlist.luts) if row[4] == drives)
    name, (second, first, *rest), table = netlist.luts[place]
    netlist.luts[place] = name, (first, second, *rest), table


def _swap_inputs(netlist):
    """The two words of a data line come in in the other order."""
    cell = _cell_of(netlist, "sdram_0__dq", 5)
    places = [_flop(netlist, f"{cell}.input {k}") for k in (0, 1)]
    for (place, row), (_, other) in zip(places, reversed(places), strict=True):
        name, _ = netlist.flops[place]
        netlist.flops[place] = name, (row[0], other[1], *row[2:])


def _skip_stage(netlist):
    """A command line leaves a cycle early."""
    cell = _cell_of(netlist, "sdram_0__cas")
    for half in (0, 1):
        _, early = _flop(netlist, f"{cell}.half {half} first stage")
        place, row = _flop(netlist, f"{cell}.half {half} second stage")
        netlist.flops[place] = netlist.flops[place][0], (row[0], early[1], *row[2:])


def _rising_only(netlist):
    """A data line is looked at at rising edges only."""
    place, row = _flop(netlist, f"{_cell_of(netlist, 'sdram_0__dq', 5)}.falling edge")
    netlist.flops[place] = netlist.flops[place][0], (*row[:5], 0)


def _repeat_command(netlist):
    """The second half of a cycle repeats the command."""
    for line in ("ras", "cas", "we"):
        cell = _cell_of(netlist, f"sdram_0__{line}")
        _, first = _flop(netlist, f"{cell}.half 0 first stage")
        place, row = _flop(netlist, f"{cell}.half 1 first stage")
        netlist.flops[place] = netlist.flops[place][0], (row[0], first[1], *row[2:])


def _slow_chip(netlist):
    """The chip's clock is as fast as the main clock."""
    (pll,) = netlist.plls
    *others, (net, ratio, phase) = pll.outputs
    netlist.plls = [replace(pll, outputs=(*others, (net, ratio / 2, phase)))]


@pytest.mark.parametrize(
    "spoil, found",
    [
        (_swap_outputs, "register pads__dq__o[5] is "),
        (_swap_inputs, "register memory_pins__dq__i["),
        (_skip_stage, "register pads__cas_n is "),
        (_rising_only, "register memory_pins__dq__i[21] is "),
        # Of the first command behind the initialisation, a refresh.
        (_repeat_command, "SDRAM chip: SDRAM: tRFC"),
        (_slow_chip, "registers are not what they are held against"),
    ],
)
def test_what_is_wrong_is_found(sound, spoil, found):
    subject, reference = sound
    faulty = subject.netlist.copy()
    spoil(faulty)
    outcome, difference = follow(subject, reference, netlist=faulty)
    assert not outcome.ok
    said = "" if difference is None else "".join(words(subject, reference, [difference]))
    assert found in f"{outcome.failed} {said}"


def test_another_phase_is_found(double_rate, monkeypatch):
    """Of a quarter of the chip's period, by the netlist's own PLL."""
    late = Subject(double_rate).netlist
    (pll,) = late.plls
    *others, (net, ratio, phase) = pll.outputs
    late.plls = [replace(pll, outputs=(*others, (net, ratio, phase + Fraction(1, 4))))]
    monkeypatch.setattr("quintet.tools.netlist.check.read_build", lambda *arguments: late)
    assert check_build(double_rate).wrong == [
        "the SDRAM's clock rises 7.11 ns after its lines change; 4.96 expected"
    ]


@pytest.mark.long
def test_with_a_core(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = synthesised(tmp_path / "build", "ulx3s-25f", "opentpu", "25f-4x4", sdram_rate=2)
    check = check_build(folder)
    assert check.ok, check.wrong
    assert any(finding.counters for finding in check.netlist.findings)
