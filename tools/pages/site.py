# SPDX-License-Identifier: BSD-2-Clause
"""MkDocs hooks (``mkdocs.yml``). On the site, which has no sources, links from documents to sources
become plain words."""

import re
from pathlib import Path
from typing import Any

__all__ = ["on_page_markdown", "on_startup", "without_references", "without_sources"]

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: The package as it is installed, of links: where mkdocstrings looks for docstrings (``paths`` in
#: ``mkdocs.yml``).
PACKAGE = ROOT / "out" / "package" / "quintet"
_LINK = re.compile(r"\[([^\]\[]*)\]\((?![a-z]+:|#)([^)\s#]*)(?:#[^)\s]*)?\)")


def without_sources(text: str, folder: Path) -> str:
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


def without_references(text: str) -> str:
    """``text`` with neighbouring brackets escaped, as of ``x[i][j]`` or ``NAME [a] [b]``, which
    MkDocs would read as references. Code stays as it is."""
    pieces = re.split(r"(^```.*?^```|`[^`\n]*`)", text, flags=re.S | re.M)
    return "".join(
        piece if number % 2 else re.sub(r"\](\s?)\[", r"]\1\\[", piece)
        for number, piece in enumerate(pieces)
    )


def on_startup(**_: Any) -> None:
    """Hook of MkDocs: makes the package available to mkdocstrings under its installed name."""
    PACKAGE.mkdir(parents=True, exist_ok=True)
    for name, place in {
        "__init__.py": "tools/package/__init__.py",
        **{room: room for room in ("boards", "firmware", "gateware", "tools")},
    }.items():
        if not (PACKAGE / name).exists():
            (PACKAGE / name).symlink_to(ROOT / place)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Hook of MkDocs: the text of a page for the site."""
    return without_references(without_sources(markdown, (DOCS / page.file.src_uri).parent))
