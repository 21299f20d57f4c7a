# SPDX-License-Identifier: BSD-2-Clause
"""Reader of TOML files for jobs and plans, with limits of size and depth.

The parsers of TOML take time and memory that grow with the square of a key's depth and of the
number of tables, so both are bounded before a file is parsed.
"""

import re
import sys
from pathlib import Path
from typing import Any

from ..gateware.isa.files import read_bytes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["TomlError", "read_toml"]

#: Bytes of a file.
_MOST_BYTES = 1 << 20
#: Parts of a dotted key, and arrays and inline tables within each other.
_MOST_DEPTH = 32
#: Tables (`[name]` and `[[name]]`) of a file.
_MOST_TABLES = 2000

#: Strings and comments: no bracket or dot within them nests anything.
_OPAQUE = re.compile(
    r'"""(?:\\.|[^\\])*?"""|'
    r"'''.*?'''|"
    r'"(?:\\.|[^"\\\n])*"|'
    r"'[^'\n]*'|"
    r"#[^\n]*",
    re.DOTALL,
)
_DEEP_KEY = re.compile(rf"(?:[\w-]+[ \t]*\.[ \t]*){{{_MOST_DEPTH}}}")
_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)


class TomlError(ValueError):
    """Error: a file is not TOML, or exceeds the limits of size and depth; the message is one line
    that names the file."""


def read_toml(path: Path) -> dict[str, Any]:
    """Reads the tables of the TOML file ``path``; accepts a byte-order mark and Windows line ends.

    Raises
    ------
    FileError
        The file cannot be read, or has more than 1 MiB.
    TomlError
        Its content is not TOML, has more than 2,000 tables, or nests more than 32 deep.
    """
    data = read_bytes(path, _MOST_BYTES)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TomlError(
            f"{path}: not UTF-8 text (byte {error.start}); expected a TOML file"
        ) from None
    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    _check_size(path, text)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # one of its ValueErrors is `int`'s own
        raise TomlError(f"{path}: not TOML: {error}") from None


def _check_size(path, text):
    # The rest keeps the lines of the file, so that a message can name them.
    bare = _OPAQUE.sub(lambda match: "x" + "\n" * match[0].count("\n"), text)
    if (deep := _DEEP_KEY.search(bare)) is not None:
        raise TomlError(
            f"{path}: line {_line(bare, deep.start())}: a key of more than {_MOST_DEPTH} parts"
        )
    depth = 0
    for match in re.finditer(r"[\[{\]}]", bare):
        depth = max(0, depth + (1 if match[0] in "[{" else -1))
        if depth > _MOST_DEPTH:
            raise TomlError(
                f"{path}: line {_line(bare, match.start())}: not TOML that is read here: arrays "
                f"or tables more than {_MOST_DEPTH} deep"
            )
    tables = list(_TABLE.finditer(bare))
    if len(tables) > _MOST_TABLES:
        raise TomlError(
            f"{path}: line {_line(bare, tables[_MOST_TABLES].start())}: more than "
            f"{_MOST_TABLES:,} tables"
        )


def _line(text, position):
    return text.count("\n", 0, position) + 1
