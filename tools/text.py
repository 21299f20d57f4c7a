# SPDX-License-Identifier: BSD-2-Clause
"""Sanitising of text from files and other machines, for terminals and pages, and for names of files
and labels."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

__all__ = ["plain_name", "plain_names", "visible", "visible_lines"]

#: Characters of the longest name that :func:`plain_name` gives.
LONGEST_NAME = 48


def visible(text: str) -> str:
    """Text as one line, with escapes in place of characters that break a line, move a cursor or
    change the direction of writing."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def visible_lines(text: str) -> str:
    """Applies :func:`visible` to each line; tabs are kept."""
    return "\n".join(
        "\t".join(visible(part) for part in line.split("\t")) for line in text.split("\n")
    )


def plain_name(name: str) -> str:
    """Converts a name to letters, digits and underscores, at most :data:`LONGEST_NAME` of them. A
    name of that form is unchanged; any other gets a digest as suffix, so that different names stay
    different."""
    plain = re.fullmatch(rf"[A-Za-z_][A-Za-z0-9_]{{0,{LONGEST_NAME - 1}}}", name)
    # A name that ends like a digest gets one, too: it may be what another name became.
    if plain and not re.search(r"_[0-9a-f]{8}$", name):
        return name
    return _with_digest(name)


def plain_names(names: Iterable[str]) -> dict[str, str]:
    """Converts names by :func:`plain_name`, name -> result; names that differ only in case get
    digests, since some file systems ignore case."""
    plain = {name: plain_name(name) for name in names}
    folded = Counter(made.lower() for made in plain.values())
    return {
        name: made if folded[made.lower()] == 1 else _with_digest(name)
        for name, made in plain.items()
    }


def _with_digest(name):
    left = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[: LONGEST_NAME - 11]
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"n_{left}_{digest}" if not left[:1].isalpha() else f"{left}_{digest}"
