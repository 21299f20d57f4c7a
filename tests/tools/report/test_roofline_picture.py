# SPDX-License-Identifier: BSD-2-Clause
"""The roofline of the five cores: of their declared peaks and of what was measured, and current."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

pytest.importorskip("altair")
pytest.importorskip("vl_convert")

from quintet.gateware.cores import core_names, open_core
from quintet.tools.pages.results import read
from quintet.tools.pages.roofline import FILE, draw, points, roofs

#: What marks say of themselves: all numbers of the picture, whatever fonts measured its words.
_SAID = re.compile(r'aria-label="([^"]*)"')


def test_roofs_are_those_of_the_cores():
    found = roofs()
    assert set(found) == {open_core(name).isa.ISA.title for name in core_names()}
    assert (found["OPU"].macs, found["OPU"].bytes, found["OpenTPU"].macs, found["Cherry"].macs) == (
        128,
        2,
        64,
        32,
    )
    assert found["IMAGine"].bytes == 1  # its array counts two cycles in one of the main clock


def test_what_was_measured_lies_below_the_roofs():
    data, tops = read(), roofs()
    measured = points(data)
    assert set(measured) <= set(tops) and sum(map(len, measured.values())) >= 4
    for title, several in measured.items():
        for point in several:
            assert 0 < point.share(tops[title]) <= 1, (title, point)


def test_picture_is_current():
    drawn = draw(read())
    assert _SAID.findall(FILE.read_text()) == _SAID.findall(drawn), (
        "python -m quintet.tools.pages.roofline draws it again"
    )


def test_picture_loads_nothing_and_follows_the_scheme():
    text = FILE.read_text()
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert (
        "prefers-color-scheme: dark" in text
        and "--chart-5" in text
        and not re.search(r'href="|url\(|<script', text)
    )
