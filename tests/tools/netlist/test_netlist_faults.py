# SPDX-License-Identifier: BSD-2-Clause
"""Faults put into a netlist: what a check says of them, and what registers hold."""

import json
from types import SimpleNamespace

import pytest

from quintet.tools.cli import main
from quintet.tools.netlist import trail as trails
from quintet.tools.netlist.check import Subject
from quintet.tools.netlist.command import show_faults
from quintet.tools.netlist.conversation import Outcome, converse
from quintet.tools.netlist.faults import KINDS, draw_faults
from quintet.tools.netlist.injection import VERDICTS, Injected, inject
from quintet.tools.netlist.netlist import STARTS_AT_1, Netlist, NetlistError
from quintet.tools.netlist.packing import read_build
from tests.support.netlist_builds import synthesised


def test_faults_are_found(up5k, monkeypatch):
    """Of every kind; a netlist that is dead ends soon. What no input reached is told apart, and
    what no register ever shows."""
    results = inject(up5k, 16, seed=3)
    assert len(results) == 16 and {one.kind for one in results} == set(KINDS)
    assert sum(one.verdict == "found" for one in results) >= 8
    assert all(bool(one.found) == (one.verdict in ("found", "silent")) for one in results)
    assert {one.verdict for one in results} <= set(VERDICTS)
    assert all("differ" in one.found for one in results if one.verdict == "silent")


def _spoilt(netlist, what):
    """A copy of a netlist in which ``what`` has changed the lists of tables and flip-flops."""
    copy = netlist.copy()
    what(copy)
    return copy


def _followed(subject, trail, netlist):
    with subject.placed(netlist) as board:
        trails.follow(board.simulation, trail)
        outcome = converse(board, "netlist")
        return outcome, trails.differences(board.simulation), trails.copied(board.simulation)


def test_what_registers_hold_tells_silent_from_masked(up5k):
    """A table that nothing reads is masked; a register that nothing reads is silent, and named; a
    register that starts otherwise and is read by nothing is no difference of another one."""
    subject = Subject(up5k)
    main = subject.netlist.clocks(f"{subject.board.oscillator}_0", subject.board.oscillator_hz)[0][
        0
    ][0]

    def blind(copy):
        data, kept = copy.lut("blind table", (subject.netlist.flops[0][1][4],), 0b10), copy.net()
        copy.flops.append(("blind register", (main, data, 1, 0, kept, 0)))

    sound = _spoilt(subject.netlist, blind)
    with subject.placed(sound) as board:
        trail = trails.keep(board.simulation)
        good, trail = converse(board, "netlist"), trail()
    assert good.ok and len(trail.steps) > good.cycles
    same, differ, _ = _followed(subject, trail, sound)
    assert same == good and differ.none
    place = len(sound.luts) - 1

    def table(copy):
        name, row, bits = copy.luts[place]
        copy.luts[place] = name, row, bits ^ 0xFFFF

    outcome, differ, registers = _followed(subject, trail, _spoilt(sound, table))
    assert (
        outcome == good
        and differ.pins is None
        and differ.first <= 1
        and differ.last == len(trail.steps) - 1
    )
    with subject.placed(sound) as board:
        trails.copy_after(board.simulation, [differ.first])
        converse(board, "netlist")
        before = trails.copied(board.simulation)
        assert trails.copied(board.simulation, 1) is None
    (wrong,) = (registers != before).nonzero()[0]
    assert trails.register_name(sound, wrong) == "blind register"

    def unread(copy):
        copy.lut("unread table", (subject.netlist.flops[0][1][4],), 0b01)

    assert _followed(subject, trail, _spoilt(sound, unread))[1].none

    def starts(copy):
        name, row = copy.flops[-1]
        copy.flops[-1] = name, (*row[:5], STARTS_AT_1)

    assert _followed(subject, trail, _spoilt(sound, starts))[1].none


def test_a_netlist_that_is_wrong_to_begin_with(up5k, monkeypatch):
    monkeypatch.setattr(
        "quintet.tools.netlist.injection.make_reference",
        lambda *arguments: SimpleNamespace(outcome=Outcome((), 0)),
    )
    monkeypatch.setattr(
        "quintet.tools.netlist.injection.follow",
        lambda *arguments, look, **others: (Outcome((), 0, "dead"), None),
    )
    with pytest.raises(NetlistError, match="the sound netlist is not: the netlist: dead"):
        inject(up5k, 1)


def test_names_of_registers(ecp5):
    netlist = read_build(ecp5, "ecp5")
    assert trails.register_name(netlist, 0) == netlist.flops[0][0]
    assert trails.register_name(netlist, len(netlist.flops)) == netlist.cells[0].name
    assert (
        trails.register_name(netlist, len(netlist.flops) + len(netlist.cells))
        == netlist.luts[netlist.writers[0][-1]][0]
    )


def test_copies_of_a_netlist_are_apart():
    """A net that one copy adds is none of another's."""
    netlist = Netlist()
    net = netlist.net()
    first, second = netlist.copy(), netlist.copy()
    assert (
        first.inverted(net) < first.nets and second.inverted(net) < second.nets and not netlist.luts
    )


def test_faults_are_the_same_for_a_seed(up5k):
    netlist = read_build(up5k, "ice40")
    assert draw_faults(netlist, 50, 1) == draw_faults(netlist, 50, 1) != draw_faults(netlist, 50, 2)
    for fault in draw_faults(netlist, 50, 1):
        faulty = fault.applied(netlist)
        assert (faulty.luts, faulty.flops, faulty.cells) != (
            netlist.luts,
            netlist.flops,
            netlist.cells,
        )


@pytest.mark.long
@pytest.mark.parametrize("isa, found, silent", [(None, 150, 2), ("opentpu", 135, 6)])
def test_two_hundred_faults(tmp_path, monkeypatch, isa, found, silent):
    """Most exercised faults are found; the silent ones are named with the differing registers."""
    monkeypatch.chdir(tmp_path)
    results = inject(synthesised(tmp_path / "build", "icebreaker", isa), 200)
    assert len(results) == 200
    verdicts = [one.verdict for one in results]
    assert verdicts.count("found") >= found and verdicts.count("silent") <= silent


def test_faults_by_the_command(up5k, capsys):
    """A table of verdicts, and every fault that is not found, by name."""
    assert main(["check", str(up5k), "--faults", "3", "--seed", "4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] and len(found["faults"]) == 3
    shown, heads = [], []
    show_faults(
        [Injected(**fault) for fault in found["faults"]],
        SimpleNamespace(out=shown.append, table=lambda head, rows: heads.append(head)),
    )
    assert heads == [("fault", ">found", ">unused", ">masked", ">silent")]
    for fault in found["faults"]:
        said = any(
            line.startswith(
                f"{fault['verdict']}: {fault['kind']}, {fault['cell']}, {fault['what']}"
            )
            for line in shown
        )
        assert said == (fault["verdict"] != "found")


def test_the_command_shows_what_was_compared(up5k, capsys):
    assert main(["check", str(up5k)]) == 0
    shown = capsys.readouterr().out
    assert (
        "bits compared in every cycle; the others have no name in the netlist" in shown
        and "equal to the virtual board in" in shown
    )
