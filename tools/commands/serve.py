# SPDX-License-Identifier: BSD-2-Clause
"""Serve a virtual board to other programs, on a pseudo-terminal (a serial port to them) or on a TCP
socket.

Prints its place once it is ready, and serves until it is interrupted (ctrl-C), one program at a
time.
The board keeps its memory and its core between them, as a physical one does.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import Exit, InputError, TargetError
from ..outputs import check_output

if TYPE_CHECKING:
    from ..console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target", metavar="TARGET", help="sim:BOARD/ISA, with ?preset=.., ?param=.. and ?link=wire"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--socket", metavar="[HOST:]PORT", help="serve on a socket; port 0 picks a free one"
    )
    where.add_argument(
        "--link", metavar="PATH", help="make PATH a symbolic link to the pseudo-terminal"
    )
    parser.add_argument(
        "--token",
        metavar="TEXT",
        help="token that a program must present on the socket (socket://HOST:PORT?token=TEXT); "
        "where other machines reach the socket one is made up if none is given",
    )


def run(args: argparse.Namespace, console: Console) -> int:
    from ..targets.names import parse_target
    from ..targets.serial_port import meant_targets, public_name

    parsed = parse_target(args.target)
    target = public_name(args.target)
    if parsed.kind != "sim":
        meant = meant_targets(args.target) if parsed.kind == "board" else ""
        raise TargetError(
            f"target {target}: only a virtual board can be served, sim:<board>/<isa>{meant}"
        )
    if parsed.options.get("load") == "direct":
        raise TargetError(
            f"target {target}: a served board is loaded over its link alone; leave load=direct out"
        )
    if parsed.options.get("link") == "spi":
        raise TargetError(
            f"target {target}: a served board is a port of bytes, and a host on SPI wires clocks "
            f"them itself; leave link=spi out"
        )
    if args.link is not None:
        check_output(args.link, "--link")
    framed = parsed.options.get("link") != "uartbone"
    address, token = _place(args, framed)
    from ..serve import PtyEndpoint, SocketEndpoint, serve
    from ..targets.sim import open_board_of

    endpoint: SocketEndpoint | PtyEndpoint = (
        SocketEndpoint(address[0], address[1], token) if address else PtyEndpoint(args.link)
    )
    try:
        with console.progress() as progress:
            board = open_board_of(parsed, progress)
        with board:
            endpoint.publish()
            console.result(
                {
                    "target": target,
                    "port": endpoint.name,
                    "clock_hz": board.clock_hz,
                    "token": token,
                }
            )
            shown = endpoint.name + (f"?token={token}" if token else "")
            console.out(
                f'{target} is at {endpoint.name}, for example: quintet run JOB --on "{shown}"'
            )
            serve(board, endpoint, framed=framed)
    finally:
        endpoint.close()
    return Exit.OK


def _place(args, framed):
    """Address of the socket (``None``: a pseudo-terminal), and the token that it requires
    (``None``: none)."""
    from ..link.address import parse_address
    from ..link.notices import TOKEN

    if args.socket is None:
        if args.token is not None:
            raise InputError("--token is for a socket: give --socket too")
        return None, None
    try:
        host, port = parse_address(args.socket)
    except ValueError as error:
        raise InputError(f"--socket {args.socket}: {error}") from None
    host = host or "127.0.0.1"
    if args.token is not None and not TOKEN.fullmatch(args.token):
        raise InputError("--token: expected 8 to 128 letters, digits, and . _ ~ -")
    from ..serve.listener import is_loopback

    token = args.token
    if token is None and not is_loopback(host):
        import secrets

        token = secrets.token_urlsafe(18)
    if token is not None and not framed:
        raise InputError(
            f"--socket {args.socket}: UARTBone knows no tokens; serve it on 127.0.0.1, without one"
        )
    return (host, port), token
