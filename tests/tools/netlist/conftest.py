# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures of the netlists' tests: folders of the smallest SoCs, synthesised."""

import os

import pytest

from tests.support.netlist_builds import synthesised


def _smallest(folder, board, **options):
    here = os.getcwd()
    os.chdir(folder)
    try:
        return synthesised(folder / "build", board, **options)
    finally:
        os.chdir(here)


@pytest.fixture(scope="session")
def ecp5(tmp_path_factory):
    """Of a ULX3S."""
    return _smallest(tmp_path_factory.mktemp("ecp5"), "ulx3s-25f")


@pytest.fixture(scope="session")
def double_rate(tmp_path_factory):
    """Of a ULX3S whose SDRAM runs at twice the main clock."""
    return _smallest(tmp_path_factory.mktemp("double_rate"), "ulx3s-25f", sdram_rate=2)


@pytest.fixture(scope="session")
def up5k(tmp_path_factory):
    """Of an iCEBreaker."""
    return _smallest(tmp_path_factory.mktemp("up5k"), "icebreaker")
