"""The guards of the page's server: only the browser that it opened may use it, from its own page.

Any page of the web can send requests to this machine's own address. So every request must name the
host and port that were opened. The page needs a cookie, which only the token of the opened link
gives, once. And a question must come from the page itself: it needs its origin, a JSON type and a
header that a form or an image cannot send. There is no WebSocket, no CORS, and no framing.
"""

import secrets
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
OWN_HEADER = ("x-maxmargin", "play")
TYPES = ("application/json", "application/octet-stream")
BYTES_OF_SECRET = 32
MOST_HEADERS = 16 << 10  # Headers may have this many bytes; a browser sends a tenth of it.


@dataclass
class Pass:
    """The token of the opened link, which works once, and the cookie that it gives."""

    host: str
    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(BYTES_OF_SECRET))
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(BYTES_OF_SECRET))
    is_spent: bool = False

    @property
    def authority(self):
        return f"{self.host}:{self.port}"

    @property
    def url(self):
        return f"http://{self.authority}/?token={self.token}"

    @property
    def cookie_name(self):
        """The cookie's name, which has the port, because cookies are shared by all ports."""
        return f"maxmargin_{self.port}"

    def redeems(self, token):
        """Whether the token is right and has not been used; this uses it."""
        is_right = not self.is_spent and _same(self.token, token)
        self.is_spent = self.is_spent or is_right
        return is_right

    def is_held_by(self, request):
        return _same(self.cookie, request.cookies.get(self.cookie_name, ""))


def _same(secret, given):
    """Whether both are equal, compared in constant time."""
    return secrets.compare_digest(secret.encode(), given.encode())


class Guard:
    """An ASGI application that passes on to another what the pass allows."""

    def __init__(self, app, pass_):
        self.app, self.pass_ = app, pass_

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        answer = self._answer(scope)
        if answer is None:
            await self.app(scope, receive, with_headers(send))
        else:
            await answer(scope, receive, with_headers(send))

    def _answer(self, scope):
        """A refusal or a redirect, or None where the request may pass."""
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MOST_HEADERS:
            return _refused(431, "The headers are too long.")
        request = Request(scope)
        if request.headers.getlist("host") != [self.pass_.authority]:
            return _refused(421, "This is not the address that was opened.")
        token = request.query_params.get("token", "")
        if request.method == "GET" and request.url.path == "/" and token:
            return self._after_token(token, request)
        if not self.pass_.is_held_by(request):
            return _refused(403, "Open the link that `maxmargin play` printed; it is good once.")
        if request.method not in ("GET", "HEAD"):
            return self._answer_to_post(request.headers)
        return None

    def _after_token(self, token, request):
        if self.pass_.is_held_by(request):
            return RedirectResponse("/", 303)
        if not self.pass_.redeems(token):
            return _refused(403, "This link has been used; start `maxmargin play` again.")
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            self.pass_.cookie_name, self.pass_.cookie, path="/", httponly=True, samesite="strict"
        )
        return answer

    def _answer_to_post(self, headers):
        is_own = headers.get("sec-fetch-site", "same-origin") == "same-origin"
        if not is_own or headers.getlist("origin") != [f"http://{self.pass_.authority}"]:
            return _refused(403, "The request does not come from the page.")
        if headers.get("content-type", "").split(";")[0].strip().lower() not in TYPES:
            return _refused(415, "The request must be JSON.")
        if headers.get(OWN_HEADER[0]) != OWN_HEADER[1]:
            return _refused(403, "The request does not come from the page's own script.")
        return None


def _refused(status, words):
    return PlainTextResponse(words + "\n", status)


def with_headers(send):
    """A `send` that adds the security headers to every response."""

    async def sent(message):
        if message["type"] == "http.response.start":
            added = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message["headers"], *added]}
        await send(message)

    return sent
