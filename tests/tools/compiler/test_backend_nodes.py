# SPDX-License-Identifier: BSD-2-Clause
"""ONNX's own tests of its operators: right values or a refusal with a reason, nothing else."""

import warnings
from collections import Counter

import pytest

pytest.importorskip("onnx")

from quintet.tools.compiler.backends import backend_names  # noqa: E402
from quintet.tools.compiler.onnx_import import import_onnx  # noqa: E402
from quintet.tools.compiler.planning import Options, compile_graph  # noqa: E402
from quintet.tools.compiler.target_build import target_build  # noqa: E402
from quintet.tools.errors import InputError  # noqa: E402
from tests.tools.compiler.backend_nodes import attempt, node_tests  # noqa: E402

#: Of all tests, how many give the right values at least: 749 of 1,352 with onnx 1.23.
LEAST_EQUAL = 700
#: One in how many is tried by the short test.
SHARE = 8


@pytest.fixture(scope="module")
def tests():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return node_tests()


@pytest.fixture(autouse=True)
def uninferred(monkeypatch):
    """No shapes of refused nodes' results, for which a process is started each time."""
    monkeypatch.setattr(
        "quintet.tools.compiler.onnx_import.translate.inferred_shapes", lambda path, model: {}
    )


def tried(tests):
    """What became of each test: equal or refused, counted; anything else is an error."""
    seen, wrong = Counter(), []
    for test in tests:
        try:
            result = attempt(test)
        except Exception as error:
            raise AssertionError(test.name) from error
        kind, _, reason = result.partition(": ")
        seen[kind] += 1
        if kind == "wrong":
            wrong.append(f"{test.name}: {reason}")
        elif kind == "refused":
            assert reason.strip(), test.name
    assert not wrong, "\n".join(wrong)
    return seen


def test_a_share_of_the_operators(tests):
    seen = tried(tests[::SHARE])
    assert seen["equal"] >= 0.9 * LEAST_EQUAL / SHARE, dict(seen)


@pytest.mark.long
def test_every_operator(tests):
    seen = tried(tests)
    print(dict(seen))
    assert seen["equal"] >= LEAST_EQUAL, dict(seen)


def check_cores(tests):
    """Compile what can be read for every core: a program, or a refusal with a reason."""
    builds = [target_build(f"model:{isa}") for isa in backend_names()]
    compiled = 0
    for test in tests:
        try:
            graph = import_onnx(f"{test.name}.onnx", test.model.SerializeToString())
        except InputError:
            continue
        for build in builds:
            for host_steps in (False, True):
                try:
                    compile_graph(graph, build, options=Options(host_steps=host_steps, dry=True))
                    compiled += 1
                except InputError as error:
                    assert str(error).strip(), (test.name, build.isa)
                except Exception as error:
                    raise AssertionError((test.name, build.isa, host_steps)) from error
    assert compiled


@pytest.mark.filterwarnings("ignore")
def test_a_share_compiles_or_is_refused(tests):
    check_cores(tests[:: 4 * SHARE])


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_every_one_compiles_or_is_refused(tests):
    check_cores(tests)
