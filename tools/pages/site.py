# SPDX-License-Identifier: BSD-2-Clause
"""MkDocs hooks (``mkdocs.yml``). The site has no sources, so links from documents to sources become
plain words. Cells of wide tables are labelled with their columns' names, so that a phone can show
each row as a list."""

import re
from html import escape, unescape
from pathlib import Path
from typing import Any

__all__ = [
    "on_page_content",
    "on_page_markdown",
    "on_startup",
    "with_labels",
    "without_references",
    "without_sources",
]

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: The package as it is installed, of links: where mkdocstrings looks for docstrings (``paths`` in
#: ``mkdocs.yml``).
PACKAGE = ROOT / "out" / "package" / "quintet"
#: Columns of the narrowest table whose cells get labels; ``docs/assets/site.css`` relies on it.
WIDE = 3
_TABLE = re.compile(r"<table>.*?</table>", re.S)
_HEADER = re.compile(r"<th\b[^>]*>(.*?)</th>", re.S)
_ROWS = re.compile(r"(?=<tr\b)")
_CELL = re.compile(r"<td\b")
_LINK = re.compile(r"\[([^\]\[]*)\]\((?![a-z]+:|#)([^)\s#]*)(?:#[^)\s]*)?\)")


def without_sources(text: str, folder: Path) -> str:
    """Removes links to folders and to files outside ``docs/`` from ``text``, a document in
    ``folder``."""

    def kept(match):
        target = (folder / match[2]).resolve()
        return (
            match[0]
            if target.is_relative_to(DOCS) and not target.is_dir()
            else f"`{match[1]}`"
            if re.fullmatch(r"[\w.-]+\.\w+", match[1])
            else match[1]
        )

    return _LINK.sub(kept, text)


def without_references(text: str) -> str:
    """Escapes neighbouring brackets such as ``x[i][j]`` or ``NAME [a] [b]``, which MkDocs would
    read as references. Code is unchanged."""
    pieces = re.split(r"(^```.*?^```|`[^`\n]*`)", text, flags=re.S | re.M)
    return "".join(
        piece if number % 2 else re.sub(r"\](\s?)\[", r"]\1\\[", piece)
        for number, piece in enumerate(pieces)
    )


def label_row(row: str, names: list[str]) -> str:
    """Cells of a table row, each labelled with the name of its column."""
    columns = iter(names)
    return _CELL.sub(lambda _: f'<td data-label="{next(columns)}"', row)


def with_labels(html: str) -> str:
    """Adds the column name to cells as ``data-label``, in tables of ``html`` with at least ``WIDE``
    columns."""

    def with_names(match: re.Match[str]) -> str:
        table = match[0]
        names = [
            escape(unescape(re.sub(r"<[^>]*>", "", name)).strip())
            for name in _HEADER.findall(table)
        ]
        if len(names) < WIDE:
            return table
        labelled = "".join(label_row(row, names) for row in _ROWS.split(table))
        return labelled.replace("<table>", f'<table data-columns="{len(names)}">', 1)

    return _TABLE.sub(with_names, html)


def on_startup(**_: Any) -> None:
    """MkDocs hook: makes the package available to mkdocstrings under its installed name."""
    PACKAGE.mkdir(parents=True, exist_ok=True)
    for name, place in {
        "__init__.py": "tools/package/__init__.py",
        **{folder: folder for folder in ("boards", "firmware", "gateware", "tools")},
    }.items():
        if not (PACKAGE / name).exists():
            (PACKAGE / name).symlink_to(ROOT / place)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """MkDocs hook: returns a page's Markdown for the site."""
    return without_references(without_sources(markdown, (DOCS / page.file.src_uri).parent))


def on_page_content(html: str, **_: Any) -> str:
    """MkDocs hook: returns a page's HTML for the site."""
    return with_labels(html)
