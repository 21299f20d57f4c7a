# SPDX-License-Identifier: BSD-2-Clause
"""Commands in processes of their own, with closed descriptors and signals at random times:
``python tests/tools/fuzz_endings.py SEED`` repeats a case and shows it.

``python fuzz_endings.py FIRST LAST`` runs the cases from FIRST to LAST - 1; for each one JSON
object with ``seed``, ``args``, ``closed``, ``signal``, ``seconds``, ``code`` and ``troubles``.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

# It is started as a file, and its helpers are packages below the root.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.tools.fuzz_worker import Worker  # noqa: E402

#: Seconds that a command may take to end once it got a signal.
ENDS = 30
#: Seconds at most until the signal comes, one of them by chance; most commands take half of one.
EARLIEST, LATEST = 0.1, (0.6, 1.0, 4.0)
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


def run(worker, seed):
    """The result of the case of ``seed``."""
    case, place = worker.prepare(seed)
    rnd = worker.files.random_of(seed, "ending")
    closed = [number for number in (0, 1, 2) if rnd.random() < 0.2]
    number = getattr(signal, rnd.choice(SIGNALS))
    seconds = rnd.uniform(EARLIEST, rnd.choice(LATEST))
    temporary = worker.folder / f"tmp{seed}"
    temporary.mkdir()
    process = _start(case, place, temporary, closed)
    sent, hangs = False, False
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
        sent = True
        try:
            process.wait(ENDS)
        except subprocess.TimeoutExpired:
            hangs = True
    stays = _ends_group(process)
    err = (place / "said.txt").read_text(errors="replace")
    troubles = list(_troubles(process.returncode, number if sent else None, err))
    if hangs:
        troubles.append(f"it does not end within {ENDS} s")
    elif stays:
        troubles.append("processes that it began go on")
    left = [path for path in temporary.iterdir() if path.suffix != ".so"]
    left += [path for path in place.rglob("*") if path.name.startswith(".") or _part(path)]
    left += [path for path in (worker.folder / "cache").rglob("*") if _part(path)]
    troubles += [f"left {path.relative_to(worker.folder)}" for path in left]
    (place / "readonly").chmod(0o755)
    shutil.rmtree(place)
    shutil.rmtree(temporary)
    return {
        "seed": seed,
        "args": case.args,
        "closed": closed,
        "signal": signal.Signals(number).name if sent else None,
        "seconds": round(seconds, 2),
        "code": process.returncode,
        "troubles": troubles,
        "err": err[-3000:],
    }


def _start(case, place, temporary, closed):
    def close():
        for number in closed:
            os.close(number)

    environment = {**os.environ, "FUZZ_TOOLS": case.tools, "TMPDIR": str(temporary)}
    with open(place / "said.txt", "wb") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "quintet.tools.cli", *(w.replace("\0", "") for w in case.args)],
            cwd=place,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            preexec_fn=close,
            start_new_session=True,
        )


def _ends_group(process):
    """Kills the command's process group; whether a process of it was still running."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


def _part(path):
    return path.name.endswith((".part", ".tmp"))


def _troubles(code, number, err):
    ended = () if number is None else (128 + number, -number)  # the latter before Python is up
    if number and "Fatal Python error: init_import_site" in err:
        return  # nothing of ours has begun
    if code not in range(6) and code not in ended:
        yield f"exit code {code}"
    # Before its handlers are in place Python itself tells of an interrupt.
    if "internal error" in err or ("Traceback" in err and code not in ended):
        yield "a traceback"


def main(words):
    with tempfile.TemporaryDirectory(prefix="quintet-fuzz-") as folder:
        worker = Worker(folder)
        os.environ.pop("QUINTET_DEBUG")
        first = int(words[0])
        for seed in range(first, int(words[1]) if words[1:] else first + 1):
            print(json.dumps(run(worker, seed)), flush=True)
    os._exit(0)  # peers' threads may still wait


if __name__ == "__main__":
    main(sys.argv[1:])
