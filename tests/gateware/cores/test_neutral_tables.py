# SPDX-License-Identifier: BSD-2-Clause
"""Gateware takes nothing from the model that judges it: what both need lies in neutral modules of
the room."""

import re
from pathlib import Path

import pytest

from quintet.gateware import cores

ROOMS = sorted(path.parent for path in Path(cores.__file__).parent.glob("*/isa.py"))


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_gateware_imports_no_model(room):
    files = [room / "core.py", *(room / "engine").rglob("*.py"), *(room / "small").rglob("*.py")]
    assert len(files) > 10
    found = [
        f"{path.relative_to(room)}: {line}"
        for path in files
        for line in path.read_text().splitlines()
        if re.match(r"\s*(from|import) .*\bmodel\b", line)
    ]
    assert not found
