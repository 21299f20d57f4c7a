# SPDX-License-Identifier: BSD-2-Clause
"""Environment of all tests, the marker of slow ones, and a record of what each test takes."""

import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from tests.support.shares import QUICK, fewer

# The tools that came with this Python are found whether or not its environment is activated.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
# Each worker computes in one thread: the threads of numpy's linear algebra wait for each other in
# loops, and several workers have no processors to spare for that. An inverse of 200 x 200 took a
# hundred times the processor time. Read by numpy when it is imported.
os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"))
# Tables are as wide as they like, whatever the terminal is that the tests run in (workers of
# pytest-xdist are told its width).
os.environ.pop("COLUMNS", None)

# Compiled Python is kept whatever the environment says: rewriting the assertions of all test files
# takes each worker as long as a tenth of `make quick`, and hundreds of tests start the command line
# in a process of its own.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

#: New objects between two collections of the youngest generation, and how many collections of each
#: generation come before one of the next. Python's own 700, 10, 10 are meant for programs that keep
#: little: a design under test is hundreds of thousands of objects that live until their test ends,
#: and looking through them time and again took a seventh of all processor time.
COLLECTIONS = (200_000, 10, 10)

#: Tests that take more than a second of processor time, one a line: a test, or a whole function
#: with its parameters. `python -m pytest --times FILE` writes what each takes.
SLOW = Path(__file__).with_name("slow.txt")


def pytest_addoption(parser):
    parser.addoption(
        "--times",
        metavar="FILE",
        help="append the seconds of processor time of each test, its children's included",
    )


def pytest_configure():
    # Nothing that collection makes is garbage.
    gc.disable()
    _draw_the_same_everywhere()
    # No test asserts wall time.
    settings.register_profile("quintet", deadline=None)
    settings.load_profile("quintet")
    if QUICK:
        _draw_fewer()


def _draw_fewer():
    """Has Hypothesis draw a quarter of the examples that a test asks for, as `make quick` runs a
    quarter of all random cases.

    Those that choose Hypothesis's phases draw all: one of them looks at what is drawn.
    """
    init = settings.__init__

    def with_fewer(self, *args, **options):
        if isinstance(options.get("max_examples"), int) and "phases" not in options:
            options["max_examples"] = fewer(options["max_examples"])
        init(self, *args, **options)

    settings.__init__ = with_fewer
    # Those that ask for no number.
    settings.register_profile("quick", deadline=None, max_examples=settings.default.max_examples)
    settings.load_profile("quick")


def _draw_the_same_everywhere():
    """Has Hypothesis draw none of the constants that stand in this project's files.

    It parses every file of ours that is imported, a thousand of them, which takes each worker 20
    to 50 seconds in a fresh clone. With them, a test of a given seed draws other values in another
    worker, where other files are imported.
    """
    if hasattr(providers, "_get_local_constants"):
        providers._get_local_constants = lambda: providers._local_constants


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop():
    # Test modules and tests live to the end: no later collection has to look through them.
    gc.freeze()
    gc.set_threshold(*COLLECTIONS)
    gc.enable()


def pytest_collection_modifyitems(items):
    slow = set(SLOW.read_text(encoding="utf-8").splitlines())
    for item in items:
        if item.nodeid in slow or item.nodeid.partition("[")[0] in slow:
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    before = os.times()
    ran = yield
    path = item.config.getoption("--times")
    if path is not None:
        seconds = sum(os.times()[:4]) - sum(before[:4])
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{seconds:.2f} {item.nodeid}\n")
    return ran
