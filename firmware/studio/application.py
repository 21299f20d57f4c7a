# SPDX-License-Identifier: BSD-2-Clause
"""Web application of the studio: a page, its state, requests and a stream of events, under a secret
path prefix.

Without the token nothing is visible. A post must come from this page itself, by its ``Origin``
header; other pages cannot read its answers. Only the files of the page can be read, none can be
written.
"""

from __future__ import annotations

import asyncio
import json
import queue
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from quintet.tools.errors import InputError
from quintet.tools.report.page import STYLE

if TYPE_CHECKING:
    from .studio import Studio

__all__ = ["MOST_BYTES", "make_application"]

#: Bytes of a post, at most.
MOST_BYTES = 1 << 20

_PAGE = Path(__file__).parent / "page"
#: Name in the address -> the file and its media type.
_FILES = {
    "": (_PAGE / "index.html", "text/html"),
    "studio.js": (_PAGE / "studio.js", "text/javascript"),
    "studio.css": (_PAGE / "studio.css", "text/css"),
    STYLE.name: (STYLE, "text/css"),
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}
#: Seconds after which a silent stream of events sends a sign of life, and sees whether anyone
#: listens.
_ALIVE = 10
#: Seconds between two looks for an event.
_LOOK = 0.05
#: Streams of events at a time: each looks for events again and again.
MOST_LISTENERS = 16
#: Seconds that a post's body may take.
BODY_SECONDS = 20.0


def make_application(studio: Studio, token: str, port: int) -> Starlette:
    """Creates the application of ``studio`` under ``/token/`` on 127.0.0.1, ``port``."""
    hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    def guarded(handler):
        async def guard(request):
            if request.headers.get("host") not in hosts:  # a name that leads here from elsewhere
                response = PlainTextResponse("unknown host", 400)
            elif request.method == "POST" and request.headers.get("origin") not in {
                f"http://{host}" for host in hosts
            }:
                response = JSONResponse({"error": "a post must come from the page itself"}, 403)
            else:
                response = await handler(request)
            response.headers.update(_HEADERS)
            return response

        return guard

    def page(file, kind):
        async def send(_):
            return Response(file.read_bytes(), media_type=kind)

        return send

    async def state(_):
        return JSONResponse(studio.described())

    async def recognise(request):
        try:
            body = await asyncio.wait_for(_body(request), BODY_SECONDS)
        except asyncio.TimeoutError:
            return JSONResponse({"error": f"no whole body in {BODY_SECONDS:g} s"}, 408)
        if body is None:
            return JSONResponse({"error": f"more than {MOST_BYTES} bytes"}, 413)
        try:
            given = json.loads(body)
            if not isinstance(given, dict):
                raise InputError("expected an object")
            return JSONResponse(studio.recognise(given))
        except (ValueError, RecursionError):
            return JSONResponse({"error": "expected JSON"}, 400)
        except InputError as error:
            return JSONResponse({"error": str(error)}, 400)

    async def events(request):
        if studio.listeners >= MOST_LISTENERS:
            return JSONResponse({"error": f"{MOST_LISTENERS} pages look on: close one"}, 503)
        return StreamingResponse(_events(studio, request), media_type="text/event-stream")

    async def nothing(*_):
        return PlainTextResponse("not found", 404, _HEADERS)

    routes = [
        Route(f"/{token}/{path}", guarded(page(*file)), methods=["GET"])
        for path, file in _FILES.items()
    ]
    routes += [
        Route(f"/{token}/api/state", guarded(state), methods=["GET"]),
        Route(f"/{token}/api/events", guarded(events), methods=["GET"]),
        Route(f"/{token}/api/recognise", guarded(recognise), methods=["POST"]),
    ]
    return Starlette(routes=routes, exception_handlers={404: nothing, 405: nothing})


async def _body(request):
    """Body of a POST request, or ``None`` if it is too long."""
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > MOST_BYTES:
                return None
            parts.append(part)
    except ClientDisconnect:
        return None
    return b"".join(parts)


async def _events(studio, request):
    # Requests of one instant may all have found a place free.
    listener = studio.listen(MOST_LISTENERS)
    if listener is None:
        return
    try:
        yield f"data: {json.dumps({'kind': 'hello', **studio.described()})}\n\n"
        silent = 0.0
        while not studio.ended.is_set() and not await request.is_disconnected():
            try:
                event = listener.get_nowait()
            except queue.Empty:
                await asyncio.sleep(_LOOK)
                silent += _LOOK
                if silent >= _ALIVE:
                    silent = 0.0
                    yield ": \n\n"
                continue
            silent = 0.0
            yield f"data: {json.dumps(event)}\n\n"
    finally:
        studio.leave(listener)
