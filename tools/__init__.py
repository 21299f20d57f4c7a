# SPDX-License-Identifier: BSD-2-Clause
"""Host software: jobs, targets, compiler, link client, bitstream builds and the command line.

>>> from quintet.tools import open_target, Job
"""

__all__ = ["Job", "open_target", "run_job"]

_PLACES = {"Job": "jobs.job", "open_target": "targets", "run_job": "jobs.runner"}


def __getattr__(name):
    # Lazily, so that `quintet --help` need not import numpy.
    if name in _PLACES:
        import importlib

        return getattr(importlib.import_module(f".{_PLACES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
