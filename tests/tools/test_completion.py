# SPDX-License-Identifier: BSD-2-Clause
"""Completion in the shell: what argcomplete answers to a line that is being typed."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("argcomplete")


def offered(line, tmp_path):
    """Words that the shell would offer at the end of ``line``."""
    answer = tmp_path / "answer"
    environment = {
        **os.environ,
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "COMP_TYPE": "9",
    }
    done = subprocess.run(
        [sys.executable, "-m", "quintet.tools.cli"],
        env=environment,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    return {word.strip() for word in answer.read_text().split("\n") if word}


@pytest.mark.parametrize(
    ("line", "expected", "never"),
    [
        ("quintet ver", {"verify", "verilog"}, "build"),
        ("quintet build ice", {"icebreaker", "icesugar", "icepi-zero"}, "ulx3s-85f"),
        ("quintet build icebreaker o", {"opu", "opentpu"}, "icebreaker"),
        ("quintet build ulx3s-85f opentpu --preset 85f-1", {"85f-12x12", "85f-16x16"}, "85f-p64"),
        ("quintet build ulx3s-85f opu --router ", {"router1", "router2"}, "opu"),
        ("quintet run job.toml --on model", {"model", "model:opu", "model:cherry"}, "auto"),
        ("quintet run job.toml --on 'sim:ice", {"sim:icebreaker/opu"}, "sim:fomu/opu"),
        ("quintet compile x.onnx --for icebreaker/", {"icebreaker/opu"}, "fomu/opu"),
        ("quintet measure opu/", {"opu/workloads", "opu/resnet20"}, "pim/items"),
        ("quintet cores c", {"cherry"}, "opu"),
        ("quintet examples opu/sm", {"opu/small/small.toml"}, "opu/digits/digits.toml"),
        ("quintet new b", {"board"}, "core"),
        ("quintet infer out --l", {"--labels", "--limit"}, "--input"),
    ],
)
def test_offers(line, expected, never, tmp_path):
    found = {word.lstrip("'").rstrip("'") for word in offered(line, tmp_path)}
    assert expected <= found and never not in found


def test_without_argcomplete_nothing_happens(tmp_path, monkeypatch):
    from quintet.tools.completion import complete

    monkeypatch.setitem(sys.modules, "argcomplete", None)
    assert complete({}, None) is None
