# SPDX-License-Identifier: BSD-2-Clause
"""The list of slow tests names tests that there are."""

import ast
from pathlib import Path

from tests.conftest import SLOW

ROOT = Path(__file__).parents[1]


def test_slow_tests_exist():
    lines = SLOW.read_text(encoding="utf-8").splitlines()
    missing = []
    for line in lines:
        path, _, name = line.partition("[")[0].partition("::")
        file = ROOT / path
        tree = ast.parse(file.read_text(encoding="utf-8")) if file.is_file() else ast.Module([], [])
        names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        if name.rpartition("::")[2] not in names:
            missing.append(line)
    assert lines == sorted(set(lines)) and not missing, missing
