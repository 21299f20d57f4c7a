# SPDX-License-Identifier: BSD-2-Clause
"""What all tests share."""

import os
import sys
from pathlib import Path

# The tools that came with this Python are found whether or not its environment is activated.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
# Tables are as wide as they like, whatever the terminal is that the tests run in (workers of
# pytest-xdist are told its width).
os.environ.pop("COLUMNS", None)
