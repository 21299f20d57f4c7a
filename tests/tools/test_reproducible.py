# SPDX-License-Identifier: BSD-2-Clause
"""The same sources give the same netlist and the same plan, and with the same tools the same
bitstream, in any folder and with any hash seed."""

import hashlib
import os
import subprocess
import sys

import pytest

NETLIST = """
import hashlib, sys
from quintet.boards import open_board
from quintet.boards.top import BoardTop
from quintet.gateware.cores import open_core
from quintet.tools.build.bitstream import _platform
board = open_board("icebreaker")
soc = board.make_soc(package=open_core("opentpu"))
text = _platform(board).prepare(BoardTop(board=board, soc=soc), "top").files["top.il"]
print(hashlib.sha256(text if isinstance(text, bytes) else text.encode()).hexdigest())
"""


PLAN = """
import hashlib
from pathlib import Path
import numpy as np
from quintet.tools.compiler.builder import Net
net = Net()
x = net.input("x", [8])
for name in "abcdef":
    net.output(net.dense(x, np.ones((8, 4))), name)
net.compile("model:opentpu", preset="sim-ext").save("plan")
for path in sorted(Path("plan").iterdir()):
    print(path.name, hashlib.sha256(path.read_bytes()).hexdigest())
"""


def python(code, folder, seed):
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    folder.mkdir()
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def test_netlists(tmp_path):
    assert python(NETLIST, tmp_path / "one", 1) == python(NETLIST, tmp_path / "other", 4711)


def test_plans(tmp_path):
    assert python(PLAN, tmp_path / "one", 1) == python(PLAN, tmp_path / "other", 4711)


@pytest.mark.long
@pytest.mark.pnr
def test_bitstreams(tmp_path):
    build = (
        "from quintet.tools.build import build; print(build('icebreaker', dir='out')['bitstream'])"
    )
    digests = []
    for name, seed in (("one", 1), ("other", 4711)):
        path = tmp_path / name / python(build, tmp_path / name, seed).strip()
        digests.append(hashlib.sha256(path.read_bytes()).hexdigest())
    assert digests[0] == digests[1]
