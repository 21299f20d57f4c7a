# SPDX-License-Identifier: BSD-2-Clause
"""The worked job of the OpenTPU document (section 7.4) as it ships, to build tests on."""

from pathlib import Path

import numpy as np

from quintet.firmware.opentpu.programs import FOLDER

#: Program and job without comments, with short names and no parameter but n.
SOURCE = "".join(
    f"{line.split('#')[0].rstrip()}\n"
    for line in (FOLDER / "small.a").read_text().splitlines()
    if not line.startswith("#")
)
JOB = (
    (FOLDER / "small.toml")
    .read_text()
    .partition("\n")[2]
    .replace("small_", "")
    .replace("norm_reset = 0\n", "")
)
X, W = (np.load(FOLDER / f"small_{name}.npy") for name in "xw")
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
