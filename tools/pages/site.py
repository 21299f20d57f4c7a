# SPDX-License-Identifier: BSD-2-Clause
"""Hooks of MkDocs (``mkdocs.yml``). Documents are written to be read on a forge as well, where
links lead to sources; a site has no sources, so such a link keeps its words alone. Cells of wide
tables get the names of their columns, so that a phone can show each row as a list."""

import re
from html import escape, unescape
from pathlib import Path

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
WIDE = 5
_TABLE = re.compile(r"<table>.*?</table>", re.S)
_HEADER = re.compile(r"<th\b[^>]*>(.*?)</th>", re.S)
_CELL = re.compile(r"<td\b")
_LINK = re.compile(r"\[([^\]\[]*)\]\((?![a-z]+:|#)([^)\s#]*)(?:#[^)\s]*)?\)")


def without_sources(text, folder):
    """``text`` of a document in ``folder`` without links to files outside ``docs/`` and to
    folders."""

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


def without_references(text):
    """``text`` in which neighbouring brackets, as of ``x[i][j]`` or ``NAME [a] [b]``, are no
    references: documents have none of that kind. Code stays as it is."""
    pieces = re.split(r"(^```.*?^```|`[^`\n]*`)", text, flags=re.S | re.M)
    return "".join(
        piece if number % 2 else re.sub(r"\](\s?)\[", r"]\1\\[", piece)
        for number, piece in enumerate(pieces)
    )


def with_labels(html):
    """``html`` in which cells of tables with at least ``WIDE`` columns have the name of their
    column as ``data-label``."""

    def labelled(match):
        table = match[0]
        names = [
            escape(unescape(re.sub(r"<[^>]*>", "", name)).strip())
            for name in _HEADER.findall(table)
        ]
        if len(names) < WIDE:
            return table
        rows = table.split("<tr>")
        for number, row in enumerate(rows):
            columns = iter(names)
            rows[number] = _CELL.sub(
                lambda _, columns=columns: f'<td data-label="{next(columns)}"', row
            )
        return "<tr>".join(rows).replace("<table>", f'<table data-columns="{len(names)}">', 1)

    return _TABLE.sub(labelled, html)


def on_startup(**_):
    PACKAGE.mkdir(parents=True, exist_ok=True)
    for name, place in {
        "__init__.py": "tools/package/__init__.py",
        **{room: room for room in ("boards", "firmware", "gateware", "tools")},
    }.items():
        if not (PACKAGE / name).exists():
            (PACKAGE / name).symlink_to(ROOT / place)


def on_page_markdown(markdown, page, **_):
    return without_references(without_sources(markdown, (DOCS / page.file.src_uri).parent))


def on_page_content(html, **_):
    return with_labels(html)
