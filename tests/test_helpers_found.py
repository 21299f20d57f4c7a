# SPDX-License-Identifier: BSD-2-Clause
"""Helpers of the tests are packages below ``tests``: the project file names no core, no test
imports a helper by its bare name."""

import re
import sys
from pathlib import Path

from quintet.gateware.cores import core_names

ROOT = Path(__file__).resolve().parents[1]


def bare_imports(text, helpers):
    return [
        name
        for name in re.findall(r"^[ ]*(?:from|import) (\w+)(?= import| as|$)", text, re.M)
        if name in helpers
    ]


def test_the_project_file_names_no_core():
    assert not [name for name in core_names() if name in (ROOT / "pyproject.toml").read_text()]


def test_helpers_are_imported_from_packages():
    files = list((ROOT / "tests").rglob("*.py"))
    helpers = (
        {path.stem for path in files if not path.name.startswith(("test_", "__", "conftest"))}
        - set(sys.stdlib_module_names)
        - {"quintet"}
    )
    assert {
        path.name: found for path in files if (found := bare_imports(path.read_text(), helpers))
    } == {}
    assert bare_imports(
        "import compare\nfrom slow import x\nfrom a.slow import y\n", {"compare", "slow"}
    ) == ["compare", "slow"]
