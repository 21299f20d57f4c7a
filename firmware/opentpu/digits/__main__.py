# SPDX-License-Identifier: BSD-2-Clause
"""Writes the digits jobs that ship, or one for given sizes: ``python -m
quintet.firmware.opentpu.digits``."""

from quintet.firmware.commandline import write_jobs
from quintet.firmware.opentpu import digits
from quintet.gateware.cores.opentpu.params import SPACE

if __name__ == "__main__":
    write_jobs(
        digits,
        SPACE,
        lambda given, params: digits.make_job(given.out, params, norm=given.norm),
        {"--norm": {"action": "store_true", "help": "the network with normalisation"}},
    )
