# SPDX-License-Identifier: BSD-2-Clause
"""Jobs: what they say, read and written, run on a target, reported and compared."""

from .job import Job
from .tensors import Load, Save

__all__ = ["Job", "Load", "Save"]
