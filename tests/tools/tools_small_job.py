# SPDX-License-Identifier: BSD-2-Clause
"""The worked job of the OpenTPU document (section 7.4), to build tests on."""
from pathlib import Path

import numpy as np

SOURCE = """\
RHM 0, 0, 3
RW  0
RW  1
MMC.SO 0, 0, 3
ACT.R  0, 4, 3
MMC.SO 4, 8, 3
MMC    0, 8, 3
ACT.Q  8, 8, 3
WHM 8, 4, 3
ACT 8, 12, 3
WHM 12, 7, 3
HLT
"""

JOB = """\
core = "opentpu"
program = "small.a"
program_at = 0x0000_1000
[params]
n = 4
[registers]
hostmem_base = 0x2000
hostmem_limit = 0x2040
weights_base = 0x3000
weights_limit = 0x3020
[[load]]
file = "x.npy"
at = 0x2000
[[load]]
file = "w.npy"
at = 0x3000
[[save]]
file = "y.npy"
at = 0x2010
dtype = "int8"
shape = [6, 4]
[limits]
cycles = 10_000
"""

X = np.array([[1, 2, 3, 4], [-1, 0, 5, -2], [10, -20, 30, -40]], dtype=np.int8)
W = np.array([[[1, 0, 2, -1], [0, 1, -1, 3], [2, 1, 0, 1], [-1, 2, 1, 0]],
              [[1, -1, 0, 0], [0, 1, 0, -1], [1, 0, -2, 1], [0, 0, 1, 1]]], dtype=np.int8)
Y = bytes.fromhex("ffff1efbff0000ffff0000ff0b0bfe040ff7fa0896749c0a")


class SmallJob:
    """The job in a folder of its own; :meth:`edit` changes the text before it is read."""
    def __init__(self, folder):
        self.folder = Path(folder)
        self.path = self.folder / "job.toml"
        self.expected = Y
        (self.folder / "small.a").write_text(SOURCE)
        np.save(self.folder / "x.npy", X)
        np.save(self.folder / "w.npy", W)
        self.path.write_text(JOB)

    def edit(self, old, new=""):
        text = self.path.read_text()
        assert old in text
        self.path.write_text(text.replace(old, new))
        return self

    def program(self, old, new=""):
        path = self.folder / "small.a"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        return self

    def append(self, text):
        self.path.write_text(self.path.read_text() + text)
        return self

    def __str__(self):
        return str(self.path)
