# SPDX-License-Identifier: BSD-2-Clause
"""Offer a virtual board to other programs, on a pseudo-terminal (a serial port to them) or on a TCP socket.

Says where, once it is there, and serves until it is interrupted (ctrl-C). The board keeps its memory and its core between clients, as a
physical one does.
"""
from ..errors import Exit, InputError, TargetError


def arguments(parser):
    parser.add_argument("target", metavar="TARGET", help="sim:BOARD/ISA, with ?preset=.., ?param=.. and ?link=wire")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--socket", metavar="[HOST:]PORT", help="serve on a socket; port 0: any that is free")
    where.add_argument("--link", metavar="PATH", help="make PATH a symbolic link to the pseudo-terminal")


def run(args, console):
    from ..targets.names import parse_target
    parsed = parse_target(args.target)
    if parsed.kind != "sim":
        raise TargetError(f"target {args.target}: only a virtual board can be served, sim:<board>/<isa>")
    if parsed.options.get("load") == "direct":
        raise TargetError(f"target {args.target}: a served board is loaded over its link alone; leave load=direct out")
    address = _address(args.socket) if args.socket is not None else None
    from ...boards.virtual.serve import PtyEndpoint, SocketEndpoint, serve
    from ..targets.sim import open_board_of
    endpoint = SocketEndpoint(*address) if address else PtyEndpoint(args.link)
    try:
        with console.progress() as progress:
            board = open_board_of(parsed, progress)
        with board:
            endpoint.publish()
            console.result({"target": args.target, "port": endpoint.name, "clock_hz": board.clock_hz})
            console.out(f"{args.target} is at {endpoint.name}, for example: quintet run JOB --on {endpoint.name}")
            with _terminated_as_interrupted():
                serve(board, endpoint)
    finally:
        endpoint.close()
    return Exit.OK


def _address(text):
    host, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise InputError(f"--socket {text}: expected a port from 0 to 65535, or HOST:PORT")
    return host or "127.0.0.1", int(port)


def _terminated_as_interrupted():
    """A terminated server cleans up like an interrupted one."""
    import signal
    from contextlib import contextmanager

    @contextmanager
    def handler():
        def interrupt(*_):
            raise KeyboardInterrupt
        before = signal.signal(signal.SIGTERM, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, before)
    return handler()
