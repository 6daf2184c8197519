"""Whoever speaks to the page's server, with right or wrong headers."""

import http.client
import json
from types import SimpleNamespace


class Visitor:
    """Whoever sends requests: by default the page itself, with its cookie."""

    def __init__(self, served):
        self.pass_ = served.pass_
        self.own = {
            "Host": self.pass_.authority,
            "Origin": f"http://{self.pass_.authority}",
            "Content-Type": "application/json",
            "X-Maxmargin": "play",
            "Cookie": f"{self.pass_.cookie_name}={self.pass_.cookie}",
        }

    def send(self, method, path, body=None, **changed):
        """The answer; a header that is None is left out."""
        names = {name.replace("_", "-"): value for name, value in changed.items()}
        headers = {name: value for name, value in {**self.own, **names}.items() if value}
        connection = http.client.HTTPConnection(self.pass_.host, self.pass_.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return SimpleNamespace(
                status=answer.status, headers=dict(answer.getheaders()), body=answer.read()
            )
        finally:
            connection.close()

    def ask(self, request, **changed):
        return self.send("POST", "/ask", json.dumps(request).encode(), **changed)
