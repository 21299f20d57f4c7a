# SPDX-License-Identifier: BSD-2-Clause
"""Length of sentences in the README and the documents: none is longer than 40 words, and at most
2 % are longer than 30.

Only prose is measured. Code blocks, tables, headings and generated parts are left out; a piece of
code between backticks counts as one word, and so does a link by each word of its text.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
#: Longest sentence, in words.
LONGEST = 40
#: Words of a long sentence, and the share of all sentences that may be as long.
LONG, SHARE = 30, 0.02

_LEFT_OUT = (
    re.compile(r"^ *```.*?^ *```", re.S | re.M),
    re.compile(r"<!-- begin .*?<!-- end .*?-->", re.S),
    re.compile(r"<!--.*?-->", re.S),
)
#: Where a paragraph ends: at an empty line, and before a list item, heading, table row or quote.
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[*+-] |\d+\. |#|\||>))")
#: Where a sentence ends, with closing quotes and marks of emphasis behind its stop.
_STOP = re.compile(r"(?<=[.!?])[\"')*_]*\s+")


def prose(text):
    """Paragraphs of a document's prose, each piece of code in it as the word ``CODE``."""
    for pattern in _LEFT_OUT:
        text = pattern.sub("", text)
    for paragraph in _PARAGRAPH.split(text):
        paragraph = paragraph.strip()
        if not paragraph.startswith(("|", "#", "<", "![")):
            yield re.sub(r"`[^`]*`", "CODE", paragraph)


def sentences(text):
    """``(words, sentence)`` of each sentence of a document's prose."""
    for paragraph in prose(text):
        paragraph = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", paragraph)
        for sentence in _STOP.split(paragraph):
            words = sum(bool(re.search(r"\w", word)) for word in sentence.split())
            if words:
                yield words, " ".join(sentence.split())


def offenders(documents, limit):
    """Lines that name the sentences longer than ``limit``, longest first."""
    found = [
        (words, str(document.relative_to(ROOT)), sentence)
        for document in documents
        for words, sentence in sentences(document.read_text(encoding="utf-8"))
        if words > limit
    ]
    return [
        f"{name}: {words} words: {' '.join(sentence.split()[:8])} ..."
        for words, name, sentence in sorted(found, reverse=True)
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_sentence_is_too_long(document):
    found = offenders([document], LONGEST)
    assert not found, f"expected at most {LONGEST} words a sentence, found\n" + "\n".join(found)


def test_few_sentences_are_long():
    total = sum(
        len(list(sentences(document.read_text(encoding="utf-8")))) for document in DOCUMENTS
    )
    found = offenders(DOCUMENTS, LONG)
    assert len(found) <= SHARE * total, (
        f"expected at most {SHARE:.0%} of {total} sentences with more than {LONG} words, found "
        f"{len(found)}\n" + "\n".join(found)
    )


def test_what_is_counted():
    text = (
        "# A heading of no account\n\nOne `code of four words` two [three four](a.md). Five six!\n"
        "```\nno words here\n```\n| no | words |\n* an item\n* nextpnr says *so.* Then it ends\n"
        "<!-- begin t: generated --> none <!-- end t -->\n"
        "reaches <!-- figure a :: b -->97 MHz<!-- /figure --> - today\n"
    )
    assert [words for words, _ in sentences(text)] == [5, 2, 2, 3, 3, 4]


def test_long_sentences_are_found(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    page = tmp_path / "a.md"
    page.write_text("Short. " + "word " * 9 + "end.\n\n" + "Long " * 11 + "end.")
    assert offenders([page], 9) == [
        "a.md: 12 words: Long Long Long Long Long Long Long Long ...",
        "a.md: 10 words: word word word word word word word word ...",
    ]
