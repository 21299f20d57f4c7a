# SPDX-License-Identifier: BSD-2-Clause
"""Write a compiled network as a plan image, which a board loads from flash memory at its start.

The image holds programs, weights and registers for one build, with a CRC-32 over each part. A board
refuses an image that is damaged or for another build. See docs/how/standalone.md.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import Exit
from ..outputs import check_output, write_output

if TYPE_CHECKING:
    from ..console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", help="the folder that quintet compile wrote")
    parser.add_argument("-o", dest="out", metavar="OUT", required=True, help="file of the image")


def run(args: argparse.Namespace, console: Console) -> int:
    from ...gateware.standalone.image import unpack
    from ..compiler.plan import load_plan
    from .image import plan_image

    check_output(args.out)
    plan = load_plan(args.plan)
    data = plan_image(plan)
    image = unpack(data)
    write_output(args.out, data)
    filled = sum(segment.size for segment in image.segments)
    console.out(
        f"{args.out}: {len(data):,} bytes, {len(image.segments)} segments of {filled:,} bytes of "
        f"memory and registers, for build {image.build:08x} of {plan.isa}"
    )
    console.result(
        {
            "network": plan.network,
            "isa": plan.isa,
            "build": image.build,
            "output": args.out,
            "bytes": len(data),
            "segments": len(image.segments),
        }
    )
    return Exit.OK
