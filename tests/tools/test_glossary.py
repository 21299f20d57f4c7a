# SPDX-License-Identifier: BSD-2-Clause
"""Terms of the glossary are linked: every page that uses one links a term, and a term that has no
everyday meaning is a link where the page uses it first.

Only prose counts, as in :mod:`tests.tools.test_sentences`: code, tables, headings and generated
parts may use a term before it is linked. The link leads to the glossary, or to a page that explains
the term. A sentence that links the whole glossary serves all terms after it.
"""

import re
from pathlib import Path

import pytest

from tests.tools.test_sentences import prose

DOCS = Path(__file__).resolve().parents[2] / "docs"
GLOSSARY = DOCS / "glossary.md"
PAGES = sorted(set(DOCS.rglob("*.md")) - {GLOSSARY})

#: Terms that a page need not link: words of everyday English, or of every engineer, which the
#: glossary only makes narrower.
EVERYDAY = set(
    "beat|build|core|engine|fault|host|ISA|job|lane|link|load|main memory|matrix|notice|pass|pipe|"
    "reference|run|save|scale|shell|state|stream|stride|target|tile|trace|unit|window".split("|")
)
#: Pages that define a term themselves, or use the word in another meaning.
DEFINED = {
    "how/campaigns.md": {"campaign"},
    "how/control-block.md": {"control block"},
    # USB's own stall: the answer of an endpoint that cannot serve a request.
    "how/usb.md": {"stall"},
    "how/virtual-board.md": {"virtual board"},
    "guides/timeline.md": {"timeline"},
}

#: A link to the glossary as a whole.
_WHOLE = re.compile(r"\[(?:the )?glossary\]\(", re.I)
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\([^)]*\)")


def terms():
    """Terms of the glossary, those of a row that has several one by one."""
    rows = re.findall(r"^\| (.+?) \|", GLOSSARY.read_text(encoding="utf-8"), re.M)
    return [term for row in rows if row != "term" for term in row.split(", ")]


def first_use(term, text):
    """Match of a term, in singular or plural, where a page's prose uses it first."""
    words = r"\s+".join(map(re.escape, term.split()))
    plural = "(?:es)?" if term.endswith(("ch", "s", "x")) else "s?"
    return re.search(rf"\b{words}{plural}\b", text, re.I)


def unlinked(text, defined=()):
    """Terms of a page that ought to be links at their first use and are none."""
    # Names of pages that links lead to are no words.
    text = re.sub(r"\]\([^)]*\)", "]()", "\n\n".join(prose(text)))
    links = [link.span(1) for link in _LINK.finditer(text)]
    if whole := _WHOLE.search(text):
        links.append((whole.start(), len(text)))
    found = []
    for term in terms():
        use = None if term in EVERYDAY or term in defined else first_use(term, text)
        if use and not any(start <= use.start() < end for start, end in links):
            around = text[max(use.start() - 30, 0) : use.end() + 30]
            found.append(f"{term}: ... {' '.join(around.split())}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_terms_are_links_at_their_first_use(page):
    name = page.relative_to(DOCS).as_posix()
    found = unlinked(page.read_text(encoding="utf-8"), DEFINED.get(name, ()))
    assert not found, f"{name}: expected links to the glossary, found none at\n" + "\n".join(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_every_page_links_a_term(page):
    text = page.read_text(encoding="utf-8")
    assert "glossary.md)" in text or not any(
        first_use(term, "\n\n".join(prose(text))) for term in terms()
    ), f"{page.relative_to(DOCS)}: expected a link to the glossary, found none"


def test_everyday_terms_and_pages_are_there():
    assert set(terms()) >= EVERYDAY
    assert all((DOCS / name).is_file() and set(terms()) >= DEFINED[name] for name in DEFINED)


def test_missing_links_are_found():
    text = (
        "# Presets\n\n| preset | golden model |\n\n`preset` [virtual\nboards](glossary.md) run.\n\n"
        "Two presets, one [preset](glossary.md), and a virtual board.\n\n```\ngolden model\n```\n"
    )
    assert [line.partition(":")[0] for line in unlinked(text)] == ["preset"]
    assert not unlinked(text, {"preset"})
    assert not unlinked("[The glossary](glossary.md) has them.\n\n" + text)
    assert unlinked("Two presets.\n\n[The glossary](glossary.md) has them.")
