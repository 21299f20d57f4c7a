# SPDX-License-Identifier: BSD-2-Clause
"""Serve a compiled network of MLPerf Tiny to the benchmark's own runner, as a device under test.

The runner opens the pseudo-terminal (or the socket) as it opens a submitter's board. Times are
cycles of the core over its clock: the link and what the host computes are not in them. Serves until
it is interrupted (ctrl-C). See docs/guides/mlperf.md.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import Exit, InputError, TargetError
from ..outputs import check_output

if TYPE_CHECKING:
    from ..console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    from .benchmarks import BENCHMARKS

    parser.add_argument("plan", help="the folder that quintet compile wrote")
    parser.add_argument(
        "--on", metavar="TARGET", required=True, help="the board: sim:BOARD/ISA or a port"
    )
    parser.add_argument(
        "--model",
        choices=sorted(BENCHMARKS),
        help="the benchmark's name of the network (default: by the shapes)",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--socket",
        metavar="[HOST:]PORT",
        help="serve on a socket of this machine; port 0 picks a free one",
    )
    where.add_argument(
        "--link", metavar="PATH", help="make PATH a symbolic link to the pseudo-terminal"
    )
    where.add_argument(
        "--stdio", action="store_true", help="talk on standard input and output, once"
    )
    parser.add_argument(
        "--greet",
        action="store_true",
        help="say m-init-done to every program that opens the port (the runner expects silence)",
    )


def run(args: argparse.Namespace, console: Console) -> int:
    from ..compiler.plan import load_plan
    from ..compiler.session import Session
    from ..targets import open_target
    from ..targets.serial_port import public_name
    from .benchmarks import benchmark_of
    from .serving import Port, endpoint_of, serve

    if args.stdio and args.json:
        raise InputError("--json: standard output is the conversation's; leave --stdio out")
    if args.link is not None:
        check_output(args.link, "--link")
    plan = load_plan(args.plan)
    benchmark = benchmark_of(plan.network, plan.inputs, plan.outputs, args.model)
    images = max((step.lowered.images for step in plan.core_steps), default=1)
    if images > 1:
        raise InputError(
            f"{plan.network}: a run of this plan works on {images} inputs: expected one, since the "
            f"benchmark counts inputs one by one; compile it without --images"
        )
    endpoint = endpoint_of(args)
    try:
        with console.progress() as progress:
            target = open_target(args.on, progress)
        if target.info.clock_hz is None:
            target.close()
            raise TargetError(f"{args.on}: has no clock: expected a board, virtual or physical")
        with Session(plan, target, overlap=False) as session:
            port = Port(session, benchmark)
            endpoint.publish()
            console.result(
                {
                    "network": plan.network,
                    "model": benchmark.name,
                    "target": public_name(args.on),
                    "port": endpoint.name,
                    "clock_hz": port.clock_hz,
                    "simulated": target.info.kind == "sim",
                }
            )
            for line in _banner(plan, benchmark, target, port):
                _say(args, console, line)
            _say(args, console, f"{benchmark.name} is at {endpoint.name}")
            serve(port.device, endpoint, greet=args.greet or args.stdio)
            _say(args, console, port.summary())
    finally:
        endpoint.close()
    return Exit.OK


def _say(args, console, line):
    """Prints a line for people: on standard error if standard output carries the protocol."""
    import sys

    from ..console import show

    if args.stdio:
        show(line, file=sys.stderr)
    else:
        console.out(line)


def _banner(plan, benchmark, target, port):
    """Notes on how to read the runner's figures."""
    if target.info.kind == "sim":
        yield (
            f"VIRTUAL BOARD: ALL TIMES ARE SIMULATED CYCLES AT {port.clock_hz / 1e6:g} MHZ. NO "
            f"HARDWARE WAS MEASURED."
        )
    yield "TIMES COUNT THE CORE'S CYCLES ALONE: THE LINK IS NOT IN THEM."
    if port.hosted:
        yield f"COMPUTED BY THE HOST, AND NOT IN THE TIMES: {', '.join(port.hosted)}."
