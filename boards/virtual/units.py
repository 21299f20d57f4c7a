# SPDX-License-Identifier: BSD-2-Clause
"""Translation units: functions of a design in several files, which the C++ compiler takes side by
side."""

import os
import re

__all__ = ["processors", "translation_units"]

#: Characters of a unit at least: each of them costs the runtime's headers, 0.7 s, once more.
_SMALLEST = 400_000
#: Characters of functions that take the compiler as long as what the first unit holds besides: the
#: harness, the models of chips, and contents of memories.
_HARNESS = 300_000
_FUNCTION = re.compile(r"^void p_top::(?:eval|commit)_\d+\(.*?^}\n", re.M | re.S)
_BEGIN = "namespace cxxrtl_design {\n"


def processors() -> int:
    """Number of processors that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def translation_units(source: str, most: int) -> list[str]:
    """Moves functions of ``design.cc`` into further units, ``most`` in all: texts, that of
    ``design.cc`` first. Large designs alone have several."""
    functions = _FUNCTION.findall(source)
    total = _HARNESS + sum(map(len, functions))
    count = min(most, total // _SMALLEST)
    if count < 2:
        return [source]
    begin = source[: source.index(_BEGIN) + len(_BEGIN)]
    units: list[list[str]] = [[] for _ in range(count)]
    done = _HARNESS
    for function in functions:
        units[done * count // total].append(function)
        done += len(function)
    end = "\n} // namespace cxxrtl_design\n"
    rest = _FUNCTION.sub("", source)
    # The first unit also holds what is not a function of this kind.
    first = rest.replace(_BEGIN, _BEGIN + "\n" + "\n".join(units[0]), 1)
    return [first, *(begin + "\n" + "\n".join(unit) + end for unit in units[1:])]
