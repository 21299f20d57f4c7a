# SPDX-License-Identifier: BSD-2-Clause
"""The oldest and newest supported Python: what declares them agrees, every file has the grammar of
the oldest, and other interpreters of this machine compile every file."""

import ast
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: Supported versions; both workflows try all of them.
VERSIONS = ("3.10", "3.11", "3.12", "3.13")
FILES = [
    path
    for folder in ("boards", "examples", "firmware", "gateware", "tests", "tools", "typings")
    for path in sorted((ROOT / folder).rglob("*.py*"))
    if path.suffix in (".py", ".pyi")
]
#: Names of the standard library that came after the oldest version, by module.
LATER = {
    "asyncio": {"Runner", "TaskGroup", "timeout"},
    "contextlib": {"chdir"},
    "copy": {"replace"},
    "datetime": {"UTC"},
    "enum": {"EnumCheck", "FlagBoundary", "ReprEnum", "StrEnum", "member", "nonmember", "verify"},
    "hashlib": {"file_digest"},
    "itertools": {"batched"},
    "math": {"cbrt", "exp2", "fma", "sumprod"},
    "operator": {"call"},
    "re": {"NOFLAG"},
    "typing": {
        "LiteralString",
        "Never",
        "NotRequired",
        "Required",
        "Self",
        "TypeVarTuple",
        "Unpack",
        "assert_never",
        "assert_type",
        "dataclass_transform",
        "override",
        "reveal_type",
    },
    "warnings": {"deprecated"},
}
_LATER_MODULES = {"tomllib", "wsgiref.types"}
_LATER_BUILTINS = {"BaseExceptionGroup", "ExceptionGroup", "PythonFinalizationError"}
_COMPILE = """\
import sys, warnings
warnings.simplefilter("error")
for path in sys.stdin.read().splitlines():
    compile(open(path, encoding="utf-8").read(), path, "exec", dont_inherit=True)
"""


def later_names(source):
    """Lines of ``source`` with names that the oldest version lacks; other grammar than its own is a
    syntax error."""
    # A backport stands in where the oldest version lacks it.
    modules = _LATER_MODULES - ({"tomllib"} if "import tomli as tomllib" in source else set())
    for node in ast.walk(ast.parse(source, feature_version=(3, 10))):
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = {alias.name for alias in node.names} & LATER.get(node.module or "", set())
            names |= {node.module} & modules
        elif isinstance(node, ast.Import):
            names = {alias.name for alias in node.names} & modules
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names = {node.attr} & LATER.get(node.value.id, set())
        elif isinstance(node, ast.Name):
            names = {node.id} & _LATER_BUILTINS
        else:
            continue
        for name in sorted(names):
            yield f"{node.lineno}: {name}"


def test_every_file_is_for_the_oldest_version():
    found = {
        str(path.relative_to(ROOT)): list(later_names(path.read_text(encoding="utf-8")))
        for path in FILES
    }
    assert len(found) > 1000
    assert not {path: lines for path, lines in found.items() if lines}


def test_later_grammar_and_names_are_seen():
    for source in ("try:\n    pass\nexcept* OSError:\n    pass\n", "type X = int\n"):
        with pytest.raises(SyntaxError):
            list(later_names(source))
    source = "import tomllib\nfrom enum import Enum, StrEnum\nmath.cbrt(1)\nraise ExceptionGroup\n"
    assert sorted(later_names(source)) == [
        "1: tomllib",
        "2: StrEnum",
        "3: cbrt",
        "4: ExceptionGroup",
    ]


def interpreter(version):
    """Path of an interpreter of ``version``, on the path or one that pyenv installed; ``None``
    without one."""
    kept = Path.home() / ".pyenv" / "versions"
    for program in (shutil.which(f"python{version}"), *kept.glob(f"{version}.*/bin/python")):
        if program and not subprocess.run([program, "-V"], capture_output=True).returncode:
            return program
    return None


@pytest.mark.parametrize("version", VERSIONS)
def test_an_interpreter_compiles_every_file(version):
    """Warnings of the compiler included, such as for an escape that means nothing."""
    program = interpreter(version)
    if program is None:
        pytest.skip(f"there is no Python {version} on this machine")
    files = "\n".join(str(path) for path in FILES if path.suffix == ".py")
    done = subprocess.run([program, "-c", _COMPILE], input=files, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_declarations_agree():
    project = (ROOT / "pyproject.toml").read_text()
    oldest = VERSIONS[0]
    assert f'requires-python = ">={oldest}"' in project
    assert f'target-version = "py{oldest.replace(".", "")}"' in project
    assert f'python_version = "{oldest}"' in project
    every = ", ".join(f'"{version}"' for version in VERSIONS)
    for workflow in (".github/workflows/ci.yml", ".gitlab-ci.yml"):
        text = (ROOT / workflow).read_text()
        lists = re.findall(r"\[((?:\"3\.\d+\"(?:, )?)+)\]", text)
        assert lists and set(lists) == {every}, workflow
