# SPDX-License-Identifier: BSD-2-Clause
"""The bounded TOML reader: what it refuses before it parses, and what it takes."""

import pytest

from quintet.tools.toml_files import TomlError, read_toml


@pytest.mark.parametrize(
    "text, message",
    [
        ("x = 1\n" + ".".join("a" * 60_000) + " = 1", "line 2: a key of more than 32 parts"),
        (" . ".join(["a-1"] * 40) + " = 1", "line 1: a key of more than 32 parts"),
        ("[[save]]\nat = 1\n" * 20_000, "line 4001: more than 2,000 tables"),
        ("x = 1\ny = " + "[" * 5000, "line 2: not TOML that is read here: .* 32 deep"),
        ("x = " + "{a=" * 33, "line 1: not TOML that is read here: .* 32 deep"),
        ("x = [", "not TOML: "),
        ("x = 1\nx = 2", "not TOML: "),
        ("x = " + "9" * 5000, "not TOML: .*digits"),
        ("\xff", r"not UTF-8 text \(byte 0\); expected a TOML file"),
    ],
)
def test_refused(tmp_path, text, message):
    path = tmp_path / "x.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(TomlError, match=f"x.toml: {message}"):
        read_toml(path)


@pytest.mark.parametrize(
    "text, values",
    [
        ("\ufeffx = 1\r\ny = 2\r\n", {"x": 1, "y": 2}),
        (f'x = "{"a." * 50}"', {"x": "a." * 50}),
        (f"x = 1 # {'[' * 50}", {"x": 1}),
        (f"x = '''\n{'[' * 50}\n'''", {"x": "[" * 50 + "\n"}),
        ('x = """\\"{{{\n"""', {"x": '"{{{\n'}),
        (f"x = {'[' * 32}{']' * 32}", None),
        (".".join(["a"] * 32) + " = 1", None),
        ("[[t]]\n" * 2000, {"t": [{}] * 2000}),
    ],
)
def test_taken(tmp_path, text, values):
    path = tmp_path / "x.toml"
    path.write_bytes(text.encode())
    assert values is None or read_toml(path) == values
    read_toml(path)
