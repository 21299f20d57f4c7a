# SPDX-License-Identifier: BSD-2-Clause
"""Gateware takes nothing from the model that judges it: what both need lies in neutral modules of
the package."""

import re
from pathlib import Path

import pytest

from quintet.gateware import cores

PACKAGES = sorted(path.parent for path in Path(cores.__file__).parent.glob("*/isa.py"))


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda folder: folder.name)
def test_gateware_imports_no_model(folder):
    files = [
        folder / "core.py",
        *(folder / "engine").rglob("*.py"),
        *(folder / "small").rglob("*.py"),
    ]
    assert len(files) > 10
    found = [
        f"{path.relative_to(folder)}: {line}"
        for path in files
        for line in path.read_text().splitlines()
        if re.match(r"\s*(from|import) .*\bmodel\b", line)
    ]
    assert not found
