# SPDX-License-Identifier: BSD-2-Clause
"""Chart of milliseconds beside the peers': of the published times and the measured cycles, and
current."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from quintet.firmware.mlperf_tiny import NETWORKS, PEERS
from quintet.firmware.mlperf_tiny.chart import FILE, bars, draw
from quintet.tools.pages.results import read


@pytest.mark.parametrize("network", NETWORKS)
def test_times_are_published_or_measured(network):
    found = bars(read(), network)
    assert [bar.milliseconds for bar in found] == sorted(bar.milliseconds for bar in found)
    published = {bar.label: bar.milliseconds for bar in found if not bar.own}
    assert published == {
        peer.name: peer.milliseconds[network] for peer in PEERS if network in peer.milliseconds
    }
    assert sum(bar.own for bar in found) == 4


def test_times_are_cycles_at_the_reached_clock():
    """Both builds have reached what they ask for, 60 and 93.01 MHz."""
    found = {bar.label: bar.milliseconds for bar in bars(read(), "resnet8")}
    assert found["OpenTPU, 85f-16x16-fast"] == pytest.approx(70_378 / 60e3, abs=0.0005)
    assert found["OPU, 85f-p256-fast"] == pytest.approx(84_450 / 93.01e3, abs=0.0005)


def test_picture_is_current():
    text = FILE.read_text()
    assert text == draw(read()), "python -m quintet.firmware.mlperf_tiny.chart draws it again"
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert "prefers-color-scheme: dark" in text and not re.search(r'href="|url\(|<script', text)
