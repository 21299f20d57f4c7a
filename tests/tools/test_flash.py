# SPDX-License-Identifier: BSD-2-Clause
"""Flashing against fake programmers that record their arguments and fail in each way."""

import json
import stat
import sys

import pytest

from quintet.gateware.standalone.image import Segment, pack
from quintet.tools.build.flash import (
    PROGRAMMERS,
    CopyProgrammer,
    choose_programmer,
    find_bitstream,
    flash,
)
from quintet.tools.cli import main
from quintet.tools.errors import Exit, InputError, NoDeviceError


def fake(folder, name, body="sys.exit(0)"):
    path = folder / name
    path.write_text(
        f"#!{sys.executable}\nimport json, os, sys, time\n"
        f"json.dump(sys.argv[1:], open({str(folder / (name + '.args'))!r}, 'w'))\n{body}\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return path


@pytest.fixture
def bin_folder(tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def build(tmp_path):
    folder = tmp_path / "build"
    folder.mkdir()
    (folder / "top.bit").write_bytes(b"bits")
    (folder / "report.json").write_text("{}")
    return folder


@pytest.mark.parametrize(
    "permanent, expected",
    [(False, ["--board", "ulx3s", "BIT"]), (True, ["--board", "ulx3s", "--write-flash", "BIT"])],
)
def test_arguments(bin_folder, build, permanent, expected):
    fake(bin_folder, "openFPGALoader")
    result = flash("ulx3s-85f", ("openFPGALoader", "fujprog"), build, permanent=permanent)
    bit = str(build / "top.bit")
    assert json.load(open(bin_folder / "openFPGALoader.args")) == [
        bit if e == "BIT" else e for e in expected
    ]
    assert result["programmer"] == "openFPGALoader" and result["bitstream"] == bit


def test_second_choice_is_taken_where_the_first_is_missing(bin_folder, build):
    fake(bin_folder, "fujprog")
    assert flash("ulx3s-85f", ("openFPGALoader", "fujprog"), build)["programmer"] == "fujprog"


def test_failure_shows_the_last_line(bin_folder, build):
    fake(bin_folder, "fujprog", "print('looking'); print('Cannot find JTAG cable.'); sys.exit(3)")
    with pytest.raises(
        NoDeviceError, match=r"fujprog failed \(exit code 3\): Cannot find JTAG cable\."
    ):
        flash("ulx3s-85f", ("fujprog",), build)


def test_failure_without_a_word(bin_folder, build):
    fake(bin_folder, "fujprog", "sys.exit(1)")
    with pytest.raises(NoDeviceError, match="it printed nothing"):
        flash("ulx3s-85f", ("fujprog",), build)


def test_failure_by_signal(bin_folder, build):
    fake(bin_folder, "fujprog", "os.kill(os.getpid(), 9)")
    with pytest.raises(NoDeviceError, match="signal 9"):
        flash("ulx3s-85f", ("fujprog",), build)


def test_a_programmer_that_hangs_is_ended(bin_folder, build):
    fake(bin_folder, "fujprog", "time.sleep(60)")
    with pytest.raises(NoDeviceError, match="did not end within 1 s"):
        flash("ulx3s-85f", ("fujprog",), build, timeout=1)


def test_a_programmer_that_cannot_start(bin_folder, build):
    path = bin_folder / "fujprog"
    path.write_text("#!/nonexistent/interpreter\n")
    path.chmod(0o755)
    with pytest.raises(NoDeviceError, match="fujprog cannot be started"):
        flash("ulx3s-85f", ("fujprog",), build)


def test_nothing_installed_says_what_to_install(bin_folder):
    with pytest.raises(
        NoDeviceError,
        match="none of openFPGALoader, fujprog is there; openFPGALoader comes by: apt-get",
    ):
        choose_programmer(("openFPGALoader", "fujprog"), False)


def test_no_volatile_way(bin_folder):
    fake(bin_folder, "dfu-util")
    with pytest.raises(
        NoDeviceError, match="no programmer of this board can write to the FPGA itself"
    ):
        choose_programmer(("dfu-util",), False)
    assert choose_programmer(("dfu-util",), True) is PROGRAMMERS["dfu-util"]


def test_bitstream_is_found_or_refused(build, tmp_path):
    assert find_bitstream(build, (".bit",)) == build / "top.bit"
    assert find_bitstream(build / "top.bit", (".bit",)) == build / "top.bit"
    with pytest.raises(InputError, match="report.json: a bitstream ends in .bit or .bin"):
        find_bitstream(build / "report.json", (".bit", ".bin"))
    with pytest.raises(InputError, match="no such file or folder"):
        find_bitstream(tmp_path / "absent", (".bit",))
    with pytest.raises(InputError, match="no bitstream ending in .bin; one was expected"):
        find_bitstream(build, (".bin",))
    (build / "other.bit").write_bytes(b"")
    with pytest.raises(InputError, match=r"2 bitstreams \(other.bit, top.bit\)"):
        find_bitstream(build, (".bit",))


def copier(folder, **changes):
    return CopyProgrammer(
        **{
            "name": "iCELink",
            "suffixes": (".bit",),
            "install": "connecting the board",
            "keeps": True,
            "volumes": (f"{folder}/*/iCELink",),
        }
        | changes
    )


def test_a_volume_takes_the_bitstream(tmp_path, build, monkeypatch):
    volume = tmp_path / "media" / "me" / "iCELink"
    volume.mkdir(parents=True)
    monkeypatch.setitem(PROGRAMMERS, "iCELink", copier(tmp_path / "media"))
    result = flash("icesugar", ("iCELink",), build, permanent=True)
    assert (volume / "top.bit").read_bytes() == b"bits"
    assert result["command"] == ["cp", str(build / "top.bit"), str(volume / "top.bit")]
    with pytest.raises(
        NoDeviceError, match="no programmer of this board can write to the FPGA itself"
    ):
        flash("icesugar", ("iCELink",), build)
    (tmp_path / "media" / "you" / "iCELink").mkdir(parents=True)
    with pytest.raises(
        NoDeviceError, match="iCELink: found at .*me/iCELink, .*you/iCELink; unplug all but one"
    ):
        flash("icesugar", ("iCELink",), build, permanent=True)


def test_a_volume_that_is_not_there_or_cannot_be_written(tmp_path, build, monkeypatch):
    monkeypatch.setitem(PROGRAMMERS, "iCELink", copier(tmp_path / "media"))
    with pytest.raises(
        NoDeviceError, match="none of iCELink is there; iCELink comes by: connecting the board"
    ):
        flash("icesugar", ("iCELink",), build, permanent=True)
    (tmp_path / "media" / "me" / "iCELink" / "top.bit").mkdir(parents=True)
    with pytest.raises(NoDeviceError, match="iCELink: cannot write .*top.bit: Is a directory"):
        flash("icesugar", ("iCELink",), build, permanent=True)


def test_a_serial_device_takes_the_bitstream(tmp_path, build, monkeypatch):
    from types import SimpleNamespace

    from serial.tools import list_ports

    device = tmp_path / "ttyACM0"
    device.touch()
    ports = [
        SimpleNamespace(device=str(device), vid=0x0483, pid=0x5740),
        SimpleNamespace(device="/dev/other", vid=1, pid=2),
    ]
    monkeypatch.setattr(list_ports, "comports", lambda: ports)
    monkeypatch.setitem(
        PROGRAMMERS,
        "STM32",
        copier(tmp_path, name="STM32", keeps=False, volumes=(), usb=(0x0483, 0x5740)),
    )
    assert flash("blackice-mx", ("STM32",), build)["programmer"] == "STM32"
    assert device.read_bytes() == b"bits"


def _image(tmp_path):
    path = tmp_path / "plan.img"
    path.write_bytes(pack(7, [Segment(0, b"1234")]))
    return path


@pytest.mark.parametrize(
    "board, name, expected",
    [
        ("icebreaker", "iceprog", ["-o", "1048576"]),
        (
            "ulx3s-85f",
            "openFPGALoader",
            ["--board", "ulx3s", "--write-flash", "--offset", "4194304", "--file-type", "raw"],
        ),
    ],
)
def test_plan_image_goes_to_its_place(bin_folder, build, tmp_path, board, name, expected):
    """Both files are written, the image first: the last call is the bitstream's."""
    log = tmp_path / "log"
    fake(bin_folder, name, f"open({str(log)!r}, 'a').write(json.dumps(sys.argv[1:]) + '\\n')")
    (build / "top.bin").write_bytes(b"bits")
    (build / ("top.bin" if board != "icebreaker" else "top.bit")).unlink()
    image = _image(tmp_path)
    arguments = ["flash", board, str(build), "--permanent", "--plan", str(image)]
    assert main(arguments) == Exit.OK
    first, second = (json.loads(line) for line in log.read_text().splitlines())
    assert first[: len(expected)] == expected and first[-1].endswith("plan.bin")
    assert second[-1].endswith(("top.bin", "top.bit"))


@pytest.mark.parametrize(
    "board, more, message",
    [
        ("icebreaker", [], "expected --permanent with it"),
        ("hx8k-breakout", ["--permanent"], "hx8k-breakout cannot start from flash memory"),
    ],
)
def test_plan_images_that_cannot_be_written(build, tmp_path, capsys, board, more, message):
    image = _image(tmp_path)
    assert main(["flash", board, str(build), "--plan", str(image), *more]) == Exit.BAD_INPUT
    assert message in capsys.readouterr().err


def test_damaged_plan_image_is_not_written(build, tmp_path, capsys):
    image = _image(tmp_path)
    image.write_bytes(image.read_bytes()[:-1])
    arguments = ["flash", "icebreaker", str(build), "--plan", str(image), "--permanent"]
    assert main(arguments) == Exit.BAD_INPUT
    assert "a segment's header at byte" in capsys.readouterr().err
