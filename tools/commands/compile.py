# SPDX-License-Identifier: BSD-2-Clause
"""Compile a trained network, an ONNX model, for a core.

The plan is a folder: programs, weights, where everything lies. quintet infer runs it, quintet
verify checks every tensor of every layer. A network that the core cannot run is refused with every
node at fault. Needs the extra "compile" (pip install onnx).
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import InputError
from ..options import add_sizes, sizes
from ..outputs import check_folder

if TYPE_CHECKING:
    from ..console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="the network, an .onnx file")
    parser.add_argument(
        "--for",
        dest="target",
        metavar="TARGET",
        required=True,
        help="BOARD/ISA, sim:BOARD/ISA, model:ISA or a port",
    )
    add_sizes(parser)
    parser.add_argument(
        "--calibrate",
        metavar="FILE",
        action="append",
        help="inputs to quantise for: .npy, .npz, .npz:key or a folder of .npy; NAME=FILE for "
        "several inputs; a hundred are enough",
    )
    parser.add_argument("-o", "--out", metavar="DIR", help="folder of the plan")
    parser.add_argument(
        "--dry-run", action="store_true", help="say what the plan would be, and write nothing"
    )
    parser.add_argument(
        "--bits", type=int, choices=(8, 16), help="bits of activations, where the core has a choice"
    )
    parser.add_argument(
        "--no-equalise",
        action="store_true",
        help="leave the weights of neighbouring layers as they are",
    )
    parser.add_argument(
        "--percentile",
        type=float,
        metavar="P",
        help="ranges that hold P per cent of what calibration shows (default: by least error)",
    )
    parser.add_argument(
        "--images",
        default="1",
        metavar="N",
        help="inputs that a run works on, where the core can: more of them a second, each of "
        "them later; auto: the "
        "fewest with which the core or the line, whichever is slower, takes no more",
    )
    parser.add_argument(
        "--state",
        metavar="Y=X",
        action="append",
        help="the output Y is the input X of the next inference and stays on the board, beside the "
        "states that are found by themselves",
    )
    parser.add_argument(
        "--no-state",
        action="store_true",
        help="look for no states: every input is given and every output read",
    )
    parser.add_argument(
        "--initial",
        metavar="X=FILE",
        action="append",
        help="what the first inference reads of the state X: .npy, .npz or .npz:key (default: "
        "zeros)",
    )
    parser.add_argument(
        "--stream",
        metavar="X=AXIS",
        help="an inference takes some frames along an axis of the input X, counted from 0 as in "
        "the model; convolutions over it keep their window on the board",
    )
    parser.add_argument(
        "--frames",
        metavar="N",
        type=int,
        help="with --stream: frames that an inference takes (default: as few as the strides allow)",
    )
    parser.add_argument(
        "--host-steps",
        action="store_true",
        help="nodes that the core cannot do may run on the host",
    )
    parser.add_argument(
        "--on-host",
        metavar="NODE",
        action="append",
        default=[],
        help="this node must run on the host, and others may; may be given several times",
    )
    parser.add_argument(
        "--approximate",
        metavar="N",
        type=int,
        help="elementwise functions that the core lacks (hard swish, silu, gelu, sigmoid) become "
        "sums of N relus, which fit the calibration inputs; 8 to 12 suit 8 bits",
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help="rank the layers by what their quantisation costs at the outputs, with advice",
    )


def run(args: argparse.Namespace, console: Console) -> None:
    if args.out is None and not args.dry_run:
        raise InputError("-o: expected a folder for the plan (or --dry-run)")
    if args.report and args.dry_run:
        raise InputError("--report: expected -o instead of --dry-run, which quantises nothing")
    if args.out is not None:
        check_folder(args.out)
    if args.percentile is not None and not 50 < args.percentile <= 100:
        raise InputError(f"--percentile {args.percentile:g}: expected more than 50, at most 100")
    if args.images != "auto" and not (args.images.isdecimal() and 1 <= int(args.images) <= 1 << 16):
        raise InputError(f"--images {args.images}: expected a number from 1 on, or auto")
    given, stream = _pairs(args), _stream(args)
    from ..compiler.onnx_import import import_onnx
    from ..compiler.passes.curves import check_relus
    from ..compiler.planning import Options, compile_graph
    from ..compiler.target_build import target_build

    check_relus(args.approximate)
    build = target_build(args.target, args.preset, sizes(args))
    graph = import_onnx(args.model)
    from ..compiler.streams import stream_of

    streaming = stream_of(graph, build, stream, args.frames)
    if streaming is not None:
        graph = streaming.graph
    pairs = _states(args, graph, given, streaming)
    calibration, steps = None, None
    if args.calibrate:
        calibration, steps = _calibration(args, graph, pairs, streaming)
    options = Options(
        args.bits,
        not args.no_equalise,
        args.percentile,
        args.host_steps,
        None if args.images == "auto" else int(args.images),
        tuple(args.on_host),
        args.dry_run,
        pairs,
        steps,
        args.approximate,
    )
    noise = None
    with console.progress() as progress:
        plan = compile_graph(graph, build, calibration, options, progress)
        if args.report:
            from ..compiler.results.noise import measure_noise

            progress("rank layers by their noise")
            noise = measure_noise(plan, graph, calibration, options)
    if not args.dry_run:
        from ..compiler.plan import save_plan

        save_plan(plan, args.out)
    from ..build.reached import time_clock
    from ..compiler.results.report import plan_object, show_noise, show_plan

    clock = time_clock(build)
    show_plan(console, plan, clock)
    if noise is not None:
        show_noise(console, noise)
    if args.dry_run:
        console.out("nothing is written (--dry-run)")
    else:
        console.out(f"wrote {args.out}; run it: quintet infer {args.out} --input FILE")
    console.result(
        {
            **plan_object(plan, build.clock_hz, clock),
            **({} if noise is None else {"noise": noise.as_dict()}),
            "written": None if args.dry_run else args.out,
        }
    )


def _pairs(args):
    """Parses the options ``--state``: name of an output -> name of an input."""
    found = {}
    for text in args.state or ():
        output, sign, source = text.partition("=")
        if not (sign and output and source):
            raise InputError(f"--state {text}: expected Y=X, names of an output and an input")
        if output in found:
            raise InputError(f"--state {text}: the output {output} is given twice")
        found[output] = source
    return found


def _stream(args):
    """Value of ``--stream``: name of the input -> axis of time."""
    if args.stream is None:
        return {}
    name, sign, axis = args.stream.rpartition("=")
    if not (sign and name and axis.isdecimal()):
        raise InputError(
            f"--stream {args.stream}: expected X=AXIS, an input's name and the number of an axis"
        )
    return {name: int(axis)}


def _states(args, graph, given, streaming):
    """Reads the options that choose the states of a network."""
    from ..compiler.arrays import load_initial
    from ..compiler.streams.states import choose_states

    return choose_states(
        graph,
        given,
        automatic=not args.no_state,
        initial=load_initial(args.initial or ()),
        known=() if streaming is None else streaming.states,
    )


def _calibration(args, graph, pairs, streaming):
    """Calibration inputs as one sequence of inferences, and the steps of each sequence, ``None`` if
    they are independent."""
    from ..compiler.arrays import load_inputs
    from ..compiler.streams import in_calls
    from ..compiler.streams.states import flattened

    states = {pair.input for pair in pairs}
    ports = [port for port in graph.inputs if port.name not in states]
    arrays = load_inputs(args.calibrate, ports, "--calibrate")
    return flattened(graph, pairs, arrays if streaming is None else in_calls(streaming, arrays))
