# SPDX-License-Identifier: BSD-2-Clause
"""The examples of IMAGine's pages run as they stand there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from quintet.gateware.cores.imagine.software import SOFTWARE
from quintet.gateware.isa.asm import assemble

DOCS = Path(__file__).resolve().parents[2] / "docs" / "cores"


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


@pytest.mark.parametrize("page", ["imagine-assembler.md"])
def test_python(page, tmp_path):
    found = blocks(page, "python")
    assert found
    for text in found:
        subprocess.run([sys.executable, "-c", text], cwd=tmp_path, check=True)


def test_text(tmp_path):
    import numpy as np

    np.savez(tmp_path / "weights.npz", w1=np.ones((4, 20)))
    text = next(
        part
        for part in (DOCS / "imagine-assembler.md").read_text().split("```")
        if part.startswith("\n.setupParams")
    )
    (tmp_path / "x.s").write_text(text)
    assert len(assemble(SOFTWARE, tmp_path / "x.s").data) > 100
