"""The local server of the page: three files and one question, on this machine's own address.

A question goes to a worker process (`play/fits.py`) after its size and its pace are checked.
`play/guards.py` decides which requests may ask.
"""

import socket
import threading
import time
import webbrowser
from contextlib import contextmanager

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from maxmargin.play import STATIC
from maxmargin.play.fits import Fits
from maxmargin.play.guards import MOST_HEADERS, Guard, Pass
from maxmargin.play.limits import RequestError

HOME = "127.0.0.1"
FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
MOST_BYTES = 1 << 20  # A request has at most this many bytes.
BODY_SECONDS = 5.0  # A request must arrive within this time.
MOST_WAITING = 8  # At most this many requests may wait for the one worker.


def application(fits, pass_, body_seconds=BODY_SECONDS):
    """The ASGI application with all its guards."""
    waiting = anyio.CapacityLimiter(MOST_WAITING)

    async def ask(request):
        body = await body_of(request, body_seconds)
        if waiting.available_tokens < 1:
            raise HTTPException(503, "The page asks faster than fits can be made.")
        async with waiting:
            try:
                reply = await run_in_threadpool(fits.ask, body)
            except RequestError as error:
                return JSONResponse({"error": str(error)}, 400)
        return Response(reply, media_type="application/octet-stream")

    routes = [Route(path, _file(*what)) for path, what in FILES.items()]
    routes.append(Route("/ask", ask, methods=["POST"]))
    return Guard(Starlette(routes=routes), pass_)


def _file(name, media_type):
    async def send_file(request):
        return Response((STATIC / name).read_bytes(), media_type=media_type)

    return send_file


async def body_of(request, seconds):
    """The body of a request, which must not be too large or too slow."""
    parts, size = [], 0
    try:
        with anyio.fail_after(seconds):
            async for part in request.stream():
                size += len(part)
                if size > MOST_BYTES:
                    raise HTTPException(413, "A request may have a megabyte at most.")
                parts.append(part)
    except TimeoutError:
        raise HTTPException(408, "The request took too long to arrive.") from None
    return b"".join(parts)


def new_socket():
    """A socket that names its protocol. Of others asyncio does not know that they are TCP, and lets
    the system hold back the end of every reply for 40 ms."""
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)


def serve(port=0, host=HOME, open_browser=True, tell=print):
    """Serve the page until Ctrl-C; `tell` is called with the link."""
    with new_socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        pass_, fits = Pass(host, listener.getsockname()[1]), Fits()
        server = uvicorn.Server(configuration(application(fits, pass_)))
        tell(pass_.url)
        if open_browser:
            webbrowser.open(pass_.url)
        try:
            server.run(sockets=[listener])
        finally:
            fits.end()


@contextmanager
def running(fits, body_seconds=BODY_SECONDS):
    """The page served by a thread, as long as the block lasts; the pass says where, and lets in."""
    with new_socket() as listener:
        listener.bind((HOME, 0))
        pass_ = Pass(HOME, listener.getsockname()[1])
        server = uvicorn.Server(configuration(application(fits, pass_, body_seconds)))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield pass_
        finally:
            server.should_exit = True
            thread.join()


def configuration(app):
    return uvicorn.Config(
        app, http="h11", ws="none", lifespan="off", log_level="warning", proxy_headers=False,
        server_header=False, limit_concurrency=64, timeout_keep_alive=5,
        timeout_graceful_shutdown=1, h11_max_incomplete_event_size=MOST_HEADERS,
    )  # fmt: skip
