# SPDX-License-Identifier: BSD-2-Clause
"""References in docstrings and comments lead somewhere: Sphinx roles, as of modules and classes,
and names of Python files and pages. Sources are parsed, not imported; a name that comes from
another package is not looked up."""

import ast
import builtins
import io
import re
import subprocess
import tokenize
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROLE = re.compile(r":(?:mod|class|func|meth|attr|data|exc|obj):`~?([^`]+)`")
FILE = re.compile(r"(?<![\w/.*{}<>$-])(?:[\w*.-]+/)*[\w*-][\w*.-]*\.(?:py|md)(?![\w/*{}-]|\.\w)")
#: Files that a user writes or another project has: no part of the tree.
OTHERS = frozenset({"icebox_vlog.py", "sitecustomize.py", "__main__.py"})

#: Packages whose names are taken as they stand, even in a module that does not import them.
EXTERNAL = frozenset({"amaranth"})


class Sources:
    """Python files by their paths below a root, and the names that each defines.

    Parameters
    ----------
    root : folder of the tree
    paths : every file of the tree, relative to the root, with slashes
    """

    def __init__(self, root, paths):
        self.paths = sorted(paths)
        self.texts = {
            path: (root / path).read_text(encoding="utf-8")
            for path in self.paths
            if path.endswith(".py")
        }
        self.trees = {path: ast.parse(text) for path, text in self.texts.items()}
        self._scopes = {}

    @cached_property
    def ends(self):
        """Every path and every end of one, as ``parts/queues.py``."""
        return {
            "/".join(parts[k:])
            for parts in (path.split("/") for path in self.paths)
            for k in range(len(parts))
        }

    def module(self, names):
        """Path of the module with these names below the root, ``None`` if there is none."""
        place = "/".join(names)
        found = (f"{place}.py", f"{place}/__init__.py" if place else "__init__.py")
        return next((path for path in found if path in self.trees), None)

    def package(self, names):
        start = "".join(f"{name}/" for name in names)
        return any(path.startswith(start) for path in self.trees)

    def scope(self, path):
        """Name -> the statement that gives it, of a module's top level."""
        if path not in self._scopes:
            self._scopes[path] = scope_of(self.trees[path].body)
        return self._scopes[path]

    def reference(self, names, package):
        """True if dotted names lead to a module of the tree, or to a name within one."""
        for count in range(len(names), -1, -1):
            path = self.module([*package, *names[:count]])
            if path and (count == len(names) or self.member(path, names[count:])):
                return True
        return bool(names) and self.package([*package, *names])

    def member(self, path, names):
        """True if a module has a name, and what the name stands for the names behind it."""
        node = self.scope(path).get(names[0])
        if node is None:
            return False
        if len(names) == 1:
            return True
        if isinstance(node, ast.ClassDef):
            return self.in_class(path, node, names[1])
        if isinstance(node, ast.ImportFrom):
            found = self.imported(path, node, names[0])
            return found is None or self.reference([*found, *names[1:]], [])
        return True  # a value: what it has is known when it runs

    def imported(self, path, node, name):
        """Names from the root of what an import brings, ``None`` if it is of another package."""
        original = next(a.name for a in node.names if (a.asname or a.name) == name)
        inner = node.module.split(".") if node.module else []
        if node.level:
            package = path.split("/")[:-1]
            return [*package[: len(package) - node.level + 1], *inner, original]
        if inner[0] in ("quintet", "tests"):
            return [*inner[inner[0] == "quintet" :], original]
        return None

    def definition(self, path, name, seen=()):
        """``(path, class)`` that a name of a module stands for; ``None`` if of another package."""
        node = self.scope(path).get(name)
        if isinstance(node, ast.ClassDef):
            return path, node
        if isinstance(node, ast.ImportFrom) and (path, name) not in seen:
            names = self.imported(path, node, name)
            module = names and self.module(names[:-1])
            if module:
                return self.definition(module, names[-1], (*seen, (path, name)))
        return None

    def in_class(self, path, node, name):
        """True if a class or a base has a member; bases of other packages may have any."""
        if name in members(node):
            return True
        for base in node.bases:
            found = self.definition(path, base.id) if isinstance(base, ast.Name) else None
            if found is None:
                if not (isinstance(base, ast.Name) and base.id in ("object", "Exception")):
                    return True
            elif self.in_class(*found, name):
                return True
        return False


def scope_of(body):
    """Name -> statement of a list of statements, with those inside conditions and ``with``."""
    names = {}
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            names[node.name] = node
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                names[alias.asname or alias.name.split(".")[0]] = node
        else:
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    names.setdefault(part.id, node)
                elif isinstance(part, (ast.ClassDef, ast.FunctionDef, ast.Import, ast.ImportFrom)):
                    for name, inner in scope_of([part]).items():
                        names.setdefault(name, inner)
    return names


def members(node):
    """Names of a class: of its body, attributes that its methods set, and ports of a component,
    which are keys of a dictionary."""
    names = set(scope_of(node.body))
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
            names.add(part.attr)
        elif isinstance(part, ast.Dict):
            names |= {key.value for key in part.keys if isinstance(key, ast.Constant)}
    return names


def prose(text, tree):
    """``(line, text)`` of each docstring and each run of comments, line breaks kept."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                yield node.lineno, node.value.value
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def local(sources, path, names):
    """A name without a dot before it: of the module, of any class in it, of a function's arguments,
    or a whole dotted one of the tree or of another package."""
    if names[0] in ("quintet", "tests"):
        return sources.reference(names[names[0] == "quintet" :], [])
    if names[0] in EXTERNAL or sources.member(path, names) or hasattr(builtins, names[0]):
        return True
    tree = sources.trees[path]
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    if len(names) == 1:
        return any(sources.in_class(path, node, names[0]) for node in classes)
    return any(node.name == names[0] and sources.in_class(path, node, names[1]) for node in classes)


def unresolved_roles(sources):
    """Roles whose target is neither a module nor a name."""
    for path, tree in sources.trees.items():
        package = path.split("/")[:-1]
        for line, text in prose(sources.texts[path], tree):
            for match in ROLE.finditer(text):
                target = re.sub(r"\s+", "", match[1])
                level = len(target) - len(target.lstrip("."))
                names = target.lstrip(".").rstrip("()").split(".")
                if level:
                    found = sources.reference(names, package[: len(package) - level + 1])
                else:
                    found = local(sources, path, names)
                if not found:
                    yield f"{path}:{line + text[: match.start()].count(chr(10))}: {match[1]}"


def missing_files(sources):
    """Python files and pages that are named and are not in the tree."""
    for path, tree in sources.trees.items():
        for line, text in prose(sources.texts[path], tree):
            for match in FILE.finditer(text):
                name = re.sub(r"^(\.\.?/)+", "", match[0])
                if name in OTHERS or name in sources.ends:
                    continue
                if "*" in name and any(fnmatch(each, name) for each in sources.ends):
                    continue
                yield f"{path}:{line + text[: match.start()].count(chr(10))}: {match[0]}"


@pytest.fixture(scope="module")
def sources():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    return Sources(ROOT, [path for path in listed.stdout.decode().split("\0") if path])


@pytest.mark.parametrize("rule", [unresolved_roles, missing_files], ids=lambda r: r.__name__)
def test_references_lead_somewhere(rule, sources):
    found = list(rule(sources))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "rule, files, found",
    [
        (
            unresolved_roles,
            {"tools/a.py": '"""As :mod:`.gone`."""'},
            "tools/a.py:1: .gone",
        ),
        (
            unresolved_roles,
            {"tools/a.py": "x = 1\n#: As\n#: :class:`~.b.Gone` says.\n", "tools/b.py": "y = 1"},
            "tools/a.py:3: .b.Gone",
        ),
        (
            unresolved_roles,
            {"tools/x/a.py": '"""\n:func:`.b.f`"""', "tools/b.py": "def f(): pass"},
            "tools/x/a.py:2: .b.f",
        ),
        (
            unresolved_roles,
            {"tools/a.py": '"""See :func:`quintet.tools.b.g`."""', "tools/b.py": "def f(): pass"},
            "tools/a.py:1: quintet.tools.b.g",
        ),
        (
            unresolved_roles,
            {"tools/a.py": 'class A:\n    """:meth:`A.g`"""\n    def f(self): self.h = 1\n'},
            "tools/a.py:2: A.g",
        ),
        (
            missing_files,
            {"tools/a.py": "#: As in ./docs/how/gone.md.\n"},
            "tools/a.py:1: ./docs/how/gone.md",
        ),
        (
            missing_files,
            {"tools/a.py": '"""One\n\nSee ``parts/gone.py``."""'},
            "tools/a.py:3: parts/gone.py",
        ),
    ],
)
def test_a_lost_reference_is_found(rule, files, found, tmp_path):
    assert list(rule(tree_of(tmp_path, files))) == [found]


def test_good_references_are_taken(tmp_path):
    files = {
        "tools/a/b.py": "from ..c import K\n"
        '"""``a/b.py``, ``*/c.py``, :class:`K`, :attr:`K.x`, :meth:`K.made`, :mod:`..c`,'
        ' :class:`~..c.K`, :class:`quintet.tools.c.K`, :exc:`ValueError`."""\n',
        "tools/a/__init__.py": "",
        "tools/c.py": "class Base:\n    x = 1\nclass K(Base):\n    def f(self): self.made = 1\n",
    }
    tree = tree_of(tmp_path, files)
    assert not list(unresolved_roles(tree)) and not list(missing_files(tree))


def tree_of(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Sources(root, list(files))
