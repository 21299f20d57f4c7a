# SPDX-License-Identifier: BSD-2-Clause
"""Random samples of the project's words, to be judged by a reader: ``python -m tests.support.draw
docstrings 1`` draws 60 docstrings outside the tests, ``words 1`` 60 messages, docstrings, comments
and paragraphs of documents; equal seeds draw equal samples of equal sources."""

import argparse
import ast
import io
import random
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

#: Words from which on a text counts as a place of its own.
LEAST_WORDS = 4

#: A sample: location, kind or qualified name, text.
Place = tuple[str, str, str]


def _files(pattern: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files", pattern], capture_output=True, text=True)
    return [name for name in listed.stdout.split("\n") if name]


def _sources() -> Iterator[tuple[str, str]]:
    """Python files outside the tests, with the support of the tests: (path, text)."""
    for path in _files("*.py"):
        if not path.startswith("tests/") or path.startswith("tests/support/"):
            yield path, Path(path).read_text()


def _documented(tree: ast.AST, names: tuple[str, ...] = ()) -> Iterator[tuple[str, ast.Constant]]:
    """Docstrings of a module: (qualified name, node)."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    if isinstance(tree, kinds) and ast.get_docstring(tree):
        yield ".".join(names), tree.body[0].value
    for child in ast.iter_child_nodes(tree):
        named = isinstance(child, kinds)
        yield from _documented(child, (*names, child.name) if named else names)


def docstrings() -> Iterator[Place]:
    """First paragraphs of all docstrings."""
    for path, text in _sources():
        for name, node in _documented(ast.parse(text)):
            first = ast.literal_eval(node).strip().split("\n\n")[0]
            yield f"{path}:{node.lineno}", name, " ".join(first.split())


def _messages(tree: ast.AST, skipped: set[int]) -> Iterator[tuple[int, str]]:
    """Texts of one line in code other than docstrings: (line, text)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(value) for value in node.values}
            parts = [v.value if isinstance(v, ast.Constant) else "{}" for v in node.values]
            yield node.lineno, "".join(parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in skipped and "\n" not in node.value.strip():
                yield node.lineno, node.value


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Comments, those of adjacent lines together, except licences: (line, text)."""
    start, last, lines = 0, -1, []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT or "SPDX" in token.string:
            continue
        if token.start[0] != last + 1:
            if lines:
                yield start, " ".join(lines)
            start, lines = token.start[0], []
        lines.append(token.string.lstrip("#: "))
        last = token.start[0]
    if lines:
        yield start, " ".join(lines)


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs of a document without code blocks: (line, text)."""
    text = re.sub(r"```.*?```", lambda found: "\n" * found[0].count("\n"), text, flags=re.S)
    line = 1
    for paragraph in re.split(r"(\n\s*\n)", text):
        if paragraph.strip() and not paragraph.strip().startswith("<!--"):
            yield line, paragraph
        line += paragraph.count("\n")


def words() -> Iterator[Place]:
    """Messages, docstrings, comments and paragraphs of documents."""
    for path, text in _sources():
        tree = ast.parse(text)
        found = [(node.lineno, node.value) for _, node in _documented(tree)]
        skipped = {id(node) for _, node in _documented(tree)}
        for kind, places in (
            ("docstring", found),
            ("message", _messages(tree, skipped)),
            ("comment", _comments(text)),
        ):
            for line, place in places:
                yield f"{path}:{line}", kind, " ".join(place.split())
    for path in _files("*.md"):
        if path != "CHANGELOG.md":
            for line, paragraph in _paragraphs(Path(path).read_text()):
                yield f"{path}:{line}", "document", " ".join(paragraph.split())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("docstrings", "words"))
    parser.add_argument("seed", type=int)
    parser.add_argument("--count", type=int, default=60)
    given = parser.parse_args()
    if given.kind == "docstrings":
        places = list(docstrings())
    else:
        places = [place for place in words() if len(place[2].split()) >= LEAST_WORDS]
    for where, kind, text in random.Random(given.seed).sample(places, given.count):
        print(f"{where} {kind}\n    {text}")


if __name__ == "__main__":
    main()
