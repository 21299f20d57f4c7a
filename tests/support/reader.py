# SPDX-License-Identifier: BSD-2-Clause
"""A reader of the pages: runs the commands of one page in their order, as they are printed, in an
empty folder, with a base install of quintet.

What a reader has and a test has not is replaced here and nowhere else (:data:`STAND_INS`): a
checkout, a network of packages, a board, its programmer.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from importlib import metadata
from pathlib import Path

import numpy as np

from quintet.firmware import digits
from quintet.tools.cli import _parse, _Usage
from quintet.tools.errors import Exit
from tests.support.installed import add_packages, install_base

__all__ = ["STAND_INS", "Reader", "is_whole", "pages", "printed_lines", "stand_in"]

#: Pattern of a printed line -> what is run in its place; ``None``: nothing is.
STAND_INS = (
    # A checkout: the wheel is installed already.
    (r"^git clone .*", None),
    (r"^make demo$", "quintet demo"),
    (r"^python3 -m venv .*", None),
    (r"^pip install -e '?\.(\[|$)", None),
    # It changes the reader's shell; tests/tools/test_completion.py runs it.
    (r"^eval .*register-python-argcomplete.*", None),
    # A port that is found: the board of the page stands at a name of its own.
    (r"^quintet selftest auto$", "quintet selftest /dev/ttyUSB0"),
    # Of a bridge with two ports the second one is the link.
    (r"/dev/ttyUSB[01]", "./ttyUSB0"),
)
#: Page -> the board behind its port; others speak of the demo's.
BOARDS = {
    "bring-up.md": "ulx3s-25f/opentpu",
    "first-job.md": "icebreaker/opentpu",
    "standalone.md": "icebreaker/pim?boot=plan.img",
    "studio.md": "ulx3s-85f/opu",
}
#: Page -> the page that its reader comes from, with the plan that it made.
BEFORE = {"studio.md": "first-model.md"}
#: Programs that Debian has and PyPI lacks: lines with them run where they are installed.
FOREIGN = ("iverilog", "verilator")
#: Commands that serve until they are interrupted, with what they print once they are ready.
_SERVING = re.compile(r"quintet (serve|studio|mlperf)\b")
_READY = {
    "serve": re.compile(r" is at (\S+), for example"),
    "studio": re.compile(r"quintet studio is at (\S+)"),
    "mlperf": re.compile(r"(.*)\n"),
}
#: Seconds that a served board may take to be compiled, and to end what it is at.
_COMPILING, _ENDING = 1500, 600
_PROGRAMMER = """\
#!/bin/sh
# Stands for the programmer: the bitstream is there.
for last; do :; done
test -s "$last"
"""


def printed_lines(text):
    """Commands of a page in their order: lines of code blocks of no language or of a shell, and
    whole commands between backticks."""
    pattern = r"^ *```(\w*)\n(.*?)^ *```|`([^`]+)`"
    lines = []
    for language, block, inline in re.findall(pattern, text, re.S | re.M):
        if inline:
            line = " ".join(inline.split())
            lines += [line] if line.startswith(("quintet ", "pip ")) and is_whole(line) else []
        elif language in ("", "sh") and _is_shell(block):
            lines += [line.strip() for line in re.sub(r"\\\n\s*", " ", block).splitlines()]
    return [line for line in lines if line]


def _is_shell(block):
    """Whether a code block is commands, and not an output or a program."""
    return re.match(r"\s*(quintet|pip|pytest|git|make|python3?|cc|eval)\b", block) is not None


def is_whole(line):
    """Whether code between backticks is a command with all its arguments, none to be replaced, and
    not the mere name of a command."""
    words = shlex.split(line)
    if len(words) < 3 or any(re.fullmatch(r"[A-Z]+(/[A-Z]+)?", word) for word in words):
        return False
    if words[0] == "pip":
        return words[1] == "install"
    try:
        return words[0] == "quintet" and _parse(words[1:])[0] is not None
    except (_Usage, SystemExit):
        return False


def stand_in(line):
    """What is run for a printed line; ``None`` for nothing."""
    for pattern, put in STAND_INS:
        if re.search(pattern, line):
            if put is None:
                return None
            line = re.sub(pattern, put, line)
    return line


def _heed_interrupts():
    """A test run in the background ignores ctrl-C, and what it starts would do so as well."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Reader:
    """Follows a page. A context manager: what is served ends with it.

    Parameters
    ----------
    wheel : Path
        The package.
    folder : Path
        Holds the environment, and the folder that is empty at first.
    """

    def __init__(self, wheel, folder):
        self.wheel = wheel
        self.python, self.site, self.environment = install_base(wheel, folder / "environment")
        # A page is opened by the test, not by a browser; a pipe shows lines as a terminal does.
        self.environment |= {"BROWSER": "true", "PYTHONUNBUFFERED": "1"}
        self.here = folder / "here"
        self.here.mkdir()
        self.serving = []
        self.done = set()
        self._program("openFPGALoader", _PROGRAMMER)
        self._program("pytest", f'#!/bin/sh\nexec {self.python} -m pytest -p no:cacheprovider "$@"')

    def _program(self, name, text):
        path = self.python.parent / name
        path.write_text(text)
        path.chmod(0o755)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Interrupts what is served, as ctrl-C does; each must end as an interrupted command."""
        while self.serving:
            line, process, _ = self.serving.pop()
            os.killpg(process.pid, signal.SIGINT)
            code = process.wait(_ENDING)
            assert code in (Exit.OK, Exit.INTERRUPTED), f"{line}: ended with {code}"

    def follow(self, page):
        """Runs the commands of a page, and first those of the page that it goes on from."""
        if page.name in BEFORE:
            before = next(page.parent.glob(BEFORE[page.name]))
            # Its first block makes the plan.
            self._block(before.read_text(), page)
        self._prepare(page.name)
        for line in printed_lines(page.read_text()):
            self.run(line, page)

    def _block(self, text, page):
        for line in printed_lines(text):
            self.run(line, page)
            if line.startswith("quintet compile"):
                return

    def run(self, line, page):
        """Runs a printed line, unless it was run before; it must end as the page says."""
        command = stand_in(line)
        words = shlex.split(command or "", comments=True)
        if line in self.done or not words:
            return
        self.done.add(line)
        if any(name in words and not self._has(name) for name in FOREIGN):
            return
        if "./ttyUSB0" in words and not (self.here / "ttyUSB0").exists():
            board = BOARDS.get(page.name, "ulx3s-85f/opentpu")
            self._serve(f"quintet serve sim:{board} --link ttyUSB0")
        if words[:2] == ["pip", "install"]:
            self._install(words[2:])
        elif _SERVING.match(command):
            self._serve(command)
        else:
            done = self._shell(command)
            ended = f"{page.name}: {line}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
            assert done.returncode == 0, f"ended with {done.returncode}: {ended}"

    def _shell(self, command):
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=self.here,
            env=self.environment,
            capture_output=True,
            text=True,
        )

    def _has(self, name):
        return self._shell(f"command -v {name}").returncode == 0

    def _install(self, words):
        """``pip install`` without the network: packages come from the environment of the tests."""
        wanted = [word for word in words if word != "-e"]
        if "-e" in words:
            # pip would bring the build requirements from a registry, into a place of their own.
            tools = self.here.parent / "build-requirements"
            add_packages(tools, ["setuptools", "wheel"])
            options = "--quiet --no-deps --no-index --no-build-isolation".split()
            pip = [sys.executable, "-m", "pip", "--python", str(self.python), "install"]
            environment = {**self.environment, "PYTHONPATH": str(tools)}
            subprocess.run([*pip, *options, *words], cwd=self.here, env=environment, check=True)
            return
        for word in wanted:
            file, _, extras = word.partition("[")
            if file.endswith(".whl"):
                assert (self.here / file).name == self.wheel.name, f"{word}: {self.wheel.name}"
                word = f"quintet[{extras}" if extras else "quintet"
            try:
                add_packages(self.site, [word], self.python)
            except metadata.PackageNotFoundError:
                # A reader's registry has it.
                assert word in ("ziglang",), word

    def _serve(self, command):
        """Starts what serves, and waits until it is ready."""
        log = self.here.parent / f"served{len(self.serving)}.txt"
        with open(log, "w") as file:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                cwd=self.here,
                env=self.environment,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_heed_interrupts,
            )
        self.serving.append((command, process, log))
        ready = _READY[command.split()[1]]
        ends = time.monotonic() + _COMPILING
        while not (found := ready.search(log.read_text())):
            assert process.poll() is None, f"{command}\n{log.read_text()}"
            assert time.monotonic() < ends, f"{command} is not ready\n{log.read_text()}"
            time.sleep(0.2)
        if command.startswith("quintet studio"):
            with urllib.request.urlopen(found[1], timeout=60) as answer:
                assert b"<canvas" in answer.read()

    def _prepare(self, name):
        """Files of the reader's own that a page takes for granted."""
        if name == "host-in-c.md":
            digits.images(8).astype("<f4").tofile(self.here / "inputs.f32")
        elif name == "mlperf.md":
            self._keyword_network()

    def _keyword_network(self):
        """A dense network of the shapes of MLPerf Tiny's keyword model, with its calibration."""
        from quintet import Net

        chance = np.random.default_rng(1)
        net = Net("kws")
        x = net.input("audio", (1, 49, 10))
        weights = chance.normal(0, 0.05, (490, 12))
        net.output(net.dense(net.flatten(x), weights), "scores")
        net.save_onnx(self.here / "kws_float.onnx")
        np.save(self.here / "calibration.npy", chance.normal(0, 30, (16, 1, 49, 10)).astype("f4"))


def pages(root):
    """Pages whose commands are run: the README, those to start with, the guides."""
    docs = Path(root) / "docs"
    return [
        Path(root) / "README.md",
        *sorted((docs / "start").glob("*.md")),
        *sorted((docs / "guides").glob("*.md")),
    ]
