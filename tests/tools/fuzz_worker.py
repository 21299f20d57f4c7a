# SPDX-License-Identifier: BSD-2-Clause
"""Runs cases of the fuzzer of the command line in this process: ``python tests/tools/fuzz_worker.py
SEED`` repeats one and shows it.

``python fuzz_worker.py FIRST LAST`` runs the cases from FIRST to LAST - 1; for each a line ``start
SEED``, then one JSON object with ``seed``, ``args`` and ``troubles``. Tools that a command would
call are scripts on the PATH; cores and boards are elaborated in one case of many alone.
"""

import contextlib
import io
import json
import os
import resource
import shutil
import socket
import socketserver
import stat
import sys
import tempfile
import threading
import traceback
import warnings
from pathlib import Path

# It is started as a file, and its helpers are packages below the root.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

_TOOL = r"""#!/bin/sh
# Stands for yosys, nextpnr, the packers and the C++ compiler: what it does is said by FUZZ_TOOLS.
case "$*" in *--version*|-V) echo "Yosys 0.60 (git sha1 0123456, fuzz)"; exit 0;; esac
log= report= last=
for word in "$@"; do
  case "$last" in --log|-l) log=$word;; --report) report=$word;; esac
  last=$word
done
say() { echo "$1"; [ -n "$log" ] && echo "$1" >> "$log"; }
[ -n "$report" ] || {
  case "$*" in *-q\ -*) cat > /dev/null; echo "module top(); endmodule";; esac
}
case "$FUZZ_TOOLS" in
  fails) say "ERROR: as the fuzzer wants it"; exit 1;;
  room)
    [ -z "$report" ] || {
      say "Info: ICESTORM_LC: 9999/ 5280 1%"
      say "Info: TRELLIS_COMB: 99999/ 24288 1%"
      say "ERROR: no BELs remaining"
      exit 1
    };;
  ok)
    [ -z "$report" ] || {
      say "Info: Max frequency for clock 'clk': 50.00 MHz (PASS at 12.00 MHz)"
      say "Info: Max frequency for clock 'two': 50.00 MHz (PASS at 12.00 MHz)"
      say "Info: Max frequency for clock 'three': 50.00 MHz (PASS at 48.00 MHz)"
      echo '{"utilization": {}, "critical_paths": []}' > "$report"
    }
    case "$0" in *pack)
      for word in "$@"; do :; done
      echo bits > "$word"; echo bits > top.bit; echo bits > top.bin;;
    esac;;
esac
exit 0
"""
_CHILD = r"""#!/bin/sh
# Stands for a build of the matrix.
last= out=
for word in "$@"; do [ "$last" = -o ] && out=$word; last=$word; done
case "$FUZZ_TOOLS" in
  ok) echo '{"board": "b", "clock_reached_mhz": 50.0, "clocks": {}, "luts": 5}'; exit 0;;
  fails) echo '{"error": "the build failed: ERROR", "exit": 2}'; exit 2;;
  room)
    mkdir -p "$out"
    echo '{"luts": 9}' > "$out/report.json"
    echo '{"error": "does not fit: needs 9 of 5 logic cells", "exit": 2}'
    exit 2;;
esac
exit 3
"""
_PROGRAMMERS = (
    "openFPGALoader",
    "iceprog",
    "fujprog",
    "dfu-util",
    "ecpprog",
    "icesprog",
    "tinyprog",
)
#: One of so many commands that elaborate does so whole.
WHOLE = 60


def fake_tools(folder):
    """Fills ``folder`` with tools that do what FUZZ_TOOLS says; its ``bin`` belongs on the PATH."""
    runtime = folder / "share" / "yosys" / "include" / "backends" / "cxxrtl" / "runtime" / "cxxrtl"
    runtime.mkdir(parents=True)
    (runtime / "cxxrtl.h").touch()
    (folder / "bin").mkdir()
    for name in (
        "yosys",
        "nextpnr-ecp5",
        "nextpnr-ice40",
        "ecppack",
        "icepack",
        "g++",
        "child",
        *_PROGRAMMERS,
    ):
        path = folder / "bin" / name
        path.write_text(_CHILD if name == "child" else _TOOL)
        path.chmod(0o755)
    return folder / "bin"


# Ports on which nobody answers as a board does


class _Peer(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False


class _Closes(socketserver.BaseRequestHandler):
    def handle(self):
        pass


class _Noise(socketserver.BaseRequestHandler):
    def handle(self):
        with contextlib.suppress(OSError):
            self.request.sendall(bytes(range(256)) * 4)
            while self.request.recv(4096):
                self.request.sendall(b"\0\x55noise\xff")


class _Silent(socketserver.BaseRequestHandler):
    def handle(self):
        with contextlib.suppress(OSError):
            while self.request.recv(4096):
                pass


def _ports():
    """Kind -> number of a port of this machine."""
    found = {}
    for kind, handler in (("closes", _Closes), ("noise", _Noise), ("silent", _Silent)):
        server = _Peer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found[kind] = server.server_address[1]
    with socket.create_server(("127.0.0.1", 0)) as closed:
        found["closed"] = closed.getsockname()[1]
    return found


# Cases


class Worker:
    """Runs cases below ``folder``."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.home = self.folder / "home"
        self.home.mkdir()
        bin_folder = fake_tools(self.folder / "tools")
        self.child = bin_folder / "child"
        os.environ |= {
            "PATH": f"{bin_folder}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "QUINTET_CACHE": str(self.folder / "cache"),
            "QUINTET_DEBUG": "1",
            "HOME": str(self.home),
        }
        for name in ("YOSYS", "CXX", "NEXTPNR_ECP5", "NEXTPNR_ICE40", "ECPPACK", "ICEPACK"):
            os.environ.pop(name, None)
        from quintet.tools.cli import main
        from tests.tools import fuzz_commands, fuzz_files

        self.main, self.files, self.commands = main, fuzz_files, fuzz_commands
        os.environ["FUZZ_TOOLS"] = "ok"
        self.corpus = self.folder / "corpus"
        fuzz_files.make_corpus(self.corpus, lambda *args: self._quintet([str(a) for a in args])[0])
        self.ports = _ports()

    def _quintet(self, args):
        """Exit code (``None``: it raised), standard output and error of a command."""
        out = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="")
        err = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="backslashreplace", newline="")
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
        ):
            try:
                code = self.main(args)
            except BaseException:
                code = None
                traceback.print_exc()
        return code, *(
            stream.detach().getvalue().decode() if not stream.flush() else ""
            for stream in (out, err)
        )

    def prepare(self, seed):
        """The case of ``seed`` and the folder in which it runs, filled."""
        case = self.commands.command(self.files.random_of(seed, "command"))
        place = self.folder / f"case{seed}"
        shutil.copytree(self.corpus / case.isa, place)
        shutil.copytree(self.corpus / "built", place / "built")
        (place / "there.txt").write_text("it is there\n")
        (place / "subfolder").mkdir()
        (place / "readonly").mkdir(mode=0o555)
        os.mkfifo(place / "fifo")
        (place / "loop").symlink_to("loop")
        for suffix in (".bin", ".s", ".v", ".csv"):
            (place / f"link{suffix}").symlink_to("there.txt")
        case.args = [
            word.replace(f"{{{kind}}}", str(port))
            for word in case.args
            for kind, port in [self._port_of(word)]
        ]
        rnd = self.files.random_of(seed, "files")
        for _ in range(case.changes):
            # What the command names first of all.
            named = [
                place / name
                for name in sorted(set(case.args) & set(os.listdir(place)) - {"fifo", "readonly"})
            ]
            others = [
                p
                for p in sorted(place.iterdir())
                if p.suffix in (".npy", ".npz", ".s", ".a", ".bin", ".yaml") and not p.is_symlink()
            ]
            jobs = "".join(
                p.read_text(errors="replace")
                for p in named
                if p.suffix == ".toml" and p.is_file() and p.stat().st_size < self.files.LARGE
            )
            others = [p for p in others if p.name in jobs] or others
            chosen = rnd.choice(
                named if named and rnd.random() < (0.3 if jobs else 0.8) else others
            )
            if chosen.is_dir() or chosen.is_file() and chosen.stat().st_size < self.files.LARGE:
                self.files.mutate(rnd, chosen)
        return case, place

    def _port_of(self, word):
        return next(
            ((kind, port) for kind, port in self.ports.items() if f"{{{kind}}}" in word), ("", 0)
        )

    def run(self, seed):
        """Troubles of how the command of ``seed`` ends; its result: ``args``,
        ``code``, ``out``, ``err``, ``troubles``."""
        case, place = self.prepare(seed)
        before = _contents(place)
        os.environ["FUZZ_TOOLS"] = case.tools
        whole = self.files.random_of(seed, "whole").randrange(WHOLE) == 0
        executable, sys.executable = (
            sys.executable,
            str(self.child) if "matrix" in case.args[:1] else sys.executable,
        )
        os.chdir(place)
        try:
            with contextlib.nullcontext() if whole else _without_elaboration():
                code, out, err = self._quintet(case.args)
        finally:
            os.chdir(self.folder)
            sys.executable = executable
        troubles = list(_troubles(case, code, out, err, before, _contents(place)))
        if any(self.home.iterdir()):
            troubles.append(f"wrote into the home folder: {sorted(map(str, self.home.rglob('*')))}")
        (place / "readonly").chmod(0o755)
        shutil.rmtree(place)
        return {
            "seed": seed,
            "args": case.args,
            "isa": case.isa,
            "tools": case.tools,
            "code": code,
            "out": out,
            "err": err,
            "troubles": troubles,
        }


@contextlib.contextmanager
def _without_elaboration():
    """Designs are made and not elaborated: that takes seconds each."""
    from unittest.mock import patch

    from amaranth import Module

    from quintet.boards.top import BoardTop
    from quintet.boards.virtual.top import VirtualTop
    from quintet.gateware.shell.core import CoreShell
    from quintet.gateware.soc import SoC

    with contextlib.ExitStack() as stack:
        for kind in (BoardTop, VirtualTop, CoreShell, SoC):
            stack.enter_context(patch.object(kind, "elaborate", lambda self, platform: Module()))
        yield


def _contents(folder):
    """Path -> what is there."""
    from tests.tools.fuzz_files import LARGE

    found = {}
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        # Of a large hole only that it is there.
        regular = stat.S_ISREG(about.st_mode) and about.st_size < LARGE
        found[str(path.relative_to(folder))] = (
            path.read_bytes()
            if regular
            else os.readlink(path)
            if path.is_symlink()
            else stat.S_IFMT(about.st_mode)
        )
    return found


def _last_message(err):
    """The last line that is not indented: refusals of networks have an indented line a node."""
    return next((line for line in reversed(err.splitlines()) if line and line[0] != " "), "")


def _troubles(case, code, out, err, before, after):
    """Lines that say what a command must not do."""
    command = case.args[0] if case.args else ""
    if code is None:
        yield f"it raised: {err.strip().splitlines()[-1]}"
        return
    if code not in range(6):
        yield f"exit code {code}"
    if "Traceback" in err or "internal error" in err:
        yield "a traceback"
    if code in (2, 3, 4) and command != "doctor" and not _last_message(err).startswith("quintet: "):
        yield "no line that says what is wrong"
    if "--json" in case.args and not {"--help", "-h"} & set(case.args):
        try:
            if code != 0 or command in _commands():
                json.loads(out)
        except ValueError:
            yield "no JSON object"
    changed = {name for name in {**before, **after} if before.get(name) != after.get(name)}
    for name in sorted(changed):
        if name.endswith(".part") or any(part.startswith(".") for part in Path(name).parts):
            yield f"left {name!r}"
    if code in (2, 3, 4, 5) and command not in ("build", "matrix") and changed:
        yield f"failed and changed {sorted(changed)}"
    if code in (2, 3, 4, 5) and any(not _below(name, case.places) for name in changed):
        yield (
            f"failed and changed "
            f"{sorted(name for name in changed if not _below(name, case.places))}"
        )


def _commands():
    from quintet.tools.cli import COMMANDS

    return COMMANDS


def _below(name, places):
    return any(
        name == place.rstrip("/")
        or name.startswith(place.rstrip("/") + "/")
        or place.startswith(name + "/")
        for place in places
        if place
    )


def main(words):
    # A reader that takes all memory there is must fail here.
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
    warnings.filterwarnings(
        "ignore", message=".* created but never used"
    )  # of designs that are not elaborated here
    with tempfile.TemporaryDirectory(prefix="quintet-fuzz-") as folder:
        answer = os.fdopen(os.dup(1), "w", buffering=1)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        worker = Worker(folder)
        if len(words) == 1:
            result = worker.run(int(words[0]))
            print(
                f"quintet {' '.join(map(repr, result['args']))}\nFUZZ_TOOLS={result['tools']}, "
                f"files of {result['isa']}\n{result['out'][:3000]}\n{result['err'][-6000:]}\n"
                f"exit code {result['code']}; {'; '.join(result['troubles']) or 'nothing wrong'}"
            )
            return
        for seed in range(int(words[0]), int(words[1])):
            print(f"start {seed}", file=answer)
            result = worker.run(seed)
            print(
                json.dumps({**result, "out": result["out"][:500], "err": result["err"][-3000:]}),
                file=answer,
            )
    os._exit(0)  # peers' threads may still wait


if __name__ == "__main__":
    main(sys.argv[1:])
