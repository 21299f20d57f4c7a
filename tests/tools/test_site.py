# SPDX-License-Identifier: BSD-2-Clause
"""The site: built strictly; no link, anchor or picture leads nowhere; each page says in its first
paragraph what it is for, and one thing to try."""

import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from quintet.tools.pages.site import DOCS, with_labels, without_references, without_sources

ROOT = Path(__file__).resolve().parents[2]
#: Pages that a stranger reads; the others are specifications, references, and what they lead to.
READ = [
    DOCS / "index.md",
    DOCS / "boards.md",
    DOCS / "comparison.md",
    DOCS / "glossary.md",
    DOCS / "lessons.md",
    DOCS / "roadmap.md",
    DOCS / "reference" / "python.md",
    DOCS / "how" / "verification.md",
    DOCS / "how" / "campaigns.md",
    *sorted((DOCS / "start").glob("*.md")),
    *sorted((DOCS / "guides").glob("own-[bc]*.md")),
    *sorted((DOCS / "performance").glob("[!m]*.md")),
    DOCS / "performance" / "models.md",
    *(DOCS / "cores" / f"{core}.md" for core in ("cherry", "imagine", "opentpu", "opu", "pim")),
]


class Page(HTMLParser):
    """Places of a page, and what it leads to."""

    def __init__(self, text):
        super().__init__()
        self.places, self.targets = {""}, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.places.add(attrs.get("id") or "")
        self.targets += [attrs[name] for name in ("href", "src") if attrs.get(name)]


def broken(site):
    """Links of a built site, from page to target, that lead nowhere."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    for path, page in pages.items():
        for target in page.targets:
            if re.match(r"[a-z]+:|//", target) or path.name == "404.html":
                continue
            place, _, anchor = target.partition("#")
            found = (path.parent / place).resolve() if place else path
            found = found / "index.html" if found.is_dir() else found
            if not found.is_file() or (found in pages and anchor not in pages[found].places):
                yield f"{path.relative_to(site)}: {target}"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if not all(importlib.util.find_spec(name) for name in ("mkdocs", "material", "mkdocstrings")):
        pytest.skip("MkDocs is not installed: pip install -e '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    return folder.resolve()


def test_nothing_is_broken(site):
    assert len(list(site.rglob("*.html"))) > 40
    assert not list(broken(site))


def test_python_page_has_the_docstrings(site):
    text = (site / "reference" / "python" / "index.html").read_text()
    assert "compile_model" in text and 'id="quintet.tools.targets.open_target"' in text


def test_broken_links_are_seen(tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="x"><a href="#x"></a><a href="#y"></a><a href="b.html"></a><img src="c.svg"><a '
        'href="https://d.example"></a>'
    )
    assert sorted(broken(tmp_path)) == ["a.html: #y", "a.html: b.html", "a.html: c.svg"]


def test_links_to_sources_keep_their_words():
    text = (
        "[carry.v](../../tools/build/ecp5/carry.v), [rules](../../CONTRIBUTING.md#x), "
        "[isa](../isa/), [PIM](pim.md#y), [web](https://a.example), [here](#z)"
    )
    assert (
        without_sources(text, DOCS / "performance")
        == "`carry.v`, rules, isa, [PIM](pim.md#y), [web](https://a.example), [here](#z)"
    )


def test_brackets_are_no_references():
    text = "x[i][j], `y[i][j]`\n```\nz[i][j]\n```\n[a](b) [c] [d]"
    assert without_references(text) == "x[i]\\[j], `y[i][j]`\n```\nz[i][j]\n```\n[a](b) [c] \\[d]"


#: Columns of code that the site shows without scrolling, and the page with a listing as it is
#: generated, which is wider.
_CODE_COLUMNS, _LISTING = 88, DOCS / "how" / "microcode.md"


def wide_code(text):
    """Lines of code blocks that are too long for the site."""
    for block in re.findall(r"^( *)```.*?\n(.*?)^ *```", text, re.S | re.M):
        indent, body = len(block[0]), block[1]
        yield from (line for line in body.splitlines() if len(line) - indent > _CODE_COLUMNS)


@pytest.mark.parametrize(
    "document",
    [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_code_fits_the_page(document):
    found = list(wide_code(document.read_text()))
    if document == _LISTING:
        found = [line for line in found if not re.match(r"[0-9a-f]{3}  ", line)]
    assert not found, f"expected at most {_CODE_COLUMNS} columns, found\n" + "\n".join(found)


def test_wide_code_is_seen():
    text = f"{'a' * 99}\n```\n{'b' * 88}\n{'c' * 89}\n```\n  ```toml\n  {'d' * 88}\n  ```\n"
    assert list(wide_code(text)) == ["c" * 89]


def table(*rows):
    cells = ["".join(f"<t{kind}>{cell}</t{kind}>" for cell in row) for kind, row in rows]
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"


def test_cells_of_wide_tables_have_labels():
    wide = with_labels(table(("h", ["a", "<code>b</code>", "c", "d", "e &amp; f"]), ("d", "12345")))
    assert '<table data-columns="5">' in wide
    assert re.findall(r'<td data-label="([^"]*)">(\d)', wide) == [
        ("a", "1"),
        ("b", "2"),
        ("c", "3"),
        ("d", "4"),
        ("e &amp; f", "5"),
    ]


def test_rows_with_a_class_have_labels():
    row = '<tr class="item"><td>1</td><td>2</td><td>3</td></tr>'
    head = table(("h", "abc")).removesuffix("</table>")
    labelled = with_labels(f"{head}{row}{row}</table>")
    cells = [("a", "1"), ("b", "2"), ("c", "3")]
    assert re.findall(r'<td data-label="(.)">(\d)', labelled) == 2 * cells


def test_narrow_tables_stay():
    narrow = table(("h", "ab"), ("d", "12"))
    assert with_labels(narrow) == narrow


@pytest.mark.parametrize("document", READ, ids=lambda path: str(path.relative_to(DOCS)))
def test_first_paragraph(document):
    title, first = document.read_text().split("\n\n")[:2]
    assert title.startswith("# ") and len(title.splitlines()) == 1
    assert re.search(r"\b[Tt]ry\b", first) and first[0].isalnum(), first


def _without_diffs(path):
    return re.sub(r"^ *```diff\n.*?^ *```$", "", path.read_text(), flags=re.S | re.M)


def test_documents_that_are_named_exist():
    """Sources and tests cite documents by their paths; so do documents in backticks. Diffs may add
    some."""
    files = [
        path
        for room in ("boards", "firmware", "gateware", "tools", "tests", "docs")
        for path in (ROOT / room).rglob("*")
        if path.suffix in (".py", ".md", ".toml", ".hpp", ".v")
    ]
    missing = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in [*files, ROOT / "CONTRIBUTING.md"]
        if path != Path(__file__)
        for name in re.findall(r"(?<![\w/.-])docs/[\w/.-]+\.(?:md|json)\b", _without_diffs(path))
        if not (ROOT / name).is_file()
    }
    assert not missing
