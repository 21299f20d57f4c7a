# SPDX-License-Identifier: BSD-2-Clause
"""Draw a digit and see it recognised by the cores, on a web page that only this machine can reach.

Prints the page's address, opens it in the browser, and serves until it is interrupted (ctrl-C).
Needs the extra "studio" (pip install onnx starlette uvicorn).
"""

from __future__ import annotations

import argparse
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from quintet.gateware.requirements import extra_command
from quintet.tools.errors import Exit, InputError, NoDeviceError

if TYPE_CHECKING:
    from quintet.tools.console import Console

#: Board that the page shows first, if its virtual board is available.
_BOARD = "ulx3s-85f"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--board",
        default=_BOARD,
        metavar="NAME",
        help=f"virtual board that the page begins with (default: {_BOARD})",
    )
    parser.add_argument(
        "--models", action="store_true", help="begin with golden models, which need no C++ compiler"
    )
    parser.add_argument(
        "--on",
        metavar="PORT",
        action="append",
        default=[],
        help="a connected board too; may be given several times",
    )
    parser.add_argument(
        "--plan",
        metavar="DIR",
        action="append",
        default=[],
        help="a compiled network too; may be given several times",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=0,
        help="port of the page on 127.0.0.1 (default: any that is free)",
    )
    parser.add_argument("--no-browser", action="store_true", help="only print the page's address")


def run(args: argparse.Namespace, console: Console) -> int:
    if not 0 <= args.port < 65536:
        raise InputError(f"--port {args.port}: expected 0 to 65535")
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise NoDeviceError(f"{error.name} is missing: {extra_command('studio')}") from None
    try:
        import onnx  # noqa: F401
    except ImportError:
        raise NoDeviceError(f"onnx is missing: {extra_command('studio')}") from None
    from .networks import DigitsNetwork, PlanNetwork
    from .places import first_places, list_places
    from .studio import Studio

    networks: list[DigitsNetwork | PlanNetwork] = [
        DigitsNetwork("cnn", "Digits, convolutions", "cnn.onnx"),
        DigitsNetwork("mlp", "Digits, 64-32-10", "mlp.onnx"),
    ]
    networks += [PlanNetwork(f"plan{number}", folder) for number, folder in enumerate(args.plan)]
    places = list_places(args.on)
    chosen = first_places(places, None if args.models else args.board, args.on)
    import secrets

    token = secrets.token_urlsafe(24)
    listener = _listen(args.port)
    studio = Studio(networks, places, chosen)
    try:
        _serve(uvicorn, studio, token, listener, args, console)
    finally:
        studio.close()
        listener.close()
    return Exit.OK


def _listen(port):
    import socket

    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()  # a browser that is quicker than the server waits
    except OSError as error:
        listener.close()
        raise InputError(f"--port {port}: {error.strerror or error}") from None
    return listener


def _serve(uvicorn, studio, token, listener, args, console):
    from .application import make_application

    port = listener.getsockname()[1]
    address = f"http://127.0.0.1:{port}/{token}/"
    console.result({"address": address, "port": port})
    console.out(f"quintet studio is at {address} (ctrl-C ends it)")
    config = uvicorn.Config(
        make_application(studio, token, port),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=1,
        lifespan="off",
        server_header=False,
    )

    class Server(uvicorn.Server):
        def handle_exit(self, sig, frame):
            studio.ended.set()  # open pages would keep it from ending
            super().handle_exit(sig, frame)

    with _shown_in_browser(address) if not args.no_browser else nullcontext():
        Server(config).run(sockets=[listener])


@contextmanager
def _shown_in_browser(address):
    """Opens the page in the browser through a file that only this user can read, since other users
    could read an address, and its token, on the browser's command line."""
    import tempfile
    import webbrowser
    from html import escape
    from pathlib import Path

    with tempfile.TemporaryDirectory(prefix="quintet-studio-") as folder:
        page = Path(folder, "open.html")
        page.touch(mode=0o600)
        page.write_text(
            f'<!doctype html><meta charset="utf-8"><title>quintet studio</title>'
            f'<meta http-equiv="refresh" content="0;url={escape(address)}">'
            f'<a href="{escape(address)}">quintet studio</a>'
        )
        webbrowser.open(page.as_uri())
        yield
