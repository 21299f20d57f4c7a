# SPDX-License-Identifier: BSD-2-Clause
"""quintet serve: a virtual board as a serial port and as a socket, for the real pyserial; the
demo's SoC, built once."""

import json
import random
import signal
import socket
import subprocess
import sys
import time

import pytest

from quintet.firmware.opentpu import digits
from quintet.tools import open_target
from quintet.tools.link.notices import Notice, encode_notice

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

DEFAULT = "sim:ulx3s-85f/opentpu"


class Server:
    def __init__(self, *options):
        self.child = subprocess.Popen(
            [sys.executable, "-m", "quintet.tools.cli", "serve", DEFAULT, "--json", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A test run that was started in the background ignores interrupts.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        lines = []
        for line in self.child.stdout:
            lines.append(line)
            if line.startswith("}"):
                break
        text = "".join(lines)
        assert text, self.child.stderr.read()
        self.place, self.token = map(json.loads(text).get, ("port", "token"))
        self.port = self.place + (f"?token={self.token}" if self.token else "")

    def end(self, number):
        self.child.send_signal(number)
        out, err = self.child.communicate(timeout=60)
        return self.child.returncode, out, err


def opened(server):
    """The target, and the seconds that opening it took."""
    began = time.monotonic()
    return open_target(server.port), time.monotonic() - began


def opened_soon(server):
    """Opens the target behind a host that left, of which it hears nothing: 2 s on an idle machine,
    where it takes about 0.05 s without one; as many times longer on a busy one."""
    target, seconds = opened(server)
    assert target.client.damaged == 0
    target.close()
    target, alone = opened(server)
    assert seconds < 2 * max(1, alone / 0.05), (seconds, alone)
    return target


def run_digits(quintet, port, folder):
    job = digits.job(8, norm=True)
    ran = quintet("run", job, "--on", port, "--out", folder, "--json")
    assert ran.code == 0, ran.err
    assert (ran.json["board"], ran.json["status"]) == ("ulx3s-85f", "done")
    assert digits.evaluate(job, folder / "digits_norm_n8_out.npy").correct > 520


def test_pseudo_terminal(quintet, tmp_path):
    link = tmp_path / "port"
    server = Server("--link", str(link))
    try:
        assert server.place == str(link) and link.is_symlink()
        run_digits(quintet, server.port, tmp_path)
        # Clients that die in the middle of a transfer, and one that talks rubbish.
        for transfer in ("write(0x100000, bytes(100000))", *["read(0x100000, 100000)"] * 3):
            code = (
                f"from quintet.tools import open_target; t = open_target({server.port!r}); "
                f"print('open', flush=True)\n"
                f"while True: t.{transfer}"
            )
            client = subprocess.Popen(
                [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
            )
            assert client.stdout.readline() == "open\n"
            time.sleep(0.3)
            client.kill()
            client.communicate()
            opened_soon(server).close()
        with open(server.place, "wb", buffering=0) as rubbish:
            rubbish.write(random.Random(1).randbytes(100_000))
        opened_soon(server).close()
        run_digits(quintet, server.port, tmp_path)
        with open_target(server.port) as target:
            # The core and its memory are as the last client left them.
            assert (
                target.read_register("status") == 2
                and target.read_register("cnt_operations") == 1_382_400
            )
    finally:
        code, out, err = server.end(signal.SIGTERM)
    assert code == 143 and err == "quintet: terminated\n"
    assert not link.is_symlink()


def test_socket(quintet, tmp_path):
    server = Server("--socket", "0", "--token", "not-quite-secret")
    try:
        assert server.place.startswith("socket://127.0.0.1:") and server.token == "not-quite-secret"
        run_digits(quintet, server.port, tmp_path)
        number = int(server.place.rpartition(":")[2])
        job = digits.job(8, norm=True)
        ran = quintet("run", job, "--on", server.place)
        assert ran.code == 3 and "it wants a token" in ran.err
        with socket.create_connection(("127.0.0.1", number)) as rude:
            rude.sendall(
                b"\0" + encode_notice(Notice.HELLO, server.token.encode()) + b"\x07" * 100_000
            )
        with opened_soon(server) as target:
            ran = quintet("run", job, "--on", server.port)
            assert ran.code == 3 and ran.err.strip().endswith("busy: another program holds it")
            assert target.read_register("status") == 2 and target.client.repeats == 0
        run_digits(quintet, server.port, tmp_path)
        ran = quintet("serve", DEFAULT, "--socket", str(number))
        assert ran.code == 3 and "cannot listen" in ran.err and str(number) in ran.err
    finally:
        code, _, err = server.end(signal.SIGINT)
    assert code == 130 and err.strip().splitlines()[-1] == "quintet: interrupted"


@pytest.mark.parametrize(
    "args, code, words",
    [
        (("model:opentpu",), 2, ["only a virtual board"]),
        (("/dev/ttyUSB0",), 2, ["only a virtual board"]),
        (("ulx3s-85f/opu",), 2, ["only a virtual board", "did you mean sim:ulx3s-85f/opu?"]),
        ((f"{DEFAULT}?load=direct",), 2, ["loaded over its link alone; leave load=direct out"]),
        (("sim:none/opentpu",), 2, ["no board named 'none'"]),
        (("sim:ulx3s-85f/none",), 2, ["no ISA named 'none'"]),
        ((DEFAULT, "--socket", "x"), 2, ["--socket x"]),
        ((DEFAULT, "--socket", "70000"), 2, ["--socket 70000"]),
        ((DEFAULT, "--socket", "1", "--link", "x"), 2, ["not allowed with"]),
        ((), 2, ["TARGET"]),
        ((DEFAULT, "--socket", "256.1.1.1:0"), 3, ["256.1.1.1"]),
    ],
)
def test_refused(quintet, args, code, words):
    ran = quintet("serve", *args)
    assert (
        ran.code == code
        and len(ran.err.strip().splitlines()) == 1
        and all(word in ran.err for word in words)
    ), ran.err


def test_link_that_is_something_else(quintet, tmp_path):
    (tmp_path / "file").write_text("precious")
    ran = quintet("serve", DEFAULT, "--link", tmp_path / "file")
    assert (
        ran.code == 3
        and "something else has this name" in ran.err
        and (tmp_path / "file").read_text() == "precious"
    )
