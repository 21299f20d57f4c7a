# SPDX-License-Identifier: BSD-2-Clause
"""Registers of a netlist against those of the virtual board: by which names they are found, and
what is said of one that is another."""

import json

import numpy as np
import pytest

from quintet.boards.top import reset_cycles
from quintet.boards.virtual.compile import mangle
from quintet.boards.virtual.registers import Register, register_table, unmangle
from quintet.tools.netlist.board import power_up
from quintet.tools.netlist.check import Subject, check_build
from quintet.tools.netlist.faults import Fault
from quintet.tools.netlist.netlist import HIGH, LOW, RESET_TO_1, STARTS_AT_1, Netlist
from quintet.tools.netlist.packing import read_build
from quintet.tools.netlist.registers import record
from quintet.tools.netlist.registers.match import match
from quintet.tools.netlist.registers.reference import Difference, follow, make_reference, words
from quintet.tools.netlist.yosys_json import Reader


@pytest.fixture(scope="module")
def sound(up5k):
    """A subject and what its virtual board does."""
    subject = Subject(up5k)
    return subject, make_reference(subject)


def test_names_are_what_they_were():
    for name in (
        "soc.registers.cycles",
        "soc.front.memory__r__payload",
        "soc.link.$signal$33",
        "a[7:4]",
    ):
        assert unmangle(mangle(name)[2:]) == name


def test_registers_of_a_design():
    header = (
        "\t/*output*/ wire<3> p_tx__line;\n\tvalue<4> p_none;\n\twire<33> p_soc_2e_a;\n"
        "\twire<1> i_own;\n"
    )
    assert [line.strip() for line in register_table(header).splitlines()[2:-1]] == [
        "at[0] = d.p_tx__line.curr.data;",
        "at[1] = d.p_soc_2e_a.curr.data;",
        "at[2] = d.i_own.curr.data;",
    ]


def test_bits_are_matched_by_any_of_their_names():
    netlist = Netlist(
        names={
            ("kept", 0): 7,
            ("kept", 1): 8,
            ("other", 0): HIGH,
            ("wide", 0): 9,
            ("one", 0): 10,
            ("two", 0): 11,
        },
        widths={"wide": 17},
    )
    registers = [
        Register(
            0, "lost", 2, 4, ((("lost", 4, 6), ("kept", 0, 2)), (("lost", 5, 6), ("kept", 1, 2)))
        ),
        Register(1, "constant", 1, 0, ((("other", 0, 1),),)),
        Register(2, "wide", 1, 0, ((("wide", 0, 31),),)),
        Register(3, "double", 1, 0, ((("one", 0, 1), ("two", 0, 1)),)),
        Register(4, "swept", 2, 0, ((), ())),
    ]
    found = match(registers, netlist)
    assert found.names == ["lost[4]", "lost[5]", "constant"] and len(found) == 3
    assert (
        found.numbers.tolist() == [0, 0, 1]
        and found.bits.tolist() == [0, 1, 0]
        and found.nets.tolist() == [7, 8, HIGH]
    )
    assert found.unnamed == ["wide", "double", "swept[0]", "swept[1]"]
    assert len(match(registers, Netlist())) == 0 and len(match(registers, Netlist()).unnamed) == 7


def test_nextpnr_has_a_name_for_each_bit(tmp_path):
    source, packed = tmp_path / "source.json", tmp_path / "packed.json"
    source.write_text(
        json.dumps(
            {
                "modules": {
                    "top": {
                        "netnames": {
                            "a": {"bits": [5, 6], "hide_name": 0},
                            "b": {"bits": [6], "hide_name": 0},
                            "hidden": {"bits": [5], "hide_name": 1},
                            "zero": {"bits": ["0"]},
                        }
                    }
                }
            }
        )
    )
    packed.write_text(
        json.dumps(
            {
                "modules": {
                    "top": {
                        "netnames": {
                            "a[0]": {"bits": [70]},
                            "b": {"bits": [71]},
                            "gone": {"bits": [72]},
                        }
                    }
                }
            }
        )
    )
    reader = Reader(packed)
    nets = [reader.bit(bit) for bit in (70, 71)]
    reader.name_nets(source)
    assert (
        reader.netlist.names
        == {("a", 0): nets[0], ("a", 1): nets[1], ("b", 0): nets[1], ("zero", 0): LOW}
        and reader.netlist.widths["a"] == 2
    )


def _register(subject, reference, name):
    """Place of the flip-flop in the netlist that has a register's name, and its place among those
    that are compared."""
    place = reference.matched.names.index(name)
    net = reference.matched.nets[place]
    return next(k for k, (_, row) in enumerate(subject.netlist.flops) if row[4] == net), place


def _said(subject, reference, difference):
    (line,) = words(subject, reference, [difference])
    return line


def test_nearly_all_registers_have_a_name(sound):
    subject, reference = sound
    assert reference.count["compared"] > 0.9 * (
        reference.count["compared"] + reference.count["without a name"]
    )
    named = set(reference.matched.nets.tolist())
    assert sum(row[4] in named for _, row in subject.netlist.flops) > 0.95 * len(
        subject.netlist.flops
    )


def test_a_register_that_starts_at_the_wrong_level(sound):
    """Though its reset, or the first word that it takes, would make it right before anybody
    looks."""
    subject, reference = sound
    for name in ("soc.registers.cycles[9]", "soc.link.word[13]"):
        place, _ = _register(subject, reference, name)
        faulty = Fault("initial value", name, "starts at the other level", place=place).applied(
            subject.netlist
        )
        outcome, difference = follow(subject, reference, netlist=faulty)
        assert not outcome.ok and difference.cycle == 0
        assert (
            _said(subject, reference, difference)
            == f"register {name} is 1 in the netlist and 0 in the simulation, at power-up"
        )


def test_a_register_that_no_answer_shows(sound):
    """The watchdog's counter: no slave leaves it counting for long. Its third bit never rises."""
    subject, reference = sound
    faulty = subject.netlist.copy()
    place, which = _register(subject, reference, "soc.watchdog.count[2]")
    name, row = faulty.flops[place]
    faulty.flops[place] = name, (row[0], 0, *row[2:])
    outcome, difference = follow(subject, reference, netlist=faulty)
    assert (
        "registers are not what they are held against" in outcome.failed
        and difference.cycle > reset_cycles(0)
    )
    line = (
        f"register soc.watchdog.count[2] is 0 in the netlist and 1 in the simulation, cycle "
        f"{difference.cycle:,}"
    )
    assert _said(subject, reference, difference) == line and not difference.levels[which]
    # Several at once, in any order, by one more run.
    more = difference.levels.copy()
    more[:3] ^= True
    lines = list(
        words(
            subject,
            reference,
            [Difference(difference.cycle, more), Difference(0, ~reference.levels), difference],
        )
    )
    assert (
        lines[0].endswith(f"cycle {difference.cycle:,}; 3 more differ")
        and "at power-up; " in lines[1]
        and lines[2] == line
    )


def test_a_reset_that_is_too_short(sound):
    """The counter behind the PLL's lock is none of the virtual board's registers; all of these come
    too early."""
    subject, reference = sound
    faulty = subject.netlist.copy()
    net = faulty.names["clock.count", 9]
    place = next(k for k, (_, row) in enumerate(faulty.flops) if row[4] == net)
    name, row = faulty.flops[place]
    faulty.flops[place] = name, (row[0], HIGH, HIGH, 0, row[4], row[5] | RESET_TO_1 | STARTS_AT_1)
    _, difference = follow(subject, reference, netlist=faulty)
    unlocked = power_up(subject.board, subject.soc("own"), subject.netlist)[2][0]
    assert unlocked < difference.cycle < reset_cycles(unlocked) - 500


def test_sums_tell_whether_all_bits_are_equal(sound):
    """Both sides keep them up to date by what changes; here against a copy of all bits."""
    subject, reference = sound
    cycles = [5, reset_cycles(0), 8000, 8001]  # nobody has said anything until then
    with subject.placed(
        seed=None, before=lambda simulation: record.watch_netlist(simulation, reference.matched)
    ) as board:
        record.copy(board.simulation, cycles)
        board.advance(cycles[-1])
        copies = record.copied(board.simulation, reference.matched)
    for cycle, bits in zip(cycles, copies, strict=True):
        assert (
            np.bitwise_xor.reduce(reference.matched.weights[bits]) == reference.sums.values[cycle]
        )


def test_the_check_names_a_register(up5k, sound, monkeypatch):
    subject, reference = sound
    faulty = subject.netlist.copy()
    place, _ = _register(subject, reference, "soc.link.word[13]")
    name, row = faulty.flops[place]
    faulty.flops[place] = name, (*row[:5], row[5] ^ STARTS_AT_1)
    monkeypatch.setattr("quintet.tools.netlist.check.read_build", lambda *arguments: faulty)
    check = check_build(up5k)
    assert check.wrong == [
        "register soc.link.word[13] is 1 in the netlist and 0 in the simulation, at power-up"
    ]
    assert check.as_dict()["registers"] == reference.count


def test_a_netlist_without_names_is_not_equal(up5k, sound, monkeypatch):
    """Else a tool that drops names would make the check a weaker one, and nobody would know. What
    is read back from a bitstream has none."""
    subject, _ = sound
    nameless = subject.netlist.copy()
    nameless.names = {}
    monkeypatch.setattr("quintet.tools.netlist.check.read_build", lambda *arguments: nameless)
    monkeypatch.setattr("quintet.tools.netlist.check.read_back", lambda *arguments: nameless)
    assert check_build(up5k).wrong == [
        "the netlist has none of the names of the gateware's registers; expected most of them"
    ]
    assert check_build(up5k, routed=True).ok


def test_ecp5_has_names_too(ecp5):
    """nextpnr keeps one name of each net; the others are those of what it has read."""
    netlist = read_build(ecp5, "ecp5")
    assert (
        all(("soc.registers.cycles", bit) in netlist.names for bit in range(32))
        and netlist.widths["soc.registers.cycles"] == 32
    )
    named = set(netlist.names.values())
    assert sum(row[4] in named for _, row in netlist.flops) > 0.9 * len(netlist.flops)
