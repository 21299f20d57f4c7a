# SPDX-License-Identifier: BSD-2-Clause
"""Input of `quintet report`: results of every kind are known, everything else is refused by
name, field and value."""

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.tools.errors import InputError
from quintet.tools.report.builds import build_page, matrix_page
from quintet.tools.report.networks import compare_page, infer_page, plan_page
from quintet.tools.report.reading import KINDS, read_result
from quintet.tools.report.runs import run_page
from quintet.tools.report.shapes import Map, check
from tests.tools.report.samples import SAMPLES, leaves, sample, stored

PAGES = {
    "run": run_page,
    "infer": infer_page,
    "plan": plan_page,
    "compare": compare_page,
    "build": build_page,
    "matrix": matrix_page,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_is_known_by_its_fields(kind, tmp_path):
    found = read_result(str(stored(tmp_path, sample(kind))))
    assert found.kind == kind and found.origin.endswith("result.json")


@pytest.mark.parametrize("kind, name", [("build", "report.json"), ("matrix", "matrix.json")])
def test_folders(kind, name, tmp_path):
    stored(tmp_path, sample(kind), name)
    assert read_result(str(tmp_path)).kind == kind


def test_standard_input(monkeypatch):
    class Given:
        buffer = io.BytesIO(json.dumps(sample("run")).encode())

    monkeypatch.setattr("sys.stdin", Given)
    assert read_result("-").kind == "run"


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "line 1, column 1: it ends there: the JSON is cut off"),
        ('{"isa": "opu", "counters": {"cyc', "the JSON is cut off"),
        ('{"isa": "opu",\n "status": }', "line 2, column 12: no JSON (Expecting value)"),
        ("[" * 100_000, "no JSON"),
        ("\xff\xfe", "is not a result"),
        (
            "[1, 2]",
            "is not a result that a report can show; expected the output of quintet run --json; "
            "quintet infer --json",
        ),
        ('{"a": 1}', "is not a result that a report can show"),
        (
            '{"error": "no board named x", "exit": 2}',
            "is the error of a command, no result: no board named x",
        ),
        ('{"cells": 3}', "field cells = 3: expected a list"),
    ],
)
def test_what_is_no_result(text, message, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(text if message != "is not a result" else '"\xff"')
    with pytest.raises(InputError) as caught:
        read_result(str(path))
    assert (
        message in str(caught.value)
        and str(caught.value).startswith(str(path))
        and "\n" not in str(caught.value)
    )


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "x").write_bytes(b"\xff\xfe{}")
    with pytest.raises(InputError, match=r"x: no JSON \('utf-8' codec"):
        read_result(str(tmp_path / "x"))


def test_places_that_hold_nothing(tmp_path):
    with pytest.raises(
        InputError, match=r"nothing.json cannot be read \(No such file or directory\)"
    ):
        read_result(str(tmp_path / "nothing.json"))
    with pytest.raises(
        InputError,
        match=(
            r"none of plan.toml, matrix.json, report.json lies in it; expected the folder of a "
            r"plan, a matrix or a build"
        ),
    ):
        read_result(str(tmp_path))


def test_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr("quintet.tools.report.reading.MOST_BYTES", 100)
    with pytest.raises(InputError, match=r"result.json has \d+ bytes, expected at most 100"):
        read_result(str(stored(tmp_path, sample("run"))))


def required(shape, value, path=()):
    """Paths to the fields of ``value`` that ``shape`` cannot do without."""
    if isinstance(shape, list):
        for number, one in enumerate(value):
            yield from required(shape[0], one, (*path, number))
    elif isinstance(shape, Map):
        for name, one in value.items():
            yield from required(shape.shape, one, (*path, name))
    elif isinstance(shape, dict):
        for name, inner in shape.items():
            plain = name.removesuffix("?")
            if value.get(plain) is None:
                continue
            if plain == name:
                yield (*path, plain)
            yield from required(inner, value[plain], (*path, plain))


def place(path):
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_field_is_named(kind, tmp_path):
    fields, shape, _ = KINDS[kind]
    whole = sample(kind)
    if kind == "matrix":
        whole["cells"] = list(whole["cells"].values())
    paths = [path for path in required(shape, whole) if path[-1] not in fields or len(path) > 1]
    assert paths
    for path in paths:
        data = json.loads(json.dumps(whole))
        inner = data
        for key in path[:-1]:
            inner = inner[key]
        del inner[path[-1]]
        with pytest.raises(InputError) as caught:
            read_result(str(stored(tmp_path, data)))
        assert f"field {place(path)} is missing; expected " in str(caught.value), path


@pytest.mark.parametrize(
    "kind, path, value, message",
    [
        (
            "run",
            ("counters", "cycles"),
            "many",
            "field counters.cycles = 'many': expected a number from 0",
        ),
        ("run", ("status",), 7, "field status = 7: expected text"),
        ("infer", ("layers", 1, "macs"), -1, "field layers[1].macs = -1: expected a number from 0"),
        ("infer", ("inputs",), 1.5, "field inputs = 1.5: expected a whole number from 0"),
        (
            "compare",
            ("cells", 0, "measured"),
            1,
            "field cells[0].measured = 1: expected true or false",
        ),
        (
            "compare",
            ("cells", 0, "snr"),
            float("nan"),
            "field cells[0].snr = nan: expected a number, or an infinity",
        ),
        ("build", ("clocks",), [], "field clocks = []: expected an object"),
        ("plan", ("params", "pi"), [1], "field params.pi = [1]: expected a plain value"),
    ],
)
def test_a_wrong_value_is_named(kind, path, value, message, tmp_path):
    data = sample(kind)
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    file = stored(tmp_path, data)
    with pytest.raises(InputError) as caught:
        read_result(str(file))
    assert str(caught.value) == f"{file}: {message}"


def test_a_comparison_without_the_float_networks_count_can_be_shown():
    data = sample("compare")
    data["correct"] = None
    check(data, KINDS["compare"][1], "it")
    assert PAGES["compare"](data).sections


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_what_is_accepted_can_be_shown(choice):
    """Whatever one changes in a result, it is refused by name or becomes a page."""
    kind = choice.draw(st.sampled_from(sorted(SAMPLES)))
    data = sample(kind)
    if kind == "matrix":
        data["cells"] = list(data["cells"].values())
    for _ in range(choice.draw(st.integers(1, 3))):
        path = choice.draw(st.sampled_from(list(leaves(data))))
        inner = data
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = choice.draw(
            st.sampled_from(
                [
                    0,
                    1,
                    3.5,
                    1e17,
                    -1,
                    None,
                    "",
                    "<b>&",
                    True,
                    [],
                    {},
                    float("inf"),
                    float("nan"),
                    [1],
                    {"a": 1},
                ]
            )
        )
    try:
        check(data, KINDS[kind][1], "it")
    except InputError as error:
        assert "expected" in str(error) and str(error).startswith("it: ")
        return
    page = PAGES[kind](data)
    assert "<b>" not in "".join(part for _, parts in page.sections for part in parts)
