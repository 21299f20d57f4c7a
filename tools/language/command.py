# SPDX-License-Identifier: BSD-2-Clause
"""Print the text that a language model writes, token by token.

The model is an ONNX file with a vocabulary among its metadata, or the folder of a plan of one. It
takes a token an inference and gives a score for each token that may come next. Of an ONNX file a
plan is made first, for the target, with text of the network's own as calibration. Speed and cycles
follow on standard error.
"""

from __future__ import annotations

import argparse
import math
import os
from typing import TYPE_CHECKING

from ..errors import InputError
from ..examples import user_path

if TYPE_CHECKING:
    from ..console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="an .onnx file, or the folder that quintet compile wrote")
    parser.add_argument(
        "--on",
        metavar="TARGET",
        help="where to run it (default: the golden model of the plan's build; of an .onnx file "
        "model:opu)",
    )
    parser.add_argument(
        "--prompt", metavar="TEXT", help="text that it goes on from (default: its first token)"
    )
    parser.add_argument(
        "--tokens", metavar="N", type=int, default=200, help="tokens to write (default: 200)"
    )
    parser.add_argument(
        "--temperature",
        metavar="T",
        type=float,
        default=0.7,
        help="more of it makes rarer tokens likelier; 0: always the likeliest (default: 0.7)",
    )
    parser.add_argument(
        "--seed", metavar="S", type=int, default=0, help="of the draws of tokens (default: 0)"
    )


def run(args: argparse.Namespace, console: Console) -> None:
    if args.tokens < 1:
        raise InputError(f"--tokens {args.tokens}: expected at least 1")
    if not (math.isfinite(args.temperature) and args.temperature >= 0):
        raise InputError(f"--temperature {args.temperature:g}: expected a number from 0 on")
    if args.seed < 0:
        raise InputError(f"--seed {args.seed}: expected a number from 0 on")
    from ..compiler.session import Session
    from ..console import show
    from ..targets.names import open_target, parse_target
    from .model import Choice, plan_model, written

    if args.on is not None:
        parse_target(args.on)
    with console.progress() as progress:
        plan, on = _plan(args, progress)
        model = plan_model(plan)
        prompt = model.vocabulary[0] if args.prompt is None else args.prompt
        numbers = model.encode(prompt)
        if not numbers:
            raise InputError("--prompt: expected at least one token")
        target = open_target(on, progress=progress)
    text = prompt
    with Session(plan, target) as session:
        if not console.as_json:
            show(prompt, end="")
        for number in written(
            session, model, numbers, args.tokens, Choice(args.temperature, args.seed)
        ):
            text += model.vocabulary[number]
            if not console.as_json:
                show(model.vocabulary[number], end="")
        report, info = session.report, session.target.info
    if not console.as_json:
        show()
    _result(args, console, plan, on, info, report, prompt, text)


def _plan(args, progress):
    """The plan, and the name of the target that runs it."""
    if os.path.isdir(user_path(args.model)):
        from ..compiler.plan import load_plan

        plan = load_plan(args.model)
        on = args.on or "model"
        return plan, f"model:{plan.isa}" if on == "model" else on
    from ..compiler.onnx_import import import_onnx
    from ..compiler.planning import Options, compile_graph
    from ..compiler.streams.states import choose_states, flattened
    from ..compiler.target_build import target_build
    from .model import own_text

    graph = import_onnx(args.model)
    pairs = choose_states(graph, {})
    token = next(port.name for port in graph.inputs if port.name not in {p.input for p in pairs})
    calibration, steps = flattened(graph, pairs, {token: own_text(graph, pairs)})
    build = target_build(args.on or "model:opu")
    options = Options(host_steps=True, states=pairs, steps=steps)
    return compile_graph(graph, build, calibration, options, progress), build.target


def _result(args, console, plan, on, info, report, prompt, text):
    """Prints cycles, speed, and the JSON object."""
    from ..compiler.results.places import build_object
    from ..compiler.results.report import clock_object
    from ..compiler.results.throughput import on_the_line, throughput
    from ..targets.names import parse_target, public_name

    clock = _clock(plan, info)
    hertz = plan.clock(clock.hz)
    rates = throughput(report, plan, info, on_the_line(info, parse_target(on).options))
    # A golden model may count no cycles.
    each = report.cycles / report.inputs if report.cycles else plan.cycles
    if hertz and each:
        rates["core"] = hertz / each
    hosted = sum(len(step.names) for step in plan.steps if step not in plan.core_steps)
    counted = "counted" if report.cycles else "estimated"
    said = f"{args.tokens:,} tokens, {each:,.0f} cycles a token ({counted})"
    if rates["core"]:
        said += f", {rates['core']:,.1f} tokens a second by the core at {hertz / 1e6:.4g} MHz"
    if rates["link"]:
        said += f", {rates['link']:,.1f} through the link"
    if hosted:
        said += f"; {hosted} nodes of the network on the host"
    console.note(said)
    console.result(
        {
            "network": plan.network,
            **build_object(plan, info),
            "target": public_name(on),
            "board": info.board,
            "prompt": prompt,
            "text": text,
            "tokens": args.tokens,
            "temperature": args.temperature,
            "seed": args.seed,
            "host_nodes": hosted,
            "cycles_per_token": each,
            "cycles_counted": bool(report.cycles),
            **clock_object(plan, clock),
            **report.as_dict(),
            "tokens_per_second": rates,
        }
    )


def _clock(plan, info):
    """The clock that counts: the target's, or on a golden model that of the board that the plan was
    made for."""
    from ..build.reached import time_clock
    from ..compiler.target_build import target_build

    if info.board is None and (plan.target or "").startswith("sim:"):
        return time_clock(target_build(plan.target))
    return time_clock(info)
