# SPDX-License-Identifier: BSD-2-Clause
"""The pages: what stands on them, and what the command says when it cannot make one."""

import json
import re
import sys

import pytest

pytest.importorskip("altair")
pytest.importorskip("vl_convert")

from quintet.tools.cli import main
from quintet.tools.errors import Exit, InputError
from quintet.tools.report import page as pages
from quintet.tools.report.builds import build_page, matrix_page
from quintet.tools.report.networks import compare_page, infer_page, plan_page
from quintet.tools.report.page import Page, Wrong, chart, facts, items, render, table, text
from quintet.tools.report.runs import run_page
from tests.tools.report.samples import SAMPLES, sample, stored


def words(page):
    """A page's headings and parts, without charts."""
    whole = " ".join(heading + " " + " ".join(parts) for heading, parts in page.sections)
    return re.sub(
        r"<[^>]+>", " ", re.sub(r'<script type="application/json">.*?</script>', "", whole)
    )


def charts(page):
    """Specifications of a page's charts."""
    return [
        json.loads(spec)
        for _, parts in page.sections
        for part in parts
        for spec in re.findall(r'<script type="application/json">(.*?)</script>', part)
    ]


def headings(page):
    return [heading for heading, _ in page.sections]


# Pages


def test_page_of_a_run():
    page = run_page(sample("run"))
    assert headings(page) == [
        "The run",
        "Roofline",
        "Where the cycles went",
        "Utilisation",
        "Main memory",
        "Counters",
        "The build",
    ]
    said = words(page)
    assert (
        "12.5 µs" in said
        and "97.0 MHz by place and route" in said
        and "9 of 10" in said
        and "32 MACs a cycle at 32 MACs a byte: 50 % of what is possible there" in said
    )
    assert "60.0 %" in said and "0x2000" in said and "8.01 KiB of 1 MiB" in said
    roofline = charts(page)[0]
    names = {
        row["name"]
        for layer in roofline["layer"]
        for row in layer["data"].get("values", ())
        if "name" in row
    }
    assert names == {"the job", "0: a.s", "1: b.s"}


def test_page_of_a_golden_model_says_what_is_missing():
    data = sample("run")
    del data["counters"]["cycles"]
    data |= {
        "board": None,
        "clock_hz": None,
        "ceilings": {"macs": 128, "bytes": None, "clock_hz": None},
        "notes": ["the window ends too early"],
        "status": "fault",
        "fault": {"name": "host_range", "pc": 4236, "file": "a.s", "line": 11},
    }
    page = run_page(data)
    said = words(page)
    assert (
        "This target counted no cycles" in said
        and "Roofline" not in headings(page)
        and "Core fault host_range at pc 0x108c, a.s line 11." in said
    )
    assert "the window ends too early" in said


@pytest.mark.parametrize(
    "kind, page", [("run", run_page), ("infer", infer_page), ("plan", plan_page)]
)
def test_page_without_a_reached_clock_gives_no_time(kind, page):
    data = sample(kind) | {"time_hz": None, "clock_note": "no build has been routed"}
    said = words(page(data))
    assert "no build has been routed" in said and "µs" not in said and "ms" not in said.split()


def test_page_of_an_inference():
    page = infer_page(sample("infer"))
    assert headings(page) == [
        "The run",
        "Roofline",
        "Where the cycles went",
        "Layers",
        "Utilisation",
        "Main memory",
        "Counters of all inputs",
        "The build",
    ]
    said = words(page)
    assert (
        "The host computes 1 of the nodes: pad." in said
        and "33.2" in said
        and "2 of 2" in said
        and "80,000.0" in said
    )
    data = sample("infer")
    del data["layers"]
    assert "With --layers" in words(infer_page(data)) and "Layers" not in headings(infer_page(data))


def test_page_of_a_plan_has_estimates_alone():
    said = words(plan_page(sample("plan")))
    assert "910" in said and "a note" in said and "measured" not in said


def test_page_of_a_comparison():
    page = compare_page(sample("compare"))
    assert headings(page) == [
        "Side by side",
        "Time of one input",
        "Accuracy against cycles",
        "Roofline",
        "Where the cycles went",
        "opu, 85f",
        "pim, 85f",
        "imagine",
    ]
    said = words(page)
    assert (
        "judged by little" in said
        and "1,000*" in said
        and "conv1: too many positions" in said
        and "What bounds this build is not known" in said
    )


@pytest.mark.parametrize(
    "correct, axis, shown",
    [(9, "inputs right", "9 of 10"), (None, "signal to noise, dB", "31.5 dB")],
)
def test_accuracy_against_cycles(correct, axis, shown):
    data = sample("compare")
    data["correct"] = correct
    for cell in data["cells"][:2]:
        cell |= {"correct": correct, "snr": 31.5}
    page = str(charts(compare_page(data)))
    assert axis in page and shown in page
    # One point compares nothing; infinite ratios have no place on an axis.
    data["cells"][0]["correct"] = None
    data["cells"][0]["snr"] = float("inf")
    assert "Accuracy against cycles" not in headings(compare_page(data))


def test_page_of_a_build():
    page = build_page(sample("build"))
    assert headings(page) == [
        "The build",
        "Clocks",
        "Paths between clocks",
        "Memory chip",
        "Area",
        "Area by unit",
        "Roofline",
        "Parameters",
    ]
    said = words(page)
    assert (
        "The longest path leaves arbiter.o__valid and ends in core.engine.mover.odd: through "
        "12 cells of logic, 40.00 ns in all, 10.00 ns in cells and 30.00 ns on wires (75 %)."
    ) in said
    assert (
        "-2.1 %" in said
        and "not reached" in said
        and "-1.50" in said
        and "too long" in said
        and "core.engine.compute" in said
    )
    assert "At 23.5 MHz that is 0.376 thousand million MACs a second, 94 MB/s." in said
    assert (
        sum('class="number bad"' in part for _, parts in page.sections for part in parts) == 1
    )  # the chip's hold time


def test_page_of_what_does_not_fit():
    data = {
        key: value
        for key, value in sample("build").items()
        if key
        in ("board", "isa", "preset", "params", "seed", "luts", "ffs", "dsps", "brams", "available")
    } | {"luts": 6000}
    page = build_page(data)
    assert (
        headings(page) == ["The build", "Area", "Parameters"]
        and "too small" in page.lead
        and "114 %" in words(page)
    )


def test_page_of_a_matrix():
    data = sample("matrix")
    data["cells"] = list(data["cells"].values())
    page = matrix_page(data)
    said = words(page)
    assert (
        headings(page)
        == ["All builds", "Clocks", "Share of the FPGA&#x27;s logic cells".replace("&#x27;", "'")]
        and "26.4" in said
        and "does not fit" in said
    )
    data["cells"] *= 60
    assert "The first 80 of 120." in words(matrix_page(data))


# Parts


def test_parts_are_text():
    assert (
        text("<&") == "<p>&lt;&amp;</p>"
        and text("") == ""
        and items([]) == ""
        and items(["<"]) == "<ul><li>&lt;</li></ul>"
    )
    assert facts([("a", None)]) == "" and "<dt>a</dt><dd>1</dd>" in facts([("a", 1), ("b", None)])
    made = table(("<", ">n"), [("&", Wrong("no"))])
    assert (
        "<th>&lt;</th>" in made
        and '<th class="number">n</th>' in made
        and "<td>&amp;</td>" in made
        and '<td class="number bad">no</td>' in made
    )
    assert table(("a",), []) == ""
    assert "</script><b>" not in chart({"name": "</script><b>"})


def test_a_page_without_charts_has_no_script():
    page = Page("a < b", "lead")
    page.add("nothing", "", "")
    page.add("words", text("hello"))
    made = render(page)
    assert (
        "<script" not in made
        and "a &lt; b" in made
        and "nothing" not in made
        and len(made) < 12_000
    )


def test_a_page_is_bounded(monkeypatch):
    monkeypatch.setattr(pages, "MOST_BYTES", 1000)
    with pytest.raises(
        InputError,
        match=(
            r"the page would have [\d,]+ bytes, more than 1,000: the result has too many "
            r"layers, programs or builds for one"
        ),
    ):
        render(Page("a", "b"))


# The command


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_command_writes_a_page(kind, tmp_path, capsys):
    out = tmp_path / "page.html"
    assert (
        main(["report", str(stored(tmp_path, sample(kind))), "-o", str(out), "--json"]) == Exit.OK
    )
    made = out.read_text()
    assert json.loads(capsys.readouterr().out) == {
        "page": str(out),
        "kind": kind,
        "bytes": len(made.encode()),
    }
    assert made.startswith("<!doctype html>") and not re.search(
        r'(?:src|href)="(?!data:)', re.sub(r"<script.*?</script>", "", made, flags=re.S)
    )


def test_the_commands_default_place(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(stored(tmp_path, sample("build")))]) == Exit.OK
    assert (tmp_path / "report.html").is_file() and capsys.readouterr().out.startswith(
        "wrote report.html: build, "
    )


@pytest.mark.parametrize("module, name", [("altair", "altair"), ("vl_convert", "vl_convert")])
def test_without_the_library(module, name, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, module, None)
    assert (
        main(["report", str(stored(tmp_path, sample("run"))), "-o", str(tmp_path / "x.html")])
        == Exit.NO_DEVICE
    )
    assert (
        f"reports need Altair and vl-convert, and {name} is not installed: pip install "
        f"'altair>=6' 'vl-convert-python>=1.8'"
    ) in capsys.readouterr().err
    assert not (tmp_path / "x.html").exists()
    assert (
        main(["compare", "no.onnx", "--board", "ulx3s-85f", "--html", str(tmp_path / "x.html")])
        == Exit.NO_DEVICE
    )  # told before the network is read


@pytest.mark.parametrize(
    "args, message",
    [
        (["nothing.json"], "nothing.json cannot be read (No such file or directory)"),
        (["{run}", "-o", "nowhere/x.html"], "-o nowhere/x.html: no such folder: nowhere"),
        (["{run}", "-o", ""], "-o '': expected the name of a file"),
        (["{run}", "-o", "."], "-o .: is a folder; expected the name of a file"),
        ([], "the following arguments are required: result"),
    ],
)
def test_the_command_refuses(args, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = str(stored(tmp_path, sample("run"), "run.json"))
    assert main(["report", *(arg.replace("{run}", path) for arg in args)]) == Exit.BAD_INPUT
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1
