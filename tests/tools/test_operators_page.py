# SPDX-License-Identifier: BSD-2-Clause
"""The operator table of the documents is what the back ends answer."""

from pathlib import Path

from quintet.tools.pages import operators


def test_table_is_current():
    path = Path(operators.__file__).resolve().parents[2] / "docs" / "guides" / "own-model.md"
    text = path.read_text()
    assert operators.page(text) == text, "python -m quintet.tools.pages.operators writes it again"
    assert len(list(operators.rows())) == len(operators.EXAMPLES) + 2
