# SPDX-License-Identifier: BSD-2-Clause
"""Generator of ``builds.json``: ``python -m quintet.firmware.examples`` (two minutes)."""

import json

from quintet.gateware.isa.files import write_whole

from . import BUILDS, builds_of, job_names

if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(builds_of(name))}" for name in job_names()]
    write_whole(BUILDS, "{\n" + ",\n".join(lines) + "\n}\n")
