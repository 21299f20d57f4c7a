# SPDX-License-Identifier: BSD-2-Clause
"""Hooks of MkDocs (``mkdocs.yml``). Documents are written to be read on a forge as well, where
links lead to sources; a site has no sources, so such a link keeps its words alone."""

import re
from pathlib import Path

__all__ = ["on_page_markdown", "on_startup", "without_references", "without_sources"]

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: The package as it is installed, of links: where mkdocstrings looks for docstrings (``paths`` in
#: ``mkdocs.yml``).
PACKAGE = ROOT / "out" / "package" / "quintet"
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
