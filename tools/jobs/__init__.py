# SPDX-License-Identifier: BSD-2-Clause
"""Jobs: descriptions of a run (program, memory contents, results), with reading, writing,
execution, reports and comparison."""

from .job import Job
from .tensors import Load, Save

__all__ = ["Job", "Load", "Save"]
