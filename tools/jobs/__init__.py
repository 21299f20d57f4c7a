# SPDX-License-Identifier: BSD-2-Clause
"""Jobs: reading, writing, running, reporting and comparing them."""

from .job import Job
from .tensors import Load, Save

__all__ = ["Job", "Load", "Save"]
