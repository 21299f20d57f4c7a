# SPDX-License-Identifier: BSD-2-Clause
"""Commands that install quintet's dependencies, or those of one of its extras.

They name the packages themselves: ``pip install 'quintet[EXTRA]'`` would look for quintet on an
index, and a wheel file or a checkout is on none.
"""

import importlib.metadata
import re
import shlex

__all__ = ["extra_command", "package_command"]


def _requirements(extra):
    """Requirements of quintet's metadata for ``extra``, or of the base install (``None``)."""
    try:
        lines = importlib.metadata.requires("quintet") or []
    except importlib.metadata.PackageNotFoundError:
        lines = []
    found = [line.partition(";") for line in lines]
    marker = "" if extra is None else f'extra == "{extra}"'
    return [
        requirement.strip()
        for requirement, _, condition in found
        if condition.strip().replace("'", '"') == marker
    ]


def extra_command(extra: str) -> str:
    """Command that installs the packages of ``extra``, for the way in which quintet was
    installed."""
    packages = _requirements(extra) or [f"quintet[{extra}]"]
    return f"pip install {shlex.join(packages)}"


def package_command(name: str) -> str:
    """Command that installs the package ``name``, in a version that quintet accepts."""
    wanted = re.compile(rf"{re.escape(name)}(?![\w.-])", re.IGNORECASE)
    found = next(filter(wanted.match, _requirements(None)), name)
    return f"pip install {shlex.quote(found)}"
