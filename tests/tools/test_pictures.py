# SPDX-License-Identifier: BSD-2-Clause
"""The pictures are drawn from what is there, and are current."""

import importlib
import xml.etree.ElementTree as ElementTree

import pytest

from quintet.gateware.cores import core_names, open_core
from quintet.tools.pages import pictures
from quintet.tools.pages.engines import ENGINES


@pytest.mark.parametrize("name, text", pictures.pictures().items())
def test_pictures_are_current(name, text):
    assert (pictures.FOLDER / name).read_text() == text, (
        "python -m quintet.tools.pages.pictures draws them again"
    )
    assert ElementTree.fromstring(text).tag.endswith("svg")


def test_architecture_shows_every_core():
    shown = {
        element.text
        for element in ElementTree.fromstring(pictures.architecture()).iter()
        if element.tag.endswith("text")
    }
    assert {open_core(name).isa.ISA.title for name in core_names()} <= shown


@pytest.mark.parametrize("isa", sorted(ENGINES))
def test_boxes_are_classes_of_the_engine(isa):
    boxes, wires = ENGINES[isa]
    for *_, place in boxes.values():
        module, _, name = place.partition(":")
        assert hasattr(
            importlib.import_module(f"quintet.gateware.cores.{isa}.engine.{module}"), name
        ), place
    assert len({place[:2] for place in boxes.values()}) == len(boxes), "two boxes lie in one place"
    assert {end for wire in wires for end in wire} <= {*boxes, "memory"}


def test_every_core_has_one():
    assert set(ENGINES) == set(core_names())


def test_terminal_loads_nothing_from_elsewhere():
    from quintet.tools.pages.recording import draw

    svg = draw("make demo", "one  two\nthree")
    assert "three" in svg and "make" in svg and "url(http" not in svg and "@font-face" not in svg
    assert ElementTree.fromstring(svg).tag.endswith("svg")
