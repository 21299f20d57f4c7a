# SPDX-License-Identifier: BSD-2-Clause
"""The table of the page on a board's first power-up is what the boards' files say."""

from pathlib import Path

from quintet.boards import board_names
from quintet.tools.pages import power_up


def test_table_is_current():
    text = (
        Path(power_up.__file__).resolve().parents[2] / "docs" / "guides" / "bring-up.md"
    ).read_text()
    assert power_up.page(text) == text, "python -m quintet.tools.pages.power_up writes it again"
    assert len(list(power_up.rows())) == len(board_names()) + 2
