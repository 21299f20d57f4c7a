# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures of the host side's tests: a small job, and the command line in this process."""

import json

import pytest

from tests.tools.tools_small_job import SmallJob


@pytest.fixture
def small(tmp_path):
    return SmallJob(tmp_path)


class Ran:
    """Result of a command: ``code``, ``out``, ``err``, and ``json`` (the object on standard
    output)."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def quintet(capsys):
    """Runs the command line in this process."""
    from quintet.tools.cli import main

    def run(*args):
        capsys.readouterr()
        code = main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        assert "Traceback" not in err and "internal error" not in err, err
        return Ran(code, out, err)

    return run
