# SPDX-License-Identifier: BSD-2-Clause
"""Jobs on a serial port: the real command line, pyserial and link client against a board in Python
on a pseudo-terminal."""

import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from quintet.tools import open_target
from quintet.tools.errors import NoDeviceError, TargetError
from quintet.tools.targets import serial_port

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

pytest.importorskip("quintet.tools.link.client")
from tests.tools.tools_pty_board import PtyBoard  # noqa: E402


def test_run(quintet, small):
    with PtyBoard() as board:
        ran = quintet("run", small, "--on", board.path, "--json")
        assert ran.code == 0, ran.err
        values = ran.json
        assert (values["status"], values["board"], values["preset"], values["cycles"]) == (
            "done",
            "fake",
            "sim",
            5000,
        )
        assert np.load(small.folder / "y.npy").tobytes() == small.expected
        ran = quintet("run", small, "--on", board.path)
        assert (
            "fake, 1,024 KiB" in ran.out
            and "100 µs at 50 MHz" in ran.out
            and "99.9 % of the cycles" in ran.out
        )


def test_verify(quintet, small):
    with PtyBoard() as board:
        ran = quintet("verify", small, "--on", board.path)
        assert ran.code == 0 and "equal: all 24 bytes" in ran.out, ran.err


def test_fault_and_limit(quintet, small):
    with PtyBoard() as board:
        ran = quintet(
            "run",
            small.edit("hostmem_limit = 0x2040", "hostmem_limit = 0x2027"),
            "--on",
            board.path,
            "--json",
        )
        assert (
            ran.code == 5
            and ran.json["fault"]["name"] == "host_range"
            and ran.json["fault"]["line"] == 11
        )
    with PtyBoard(cycles=None) as board:
        ran = quintet("run", small, "--on", board.path, "--json")
        assert (
            ran.code == 5
            and ran.json["status"] == "aborted"
            and "limit of 10,000 cycles" in ran.err
        )
    assert not (small.folder / "y.npy").exists()


def test_other_params(quintet, small):
    with PtyBoard() as board:
        ran = quintet("run", small.edit("n = 4", "n = 8"), "--on", board.path)
        assert (
            ran.code == 2
            and "params.n = 8" in ran.err
            and "n = 4" in ran.err
            and len(ran.err.splitlines()) == 1
        )


@pytest.mark.parametrize("after", [1, 200, 30_000])
def test_port_that_vanishes(quintet, small, after):
    np.save(small.folder / "big.npy", np.zeros(200_000, np.uint8))
    small.append('[[load]]\nfile = "big.npy"\nat = 0x8000\n')
    with PtyBoard(vanish_after=after) as board:
        began = time.monotonic()
        ran = quintet("run", small, "--on", board.path, "--json")
        assert ran.code == 4, (ran.code, ran.err)
        assert board.path in ran.err and len(ran.err.splitlines()) == 1 and ran.json["exit"] == 4
        assert (
            time.monotonic() - began < 60
        )  # an end there must be; how soon is the client's deadline
    assert not (small.folder / "y.npy").exists()


@pytest.mark.parametrize("after", [500, 60_000])
def test_host_that_is_killed(quintet, small, after):
    """By the system, in mid-transfer; another host finds the board as ready as ever."""
    np.save(small.folder / "big.npy", np.zeros(200_000, np.uint8))
    small.append('[[load]]\nfile = "big.npy"\nat = 0x8000\n')
    with PtyBoard() as board:
        taken, heard = [0], board.device.feed

        def feed(data):
            taken[0] += len(data)
            return heard(data)

        board.device.feed = feed
        host = subprocess.Popen(
            [sys.executable, "-m", "quintet.tools.cli", "run", str(small), "--on", board.path],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while taken[0] < after and host.poll() is None:
            time.sleep(0.001)
        assert host.poll() is None, "it had ended before"
        host.kill()
        host.wait()
        ran = quintet("run", small, "--on", board.path)
        assert ran.code == 0, ran.err
        assert np.load(small.folder / "y.npy").tobytes() == small.expected


def test_nothing_answers(quintet, small):
    with PtyBoard() as board:
        board.device.feed = lambda data: b""
        ran = quintet("run", small, "--on", board.path)
        assert ran.code == 4 and "no answer to identify" in ran.err and board.path in ran.err


def test_something_else_answers(quintet, small):
    with PtyBoard(header=b"NONE" + bytes(60)) as board:
        ran = quintet("run", small, "--on", board.path)
        assert ran.code == 4 and "no quintet board" in ran.err


def test_baud():
    with PtyBoard() as board:
        with open_target(f"{board.path}?baud=115200&timeout=9.5") as target:
            assert target.client.pipe.bytes_per_second == 11520
        for query, word in (
            ("baud=fast", "baud = fast: expected a number"),
            ("baud=0", "baud = 0"),
            ("timeout=0", "timeout = 0"),
            ("timeout=x", "timeout = x: expected seconds"),
            ("parity=odd", "baud=N or timeout=SECONDS"),
        ):
            with pytest.raises(TargetError, match=word):
                open_target(f"{board.path}?{query}")


@pytest.mark.parametrize(
    "name, meant",
    [
        ("ulx3s", r"sim:ulx3s-12f/ISA or (sim:ulx3s-\d5f/ISA or ){2}sim:ulx3s-85f/ISA"),
        ("ulx3s-85f", "sim:ulx3s-85f/ISA"),
        ("icebreaker/opentpu", "sim:icebreaker/opentpu"),
        ("icebraker", "sim:icebreaker/ISA"),
        ("icebraker/opentpv", "sim:icebreaker/opentpu"),
        ("simm:icebreaker/opentpu", "sim:icebreaker/opentpu"),
        ("modl:opentpu", "model:opentpu"),
        ("opentpu", "model:opentpu"),
        ("modle", "model"),
    ],
)
def test_a_name_that_is_no_port(name, meant):
    with pytest.raises(NoDeviceError, match=rf"no such port; did you mean {meant}\? \(quintet"):
        open_target(name)


def test_a_port_that_is_not_there():
    with pytest.raises(NoDeviceError, match=r"ttyNONE: no such port \(quintet doctor"):
        open_target("/dev/ttyNONE")


def usb_port(device, vid=0x0403, pid=0x6015, location="1-2:1.0"):
    return SimpleNamespace(device=device, vid=vid, pid=pid, location=location)


@pytest.fixture
def attached(monkeypatch):
    """Says which serial ports there are."""
    from serial.tools import list_ports

    return lambda *ports: monkeypatch.setattr(list_ports, "comports", lambda: list(ports))


def test_auto(attached):
    attached(usb_port("/dev/ttyS0", vid=None, pid=None, location=None))
    with pytest.raises(NoDeviceError, match="no board found: no USB serial port is attached"):
        open_target("auto")
    attached(usb_port("/dev/ttyQUINTET"))
    with pytest.raises(NoDeviceError, match=r"no board found.*ttyQUINTET \(FT231X\).*no such port"):
        open_target("auto")
    with PtyBoard() as board, PtyBoard() as other:
        attached(usb_port("/dev/ttyQUINTET"), usb_port(board.path))
        with open_target("auto") as target:
            assert target.info.board == "fake" and target.name == board.path
        attached(usb_port(board.path), usb_port(other.path, 0x1209, 0x0001))
        with pytest.raises(
            NoDeviceError, match="several boards are attached: name one of .*fake.*fake"
        ):
            open_target("auto")


def test_auto_asks_nobody_else(attached):
    """Some other device might take our questions for commands."""
    with PtyBoard() as board:
        attached(usb_port(board.path, 0x2341, 0x0043))
        with pytest.raises(
            NoDeviceError,
            match=f"no USB serial port is that of a known board; name one of {board.path}",
        ):
            open_target("auto")


def test_the_interface_of_a_bridge_with_several(attached):
    attached(
        usb_port("/dev/ttyUSB1", 0x0403, 0x6010, "1-2:1.1"),
        usb_port("/dev/ttyUSB0", 0x0403, 0x6010, "1-2:1.0"),
        usb_port("COM7", 0x0403, 0x6010, None),
        usb_port("/dev/ttyUSB2", 0x0403, 0x6015),
    )
    assert [port.device for port in serial_port.candidates()] == [
        "/dev/ttyUSB1",
        "/dev/ttyUSB2",
        "COM7",
    ]


def test_identities():
    known = serial_port.identities()
    assert known[0x1209, 0x0001].name == "quintet link" and known[0x0403, 0x6010].interface == 1
    assert known[0x1D50, 0x602B].rates == (115_200,) and known[0x0403, 0x6015].rates == (3_000_000,)


def test_port_that_is_held_by_another():
    with PtyBoard() as board, open_target(board.path):
        with pytest.raises(NoDeviceError, match="another program holds it"):
            open_target(board.path)


def test_auto_tries_the_rates_of_the_bridges_boards(attached, monkeypatch):
    from quintet.tools.link.errors import LinkError

    asked = []

    def opened(name):
        asked.append(name)
        if not name.endswith("?baud=115200"):
            raise LinkError(f"{name}: no answer")
        return SimpleNamespace(
            name=name, info=SimpleNamespace(board="icesugar"), close=lambda: None
        )

    monkeypatch.setattr(serial_port, "_open", opened)
    attached(usb_port("/dev/ttyACM0", 0x1D50, 0x602B))
    assert open_target("auto").name == "/dev/ttyACM0?baud=115200"
    attached(usb_port("/dev/ttyACM1", 0x0D28, 0x0204))
    with pytest.raises(NoDeviceError, match="ttyACM1.*no answer"):
        open_target("auto")
    assert asked == ["/dev/ttyACM0?baud=115200", "/dev/ttyACM1?baud=1000000"]
