# SPDX-License-Identifier: BSD-2-Clause
"""The rules of the tree: who may import whom, which packages are pure Python, how large folders and
methods may grow."""

import ast
import re
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: Top folder -> the others that it may import.
MAY_IMPORT = {
    "gateware": (),
    "boards": ("gateware",),
    "tools": ("gateware", "boards"),
    "firmware": ("gateware", "boards", "tools"),
}
#: What imports no Amaranth, not even by way of others.
PURE = re.compile(
    r"gateware/isa/.*|gateware/cores/\w+/((isa|params|software|operands|storage|image\w*)\.py|"
    r"(asm|model|image|exchange)/.*)"
)
MOST_FILES, MOST_STATEMENTS = 20, 110
#: Stages of the compiler that every core's back end has (docs/how/compiler.md).
STAGES = ("support", "legalise", "arithmetic", "schedule", "codegen", "cost", "reference")


class House:
    """A tree of sources. Imports inside functions count as those at the top do; what is found by
    its name (cores, boards, commands) does not. Imports for types alone (``if TYPE_CHECKING:``) are
    among ``imports`` and not among ``runs``.

    Attributes
    ----------
    trees : path below the root -> syntax tree, of every module
    imports : path -> paths of modules that it imports; ``outside``: path -> names of other packages
    runs : path -> paths of modules that it imports when it runs
    """

    def __init__(self, root):
        self.root = root
        self.trees = {
            path.relative_to(root).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
            for top in MAY_IMPORT
            for path in sorted((root / top).rglob("*.py"))
        }
        self.imports, self.runs, self.outside = {}, {}, {}
        for path in self.trees:
            names = list(self._names(path))
            self.imports[path] = self._modules(path, names)
            self.runs[path] = self._modules(path, self._names(path, types=False))
            self.outside[path] = {
                name.split(".")[0] for name in names if not name.startswith("quintet.")
            }

    def _modules(self, path, names):
        return {found for name in names if (found := self._module(name)) and found != path}

    def _names(self, path, types=True):
        package = ["quintet", *Path(path).parent.parts]
        typing = set() if types else _for_types(self.trees[path])
        for node in ast.walk(self.trees[path]):
            if node in typing:
                continue
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = package[: len(package) - node.level + 1] if node.level else []
                module = ".".join([*base, *filter(None, [node.module])])
                for alias in node.names:
                    inner = f"{module}.{alias.name}"
                    yield inner if self._module(inner) else module

    def _module(self, name):
        place = "/".join(name.split(".")[1:])
        return next(
            (path for path in (f"{place}.py", f"{place}/__init__.py") if path in self.trees), None
        )

    @cached_property
    def files(self):
        return [
            path.relative_to(self.root)
            for top in MAY_IMPORT
            for path in (self.root / top).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        ]


def _for_types(tree):
    """Imports of a module below ``if TYPE_CHECKING:``."""
    return {
        part
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for part in node.body
    }


def direction(house):
    """A top folder imports those below it."""
    for path, imported in house.imports.items():
        top = path.split("/")[0]
        yield from (
            f"{path} imports {other}"
            for other in imported
            if other.split("/")[0] not in (top, *MAY_IMPORT[top])
        )


def cores_apart(house):
    """No core imports another."""
    for path, imported in house.imports.items():
        core = re.match(r"gateware/cores/\w+/", path)
        yield from (
            f"{path} imports {other}"
            for other in imported
            if core and re.match(r"gateware/cores/\w+/", other) and not other.startswith(core[0])
        )


def pure(house):
    """Tables, parameters, assemblers and models need no Amaranth: neither they nor what they
    import."""
    for path in filter(PURE.fullmatch, house.trees):
        reached, todo = {}, [(path, path)]
        while todo:
            module, way = todo.pop()
            if module in reached:
                continue
            reached[module] = way
            if "amaranth" in house.outside[module]:
                yield f"{way} imports amaranth"
            # Importing a module runs its packages first.
            packages = {
                f"{folder.as_posix()}/__init__.py" for folder in Path(module).parents
            } & house.trees.keys()
            todo += [(other, f"{way} > {other}") for other in house.runs[module] | packages]


def no_circle(house):
    """No module imports itself by way of others. Modules that nothing unsettled imports, or that
    import none, are taken away in turn."""
    left = {path: set(imported) for path, imported in house.runs.items()}
    while True:
        used = set().union(*left.values()) if left else set()
        settled = {path for path, imported in left.items() if not imported or path not in used}
        if not settled:
            break
        left = {path: imported - settled for path, imported in left.items() if path not in settled}
    yield from (f"{path} and {', '.join(sorted(imported))}" for path, imported in left.items())


def small_folders(house):
    folders = [path.parent for path in house.files if path.parts[0] in ("gateware", "tools")]
    yield from (
        f"{folder.as_posix()} has {folders.count(folder)} files"
        for folder in sorted(set(folders))
        if folders.count(folder) > MOST_FILES
    )


def back_ends_have_every_stage(house):
    """A stage is a file or a package of its name."""
    back_ends = re.compile(r"(tools/compiler/backends/\w+)/(\w+)(\.py|/__init__\.py)")
    found = [match.groups() for path in house.trees if (match := back_ends.fullmatch(path))]
    for back_end in sorted({folder for folder, *_ in found}):
        there = {stage for folder, stage, _ in found if folder == back_end}
        yield from (f"{back_end} has no {stage}" for stage in STAGES if stage not in there)


def short_elaborate(house):
    """Statements are counted, not lines, of which a formatter makes as many as it likes."""
    for path, tree in sorted(house.trees.items()):
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == "elaborate":
                statements = sum(isinstance(part, ast.stmt) for part in ast.walk(node)) - 1
                if statements > MOST_STATEMENTS:
                    yield (
                        f"{path}: elaborate has {statements} statements, more than "
                        f"{MOST_STATEMENTS}"
                    )


def licensed(house):
    for path in [
        *house.files,
        *(path.relative_to(house.root) for path in (house.root / "tests").rglob("*.py")),
    ]:
        if path.suffix in (".py", ".v", ".cpp", ".hpp"):
            with open(house.root / path, encoding="utf-8") as file:
                first = file.readline()
            if not re.fullmatch(r"(#|//) SPDX-License-Identifier: BSD-2-Clause\n?", first):
                yield f"{path.as_posix()} begins with {first.strip()!r}"


def packages_say_what_they_are(house):
    for folder in sorted({Path(path).parent.as_posix() for path in house.trees}):
        init = house.trees.get(f"{folder}/__init__.py")
        if init is None or not ast.get_docstring(init):
            yield f"{folder}/__init__.py has no docstring"


def children_end_with_us(house):
    """Processes are started through gateware/processes.py, which ends them with their parent."""
    bare = ("run", "Popen", "call", "check_call", "check_output", "getoutput")
    for path, tree in house.trees.items():
        if path == "gateware/processes.py":
            continue
        for node in ast.walk(tree):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.ImportFrom) and node.module == "subprocess"
                else [node.attr]
                if isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "subprocess"
                else []
            )
            yield from (
                f"{path}: subprocess.{name}, expected run_child of gateware/processes.py"
                for name in names
                if name in bare
            )


def typed(house):
    """Public functions and methods say the types of their arguments and results."""
    for path, tree in house.trees.items():
        yield from (f"{path}: {what}" for what in _untyped(tree.body, ""))


def _untyped(body, inside):
    for node in body:
        if isinstance(node, ast.ClassDef):
            if not node.name.startswith("_"):
                yield from _untyped(node.body, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("_") and node.name != "__init__":
                continue
            given = node.args
            for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs):
                if arg.annotation is None and arg.arg not in ("self", "cls"):
                    yield f"{inside}{node.name}: {arg.arg} has no type"
            if node.returns is None and node.name != "__init__":
                yield f"{inside}{node.name}: its result has no type"


#: Words of this project alone, for which the field has names of its own.
HOUSE_WORDS = frozenset(
    "room rooms verdict verdicts barred homes twin twins told rings owed paid face faces apart "
    "joined pace paces reach".split()
)
#: Further words of the compiler, which have other meanings elsewhere: a machine of microcode is a
#: state machine.
COMPILER_WORDS = frozenset("piece pieces machine machines".split())


def field_words(house):
    """Modules, classes, functions and parameters are called by the field's words."""
    for path, tree in house.trees.items():
        names = [Path(path).stem]
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.append(node.name)
            elif isinstance(node, ast.arg):
                names.append(node.arg)
        house_words = HOUSE_WORDS
        if path.startswith("tools/compiler/"):
            house_words = HOUSE_WORDS | COMPILER_WORDS
        for name in names:
            words = {word.lower() for word in re.findall("[A-Z]?[a-z]+|[A-Z]+", name)}
            yield from (
                f"{path}: {name}, expected the field's word for {word}"
                for word in words & house_words
            )


RULES = (
    direction,
    typed,
    field_words,
    children_end_with_us,
    cores_apart,
    pure,
    no_circle,
    small_folders,
    back_ends_have_every_stage,
    short_elaborate,
    licensed,
    packages_say_what_they_are,
)


@pytest.fixture(scope="module")
def house():
    return House(ROOT)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_tree_keeps(rule, house):
    found = list(rule(house))
    assert not found, "\n".join(found)


_HEAD = '# SPDX-License-Identifier: BSD-2-Clause\n"""What it is."""\n'


@pytest.mark.parametrize(
    "rule, files, found",
    [
        (
            direction,
            {"gateware/a.py": "def f():\n    from ..tools import b\n", "tools/b.py": ""},
            "gateware/a.py imports tools/b.py",
        ),
        (
            direction,
            {
                "boards/a.py": "import quintet.tools.b",
                "tools/b.py": "from ..gateware import c",
                "gateware/c.py": "",
            },
            "boards/a.py imports tools/b.py",
        ),
        (
            field_words,
            {"tools/a.py": "def openRoom(core):\n    pass\n"},
            "tools/a.py: openRoom, expected the field's word for room",
        ),
        (
            field_words,
            {"gateware/a.py": "def f(told_twice=0):\n    pass\n"},
            "gateware/a.py: told_twice, expected the field's word for told",
        ),
        (
            field_words,
            {"tools/compiler/a.py": "class Pieces:\n    pass\n"},
            "tools/compiler/a.py: Pieces, expected the field's word for pieces",
        ),
        (
            typed,
            {"tools/a.py": "class A:\n    def f(self, x: int):\n        pass\n"},
            "tools/a.py: A.f: its result has no type",
        ),
        (
            typed,
            {"tools/a.py": "def f(x, *, y: int = 3) -> int:\n    def inner(z):\n        pass\n"},
            "tools/a.py: f: x has no type",
        ),
        (
            children_end_with_us,
            {"tools/a.py": "import subprocess\ndef f():\n    subprocess.run([])\n"},
            "tools/a.py: subprocess.run, expected run_child of gateware/processes.py",
        ),
        (
            children_end_with_us,
            {"boards/a.py": "from subprocess import PIPE, Popen\n"},
            "boards/a.py: subprocess.Popen, expected run_child of gateware/processes.py",
        ),
        (
            cores_apart,
            {"gateware/cores/a/x.py": "from ..b.y import z", "gateware/cores/b/y.py": ""},
            "gateware/cores/a/x.py imports gateware/cores/b/y.py",
        ),
        (
            pure,
            {
                "gateware/isa/a.py": "from ..parts import b",
                "gateware/parts/b.py": "",
                "gateware/parts/__init__.py": "from amaranth.lib import wiring",
            },
            "gateware/isa/a.py > gateware/parts/b.py > gateware/parts/__init__.py imports amaranth",
        ),
        (
            pure,
            {"gateware/cores/a/operands.py": "import amaranth"},
            "gateware/cores/a/operands.py imports amaranth",
        ),
        (
            no_circle,
            {
                "tools/a.py": "from . import b",
                "tools/b.py": "def f():\n    from .a import g\n",
                "tools/c.py": "from . import a",
                "tools/d.py": "if TYPE_CHECKING:\n    from . import e\n",
                "tools/e.py": "from . import d",
            },
            "tools/a.py and tools/b.py",
        ),
        (
            small_folders,
            {f"gateware/bus/m{i}.py": "" for i in range(21)},
            "gateware/bus has 21 files",
        ),
        (
            back_ends_have_every_stage,
            {f"tools/compiler/backends/a/{stage}.py": "" for stage in STAGES[1:]},
            "tools/compiler/backends/a has no support",
        ),
        (small_folders, {f"tools/m{i}.py": "" for i in range(21)}, "tools has 21 files"),
        (
            short_elaborate,
            {"gateware/a.py": "def elaborate(self):" + "\n    pass" * 111},
            "gateware/a.py: elaborate has 111 statements, more than 110",
        ),
        (licensed, {"tests/a.py": None, "boards/b.hpp": None}, "tests/a.py begins with 'pass'"),
        (licensed, {"boards/b.hpp": None}, "boards/b.hpp begins with 'pass'"),
        (packages_say_what_they_are, {"tools/a/b.py": ""}, "tools/a/__init__.py has no docstring"),
    ],
)
def test_a_breach_is_found(rule, files, found, tmp_path):
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("pass\n" if text is None else _HEAD + text)
    assert found in list(rule(House(tmp_path)))
    assert not list(short_elaborate(House(tmp_path / "nothing")))


def test_no_line_is_excused_from_its_length():
    """Lines of other languages in strings are wrapped by their own language's means."""
    excuse = "noqa: " + "E501"
    for folder in ("boards", "firmware", "gateware", "tests", "tools"):
        for path in (ROOT / folder).rglob("*.py"):
            assert excuse not in path.read_text(encoding="utf-8"), path
