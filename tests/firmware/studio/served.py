# SPDX-License-Identifier: BSD-2-Clause
"""``quintet studio`` in a process of its own."""

import json
import os
import signal
import subprocess
import sys

__all__ = ["Served"]


class Served:
    """``quintet studio`` in a process of its own."""

    def __init__(self, *args):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "quintet.tools.cli", "studio", "--no-browser", "--json", *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        text = ""
        while not text.endswith("}\n"):
            text += self.process.stdout.readline()
        self.address = json.loads(text)["address"]

    def __enter__(self):
        return self

    def stop(self):
        """Interrupt it; what it said on standard error."""
        self.process.send_signal(signal.SIGINT)
        return self.process.communicate(timeout=60)[1]

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
