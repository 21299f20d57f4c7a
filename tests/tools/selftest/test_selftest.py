# SPDX-License-Identifier: BSD-2-Clause
"""The self-test of a board: sound boards, boards with one fault each, which it must find and name,
and its command."""

import json
from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from amaranth import Module

from quintet.boards import open_board
from quintet.boards.virtual.board import VirtualBoard, open_virtual
from quintet.gateware.cores import open_core
from quintet.gateware.primitives.held import HeldMultipliers
from quintet.tools.cli import main
from quintet.tools.errors import Exit, TargetError
from quintet.tools.link.client import LinkClient
from quintet.tools.link.errors import BoardError, LinkError
from quintet.tools.selftest import Finding, SelfTest
from quintet.tools.selftest.ladder import explain_silence, ladder
from quintet.tools.selftest.link import test_link as check_link
from quintet.tools.selftest.networks import networks
from quintet.tools.targets import open_target
from quintet.tools.targets.link import LinkTarget
from quintet.tools.targets.names import parse_target
from quintet.tools.targets.sim import RETRY, TIMEOUT, SimTarget
from tests.tools.tools_fake_board import FakeBoard
from tests.tools.tools_slow_board import served


def target_of(board, pipe=None):
    return SimTarget(
        client=LinkClient(pipe or board.pipe, seed=1, timeout=TIMEOUT, retry=RETRY),
        name="sim",
        board=board,
    )


def powered(name, isa=None, **options):
    board = open_virtual(name, isa, **options)
    board.pipe.sleep(getattr(board.soc.backing, "powerup_ns", 0) * 1e-9 + 20e-6)
    return board


def sick(target):
    """Findings of what is sick."""
    test = SelfTest(target)
    test.run()
    return {
        (finding.part, finding.name): finding for finding in test.findings if finding.ok is False
    }


# Sound boards


def test_sound_board_with_a_core():
    with target_of(powered("icebreaker", "opentpu")) as target:
        told = []
        test = SelfTest(
            target, told.append, lambda question: "lit" in question or "dark" in question
        )
        assert test.run() == told and test.ok
        assert {finding.part for finding in told} == {"link", "clock", "memory", "core", "LED"}
        assert [finding.found for finding in told if finding.part == "LED"] == ["lit and dark"]
        report = test.report()
        assert report["board"] == "icebreaker" and report["isa"] == "opentpu" and json.dumps(report)


def test_sound_board_without_a_core():
    with target_of(powered("ulx3s-12f")) as target:
        test = SelfTest(target)
        test.run()
        assert test.ok and "core" not in {finding.part for finding in test.findings}
        assert [finding.ok for finding in test.findings if finding.part == "LED"] == [None]


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        "ulx3s-85f/opu",
        "ulx3s-85f/cherry",
        "ulx3s-85f/pim",
        "ulx3s-85f/imagine",
        "icebreaker/opu",
        "icebreaker/cherry",
        "icebreaker/imagine",
        "ulx3s-85f/opentpu?preset=85f-8x8-conv",
    ],
)
def test_every_core(name):
    with open_target(f"sim:{name}") as target:
        assert sick(target) == {}


def test_networks_have_what_cores_are_made_of():
    assert len(networks()) == 9 and len({what for what, _ in networks()}) == 9
    first, second = (graph.nodes[0].weights for graph in (networks()[0][1], networks()[0][1]))
    assert np.array_equal(first, second)


# One fault each


@pytest.mark.parametrize(
    "fault, name, found",
    [
        ({"stuck_at_0": 1 << 5}, "data lines", "D5 is always 0"),
        ({"stuck_at_1": 1 << 14}, "data lines", "D14 is always 1"),
        ({"exchanged": (8, 11)}, "address lines", " is 0x"),
    ],
)
def test_wires_of_the_memory(fault, name, found):
    board = powered("ulx3s-12f")
    board.spoil_wires(**fault)
    with target_of(board) as target:
        findings = sick(target)
        assert (
            set(part for part, _ in findings) <= {"memory", "link"}
            and found in findings["memory", name].found
        )
        assert "pins" in findings["memory", name].advice


def test_wires_of_a_memory_at_twice_the_clock():
    board = powered(open_board("ulx3s-12f").with_sdram_rate(2))
    with target_of(board) as target:
        test = SelfTest(target)
        test.run()
        (lines,) = [each for each in test.findings if each.name == "data lines"]
        assert test.ok and lines.found.startswith("16 lines")
        board.spoil_wires(stuck_at_0=1 << 5)
        assert "D5 is always 0" in sick(target)["memory", "data lines"].found


ON_CHIP = 32 << 10


def test_each_of_two_memories_is_tested():
    with target_of(powered("ulx3s-12f", on_chip=ON_CHIP)) as target:
        test = SelfTest(target)
        test.run()
        names = [finding.name for finding in test.findings if finding.part == "memory"]
        tests = ["data lines", "address lines", "random bytes", "retention", "every byte"]
        assert test.ok and names == [
            f"{memory}: {name}" for memory in ("on chip", "SDRAM") for name in tests
        ]
        lines = [finding.found for finding in test.findings if finding.name.endswith("data lines")]
        assert [text.split()[0] for text in lines] == ["128", "16"]


@pytest.mark.parametrize(
    "fault, name, found",
    [
        ({"stuck_at_0": 1 << 5}, "SDRAM: data lines", "D5 is always 0"),
        ({"exchanged": (8, 11)}, "SDRAM: address lines", " is 0x"),
    ],
)
def test_a_fault_of_the_chip_is_not_one_of_the_on_chip_memory(fault, name, found):
    board = powered("ulx3s-12f", on_chip=ON_CHIP)
    board.spoil_wires(**fault)
    with target_of(board) as target:
        findings = sick(target)
        assert all(name.startswith("SDRAM: ") for part, name in findings if part == "memory")
        assert found in findings["memory", name].found and "pins" in findings["memory", name].advice


def test_a_bit_of_the_on_chip_memory():
    board = powered("ulx3s-12f", on_chip=ON_CHIP)
    board.stick("soc.memory.low.ram.memory", 3, 100, 0)
    with target_of(board) as target:
        findings = sick(target)
        assert {name for part, name in findings if part == "memory"} == {"on chip: every byte"}


def test_phase_of_the_memorys_clock():
    board = open_board("ulx3s-12f")
    soc = board.make_soc(package=None, preset=None, family=None)
    good = soc.clocking.sdram.path
    late = replace(good, returns=tuple(ns + 12 for ns in good.returns))
    virtual = VirtualBoard(board=board, soc=soc, path=late)
    virtual.pipe.sleep(soc.backing.powerup_ns * 1e-9 + 20e-6)
    with target_of(virtual) as target:
        found = sick(target)
        assert ("memory", "data lines") in found and "the phase of the memory's clock" in found[
            "memory", "data lines"
        ].advice
        assert {part for part, _ in found} == {
            "link",
            "memory",
        }  # what goes through the memory comes back otherwise


def test_bit_of_a_block_ram():
    board = powered("icebreaker", "opentpu")
    board.stick("soc.core.engine.compute.ub.memory", 1, 3, 1)
    with target_of(board) as target:
        found = sick(target)
        assert (
            list(found) == [("core", "program of every instruction")]
            and "block RAM" in found["core", "program of every instruction"].advice
        )


class DeadLane(HeldMultipliers):
    """Multipliers of which the second gives nothing, in the first row that is made."""

    made = 0

    def elaborate(self, platform):
        m = Module()
        m.submodules.sound = sound = HeldMultipliers(
            lanes=self.lanes, registered=self.registered, kind=self.kind, family=self.family
        )
        dead = 1 if DeadLane.made == 0 else None
        DeadLane.made += 1
        m.d.comb += [sound.load.eq(self.load), sound.a.eq(self.a)]
        for lane in range(self.lanes):
            m.d.comb += [
                sound.weight[lane].eq(self.weight[lane]),
                self.p[lane].eq(0 if lane == dead else sound.p[lane]),
            ]
        return m


def test_multiplier_that_is_dead(monkeypatch):
    monkeypatch.setattr("quintet.gateware.cores.opentpu.small.compute.HeldMultipliers", DeadLane)
    monkeypatch.setattr(DeadLane, "made", 0)
    board = open_board("icebreaker")
    package = open_core("opentpu")
    virtual = VirtualBoard(
        board=board, soc=board.make_soc(package=package, preset="up5k-4x4", family=None)
    )
    with target_of(virtual) as target:
        (finding,) = sick(target).values()
        assert (
            (finding.part, finding.name) == ("core", "program of every instruction")
            and "all in channels 1" in finding.found
            and "multipliers" in finding.advice
        )


def test_served_board_is_measured_in_its_own_time():
    with served(powered("icebreaker", "opentpu")) as name, open_target(name) as target:
        test = SelfTest(target)
        assert test.run() and test.ok, [finding for finding in test.findings if not finding.ok]
        assert test.report()["kind"] == "sim"


@pytest.mark.parametrize("ratio", [0.5, 1.25])
def test_wrong_ratio_of_the_pll(ratio):
    board = powered("icebreaker", "opentpu")
    board.clock_hz *= ratio  # what the host's clock sees; the board thinks as ever
    with target_of(board) as target:
        (finding,) = sick(target).values()
        assert (finding.part, finding.name) == (
            "clock",
            "main clock",
        ) and f"{ratio:.3g} times" in finding.advice


class Lossy:
    """A pipe that drops every so many bytes of what the host sends."""

    def __init__(self, pipe, every):
        self._pipe, self._every, self._count = pipe, every, 0

    def __getattr__(self, name):
        return getattr(self._pipe, name)

    def write(self, data):
        kept = bytearray()
        for byte in data:
            self._count += 1
            if self._count % self._every:
                kept.append(byte)
        self._pipe.write(bytes(kept))


def test_bytes_that_are_lost():
    board = powered("icebreaker", "opentpu")
    with target_of(board, Lossy(board.pipe, 1500)) as target:
        (finding,) = sick(target).values()
        assert (
            (finding.part, finding.name) == ("link", "frames")
            and "requests sent again" in finding.found
            and "cable" in finding.advice
        )


class Small:
    """1 KiB of main memory, and nothing behind it."""

    info = SimpleNamespace(kind="sim", memory_size=1024, link={})
    simulated = True
    client = SimpleNamespace(repeats=0, damaged=0)

    def __init__(self):
        self.memory, self.times = bytearray(1024), count()

    def now(self):
        return next(self.times)

    def write(self, address, data):
        assert address + len(data) <= 1024
        self.memory[address : address + len(data)] = data

    def read(self, address, size):
        return bytes(self.memory[address : address + size])


def test_a_small_memory_is_filled_and_no_more():
    findings = list(check_link(Small(), np.random.default_rng(1)))
    assert [finding.ok for finding in findings] == [True, True] and "4,096 bytes" in findings[
        0
    ].found


class Broken:
    """A sound target of which one call fails."""

    def __init__(self, target, error):
        self._target, self._error = target, error

    def __getattr__(self, name):
        return getattr(self._target, name)

    def checksum(self, address, size):
        raise self._error


@pytest.mark.parametrize(
    "error, advice, last",
    [
        (BoardError("bus error at 0x0"), "is this bitstream of this version", "LED"),
        (LinkError("no answer"), "switch the board off and on", "memory"),
    ],
)
def test_board_that_stops_to_answer(error, advice, last):
    with target_of(powered("ulx3s-12f")) as target:
        test = SelfTest(Broken(target, error))
        findings = test.run()
        (finding,) = [f for f in findings if f.ok is False]
        assert advice in finding.advice and findings[-1].part == last


def test_checksum_that_differs():
    with target_of(powered("ulx3s-12f")) as target:
        broken = Broken(target, None)
        broken.checksum = lambda address, size: 0
        (finding,) = sick(broken).values()
        assert finding.name == "every byte" and "slower clock" in finding.advice


def test_golden_model_is_no_board():
    with pytest.raises(TargetError, match="a golden model has nothing to test; expected a board"):
        SelfTest(open_target("model:opu"))


# A port that is silent


def answers_at(rate, built):
    def opener(name):
        if f"baud={rate}&" not in name:
            raise LinkError("silent")
        target = LinkTarget(client=FakeBoard(), name=name)
        target.info = replace(target.info, link={"baud": built})
        return target

    return opener


def silence(rate=0, built=0, port="/dev/ttyX"):
    return str(explain_silence(parse_target(port), LinkError("no answer"), answers_at(rate, built)))


def test_silence_is_explained():
    assert (1_500_000, 0.5) in ladder(3_000_000) and (115_200, None) in ladder(3_000_000)
    assert silence(115_200, 115_200) == (
        "/dev/ttyX is silent at 3,000,000 baud; the board was built for 115,200: name the "
        "target /dev/ttyX?baud=115200"
    )
    assert (
        "answers at 1,500,000: its clock is 0.500 of what was built: a wrong PLL ratio or "
        "oscillator"
    ) in silence(1_500_000, 3_000_000)
    assert (
        "no answer; silent at " in silence()
        and "other rates too: check that the bitstream is loaded" in silence()
    )
    assert silence(port="auto") == silence(port="sim:icebreaker/opentpu") == "no answer"


# The command


def test_command(capsys, tmp_path):
    assert (
        main(
            [
                "selftest",
                "sim:icebreaker/opentpu",
                "--yes",
                "--report",
                str(tmp_path / "report.json"),
            ]
        )
        == Exit.OK
    )
    said = capsys.readouterr()
    assert "all is well" in said.out and "SICK" not in said.out and "wrote" in said.err
    report = json.loads((tmp_path / "report.json").read_text())
    assert (
        report["ok"]
        and report["findings"][0]["part"] == "link"
        and str(tmp_path) not in json.dumps(report)
    )


@pytest.mark.parametrize(
    "place", ["report.json", "./folder/report.json", "link/report.json", "old.json"]
)
def test_report_goes_where_the_option_says(place, tmp_path, monkeypatch, capsys):
    """A relative path, one in a folder, one behind a symbolic link, and a file that is there
    already."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "old.json").write_text("old")
    for name in ("run", "report"):
        monkeypatch.setattr(f"quintet.tools.selftest.SelfTest.{name}", lambda self: {"ok": True})
    assert main(["selftest", "sim:icebreaker/opentpu", "--yes", "--report", place]) == Exit.OK
    assert (
        json.loads((tmp_path / place).read_text()) == {"ok": True}
        and f"wrote {place}" in capsys.readouterr().err
    )


def test_report_that_cannot_be_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "quintet.tools.selftest.SelfTest.run", lambda self: pytest.fail("the test began")
    )
    for place in ("x" * 300, "d/" * 2100 + "x"):
        assert (
            main(["selftest", "sim:icebreaker/opentpu", "--yes", "--report", place])
            == Exit.BAD_INPUT
        )
        assert f"--report {place}: File name too long" in capsys.readouterr().err


def test_command_of_a_sick_board(capsys, monkeypatch):
    monkeypatch.setattr(
        "quintet.tools.selftest.selftest.test_clock",
        lambda target: [Finding("clock", "main clock", False, "1 MHz measured", "look at the PLL")],
    )
    assert main(["selftest", "sim:icebreaker/opentpu", "--yes", "--json"]) == Exit.NO
    assert not json.loads(capsys.readouterr().out)["ok"]
    assert main(["selftest", "sim:icebreaker/opentpu", "--yes"]) == Exit.NO
    assert (
        "SICK clock, main clock: 1 MHz measured\n     try: look at the PLL"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    "args, message",
    [
        (["model:opu"], "a golden model has nothing to test"),
        (["sim:nowhere/opu"], "nowhere"),
        (["sim:icebreaker/opentpu", "--report", "no/folder/x"], "--report"),
    ],
)
def test_command_refuses(args, message, capsys):
    assert main(["selftest", *args]) == Exit.BAD_INPUT
    assert message in capsys.readouterr().err
