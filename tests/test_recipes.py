# SPDX-License-Identifier: BSD-2-Clause
"""Recipes of ``CONTRIBUTING.md``, each followed in a copy of the tree: its changes apply, its
commands succeed, and what it adds is there."""

import json
import re
from pathlib import Path

import pytest

from tests.support.recipes import Copy, RecipeError, blocks, changed, changes, headings, recipe

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()


@pytest.fixture
def followed(tmp_path):
    """Gives a copy of the tree in which a recipe was followed."""

    def follow(title):
        copy = Copy(tmp_path)
        place = copy.run("python -c 'import quintet.tools; print(quintet.tools.__file__)'")
        assert place.startswith(str(tmp_path))
        copy.follow(recipe(TEXT, title))
        return copy

    return follow


def test_a_register_is_read_from_gateware_and_model(followed):
    copy = followed("Add a register")
    assert "`cap_pi`" in (copy.root / "docs" / "reference" / "opu.md").read_text()
    copy.run("quintet csr ulx3s-85f opu -o map.csv")
    assert re.search(r"cap_pi", (copy.root / "map.csv").read_text())
    said = json.loads(copy.run("quintet run example:opu/small/small.toml --on model --json"))
    assert said["status"] == "done"
    copy.python("""\
        import numpy as np
        from quintet.boards.virtual.bench import CoreBench
        from quintet.gateware.cores import open_core

        package = open_core("opu")
        for preset in ("sim", "sim-small"):
            params = package.params.SPACE.resolve(preset)
            registers = {"program_address": 0, "program_length": 64}
            memory = np.zeros(1 << 16, np.uint8)
            want = package.model.Model(params, memory.copy()).run(registers)
            with CoreBench(package, preset=preset, beat_bytes=4) as bench:
                bench.load(memory)
                found = bench.run(registers)
            assert found.values["cap_pi"] == want.values["cap_pi"] == params["pi"], preset
        """)


def test_an_instruction_runs_in_gateware_and_model(followed):
    copy = followed("Add an instruction")
    (copy.root / "sub.s").write_text("ld 0\nsub 1\nst 2\nend\n")
    assert "sub" in (copy.root / "mycore" / "src" / "mycore" / "isa.py").read_text()
    copy.python("""\
        import sys
        import numpy as np

        sys.path.insert(0, "mycore/src")
        from quintet.gateware.cores import CorePackage
        from quintet.gateware.isa.asm import assemble

        package = CorePackage("mycore", "mycore")
        code = np.frombuffer(assemble(package.software.SOFTWARE, "sub.s").data, np.uint8)
        memory = np.zeros(4096, np.uint8)
        memory[: code.size] = code
        memory[512:516] = np.array([30, 12], "<i2").view(np.uint8)
        registers = {"program_address": 0, "program_length": code.size, "data": 512}
        outcome = package.model.Model(package.params.SPACE.resolve("sim"), memory).run(registers)
        assert outcome.fault is None and memory[516] == 18, (outcome, memory[516])
        """)


def test_an_operator_compiles_and_has_the_values_of_onnx(followed):
    copy = followed("Add an operator")
    copy.python("""\
        import numpy as np
        import onnx
        from onnx.reference import ReferenceEvaluator
        from quintet import compile_model

        value = onnx.helper.make_tensor_value_info
        kind = onnx.TensorProto.FLOAT
        node = onnx.helper.make_node(
            "Binarizer", ["x"], ["y"], domain="ai.onnx.ml", threshold=0.25
        )
        graph = onnx.helper.make_graph(
            [node], "g", [value("x", kind, [1, 16])], [value("y", kind, [1, 16])]
        )
        opsets = [onnx.helper.make_opsetid(*pair) for pair in (("", 17), ("ai.onnx.ml", 3))]
        model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9)
        onnx.save(model, "binarizer.onnx")
        # None so near to the threshold that rounding could decide.
        inputs = np.random.default_rng(1).choice([-1, -0.5, 0, 0.5, 1], (64, 16)).astype("f4")
        net = compile_model("binarizer.onnx", "model:pim", calibration=inputs, host_steps=True)
        with net.open() as session:
            found = session(inputs)
        evaluator = ReferenceEvaluator(model)
        want = np.concatenate([evaluator.run(None, {"x": x[None]})[0] for x in inputs])
        assert (found == want).all() and 0 < want.sum() < want.size, np.abs(found - want).max()
        """)


def test_a_preset_is_offered_for_its_boards(followed):
    copy = followed("Add a preset")
    assert "25f-half" in copy.run("quintet cores opu")
    assert "25f-half" in copy.run("quintet boards ulx3s-25f")
    for page in ("README.md", "docs/reference/opu.md"):
        assert "25f-half" in (copy.root / page).read_text(), page


def test_a_board_is_in_every_table(followed):
    copy = followed("Add a board")
    assert "up5k" in copy.run("quintet boards myboard")
    for page in ("README.md", "docs/boards.md", "docs/guides/bring-up.md"):
        assert "| `myboard` |" in (copy.root / page).read_text(), page


def test_a_page_is_on_the_site(followed):
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    copy = followed("Add a page")
    copy.run("NO_MKDOCS_2_WARNING=1 python -m mkdocs build --strict --site-dir site")
    page = copy.root / "site" / "guides" / "own-memory" / "index.html"
    assert "four kinds" in page.read_text()


def test_every_recipe_is_followed():
    assert headings(TEXT) == [
        "Add a register",
        "Add an instruction",
        "Add an operator",
        "Add a preset",
        "Add a board",
        "Add a page",
    ]
    source = Path(__file__).read_text()
    for title in headings(TEXT):
        assert f'followed("{title}")' in source and blocks(recipe(TEXT, title)), title


def test_files_that_recipes_name_exist():
    """But those that a recipe makes, and names with a pattern in them."""
    section = re.search(r"^## Recipes\n(.*?)^## ", TEXT, re.S | re.M)[1]
    section = re.sub(r"^ *```.*?^ *```", "", section, flags=re.S | re.M)
    named = re.findall(r"`((?:boards|docs|gateware|tests|tools)/[\w./]+)`", section)
    assert len(named) > 15
    assert not [name for name in named if not (ROOT / name).exists()]


def test_changes_of_a_block():
    block = ["a.py", " x = 1", "+y = 2", "-z = 3", "+z = 4", "b.py", "+new"]
    assert changes(block) == [
        ("a.py", ["x = 1"], ["x = 1", "y = 2"]),
        ("a.py", ["z = 3"], ["z = 4"]),
        ("b.py", [], ["new"]),
    ]


def test_lines_that_are_not_there_are_seen():
    assert changed("x = 1\nz = 3\n", ["z = 3"], ["z = 4"], "a.py") == "x = 1\nz = 4\n"
    with pytest.raises(RecipeError, match="a.py: expected these lines once, found 0 times:\nz = 3"):
        changed("xz = 3\n", ["z = 3"], [], "a.py")
    with pytest.raises(RecipeError, match="found 2 times"):
        changed("z = 3\nz = 3\n", ["z = 3"], [], "a.py")
