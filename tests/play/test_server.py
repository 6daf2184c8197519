"""Let no one in: every guard of the page's server, on the server as it runs."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice
from types import SimpleNamespace

import pytest
from visitors import Visitor  # this folder is on the path

from maxmargin.play.fits import TOO_LONG, Fits
from maxmargin.play.limits import RequestError
from maxmargin.play.wire import unpacked

pytest.importorskip("starlette", reason="the page's server is the extra [play]")
from maxmargin.play.server import MOST_WAITING, running

FIT = {"ask": "fit", "data": {"name": "moons", "n": 12}}
# Where all points are one point, simplified SMO draws partners in vain, pass after pass.
ENDLESS = {
    "ask": "fit",
    "data": {
        "name": "points",
        "box": [0, 1, 0, 1],
        "points": [[9, 9, k % 2, 10] for k in range(400)],
    },
    "solver": "smo_simplified",
}


def test_the_page_asks_and_is_answered(visitor):
    answer = visitor.ask(FIT)
    assert answer.status == 200
    assert unpacked(answer.body).header["n"] == 12
    for path, kind in (
        ("/", "text/html"),
        ("/page.js", "text/javascript"),
        ("/page.css", "text/css"),
    ):
        page = visitor.send("GET", path)
        assert page.status == 200
        assert page.headers["content-type"].startswith(kind)


def test_the_token_is_good_once_and_turns_into_a_cookie_that_scripts_cannot_read(served, visitor):
    path = f"/?token={served.pass_.token}"
    first = visitor.send("GET", path, Cookie=None)
    assert (first.status, first.headers["location"]) == (303, "/")
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert visitor.send("GET", path, Cookie=None).status == 403
    assert visitor.send("GET", path).status == 303  # of the browser that has the cookie
    named = cookie.split(";")[0]
    assert visitor.send("GET", "/", Cookie=named).status == 200


@pytest.mark.parametrize("token", ["", "wrong", "%00", "é"])
def test_no_token_no_page(visitor, token):
    answer = visitor.send("GET", f"/?token={token}".encode("ascii", "ignore").decode(), Cookie=None)
    assert answer.status == 403
    assert b"maxmargin play" in answer.body


@pytest.mark.parametrize(
    "cookie", [None, "maxmargin=x", "{name}=", "{name}=wrong", "{name}=\xe9", ";;="]
)
def test_no_cookie_no_answer(visitor, cookie):
    name = visitor.pass_.cookie_name
    cookie = cookie and cookie.format(name=name).encode("latin-1").decode("latin-1")
    assert visitor.ask(FIT, Cookie=cookie).status == 403
    assert visitor.send("GET", "/page.js", Cookie=cookie).status == 403


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1:{port}.evil"],
)  # fmt: skip
def test_a_forged_host_or_a_wrong_port_is_refused(visitor, host):
    host = host and host.format(port=visitor.pass_.port)
    assert visitor.send("GET", "/", Host=host).status == 421
    assert visitor.ask(FIT, Host=host).status == 421


def test_a_request_without_a_host_is_none(visitor):
    assert visitor.send("GET", "/", Host=None).status == 400


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}",
     "http://localhost:{port}", None],
)  # fmt: skip
def test_a_foreign_origin_is_refused(visitor, origin):
    origin = origin and origin.format(port=visitor.pass_.port)
    assert visitor.ask(FIT, Origin=origin).status == 403


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None]
)
def test_what_a_form_can_send_is_refused(visitor, kind):
    assert visitor.ask(FIT, Content_Type=kind).status == 415


def test_what_the_browser_says_comes_from_elsewhere_is_refused(visitor):
    assert visitor.ask(FIT, Sec_Fetch_Site="same-origin").status == 200
    for site in ("cross-site", "same-site", "none"):
        assert visitor.ask(FIT, Sec_Fetch_Site=site).status == 403


def test_headers_beyond_sixteen_kilobytes_are_refused(visitor):
    assert visitor.send("GET", "/", X_Long="x" * 15_000).status == 200
    assert visitor.send("GET", "/", X_Long="x" * 17_000).status in (400, 431)


def test_the_own_header_is_needed(visitor):
    assert visitor.ask(FIT, X_Maxmargin=None).status == 403
    assert visitor.ask(FIT, X_Maxmargin="other").status == 403


def test_there_is_no_cors_and_no_websocket(visitor):
    asked = visitor.send(
        "OPTIONS", "/ask", Origin="http://evil.example", Access_Control_Request_Method="POST"
    )
    assert asked.status == 403
    assert not any(name.startswith("access-control") for name in asked.headers)
    upgrade = visitor.send(
        "GET", "/ask", Connection="Upgrade", Upgrade="websocket", Sec_WebSocket_Version="13",
        Sec_WebSocket_Key="AAAAAAAAAAAAAAAAAAAAAA==",
    )  # fmt: skip
    assert upgrade.status == 405


@pytest.mark.parametrize("path", ["/", "/page.js", "/nothing", "/ask", "/?token=wrong"])
def test_every_answer_says_what_a_browser_may_do_with_it(visitor, path):
    for cookie in (visitor.own["Cookie"], None):
        headers = visitor.send("GET", path, Cookie=cookie).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        allowed = dict(part.split(" ", 1) for part in policy.split("; "))
        own = {name for name, value in allowed.items() if value == "'self'"}
        assert own == {"script-src", "style-src", "connect-src", "img-src"}
        assert all(value == "'none'" for name, value in allowed.items() if name not in own)
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    ["/../server.py", "/%2e%2e/server.py", "/static/page.js", "/index.html", "//etc/passwd",
     "/page.js/.."],
)  # fmt: skip
def test_only_the_files_of_the_page_are_served(visitor, path):
    assert visitor.send("GET", path).status == 404


def test_a_body_above_a_megabyte_is_refused(visitor):
    assert visitor.send("POST", "/ask", b"x" * ((1 << 20) + 1)).status == 413


def test_a_body_that_comes_too_slowly_is_refused(visitor):
    head = "".join(f"{name}: {value}\r\n" for name, value in visitor.own.items())
    with socket.create_connection((visitor.pass_.host, visitor.pass_.port), timeout=60) as slow:
        slow.sendall(f"POST /ask HTTP/1.1\r\n{head}Content-Length: 100\r\n\r\n{{".encode())
        assert b" 408 " in slow.recv(4096)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[1]", b'{"ask": "fit", "model": {"C": NaN}}', b"[" * 100_000, b"\xff\xfe",
     b'{"ask": "fit", "model": {"C": 1e400}}', b'{"ask": ' + b"9" * 100_000 + b"}"],
    ids=range(8),
)  # fmt: skip
def test_a_request_that_makes_no_sense_is_refused_in_words(visitor, body):
    answer = visitor.send("POST", "/ask", body)
    assert answer.status == 400
    assert json.loads(answer.body)["error"]
    assert visitor.ask(FIT).status == 200


def test_an_endless_fit_is_ended_and_the_next_one_is_made(visitor):
    answer = visitor.ask(ENDLESS)
    assert answer.status == 400
    assert json.loads(answer.body)["error"] == TOO_LONG
    assert visitor.ask(FIT).status == 200


def test_one_fit_is_made_at_a_time_and_only_so_many_wait(tmp_path):
    gate, made = tmp_path / "gate", tmp_path / "made"
    behind_a_gate = (
        "import os, sys, time; os.write(1, b'R' + bytes(4))\n"
        "while size := int.from_bytes(os.read(0, 4), 'little'):\n"
        f"    os.read(0, size); open({str(made)!r}, 'a').write('x')\n"
        f"    while not os.path.exists({str(gate)!r}): time.sleep(0.01)\n"
        "    os.write(1, b'A' + bytes(4))\n"
    )
    fits = Fits((sys.executable, "-c", behind_a_gate))
    try:
        with running(fits) as pass_, ThreadPoolExecutor(MOST_WAITING + 3) as many:
            visitor = Visitor(SimpleNamespace(pass_=pass_))
            asked = [many.submit(visitor.ask, FIT) for _ in range(MOST_WAITING + 3)]
            refused = [one.result().status for one in islice(as_completed(asked), 3)]
            assert refused == [503] * 3
            assert len(made.read_text()) <= 1  # the others wait for the first
            gate.touch()
            assert sorted(one.result().status for one in asked) == [200] * MOST_WAITING + refused
    finally:
        fits.end()


# The worker.


def python(code):
    words = [sys.executable, "-c", code]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)


def test_a_worker_that_never_answers_is_ended():
    ready_and_silent = "import os, time; os.write(1, b'R' + bytes(4)); time.sleep(600)"
    fits = Fits((sys.executable, "-c", ready_and_silent), seconds=0.3)
    try:
        for _ in range(2):  # the second time of a new process
            with pytest.raises(RequestError, match="more than two seconds"):
                fits.ask(b"{}")
    finally:
        fits.end()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no such timer")
def test_the_time_of_a_worker_is_limited_by_the_system():
    found = python(
        "from maxmargin.play.worker import limit_time; limit_time(0.05)\nwhile True: pass"
    )
    assert found.returncode == -signal.SIGPROF


def test_the_memory_of_a_worker_is_limited_by_the_system():
    pytest.importorskip("resource", reason="this system has no such limit")
    found = python(
        "from maxmargin.play.worker import limit_memory; limit_memory(); bytearray(8 << 30)"
    )
    assert "MemoryError" in found.stderr


# The command.


def test_play_prints_one_line_with_the_link_and_ends_with_ctrl_c():
    words = [sys.executable, "-c", "from maxmargin.cli import main; raise SystemExit(main())"]
    process = subprocess.Popen(
        [*words, "play", "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"}, start_new_session=True,
    )  # fmt: skip
    try:
        line = process.stdout.readline()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{43}\n", line)
        port = int(re.search(r":(\d+)/", line)[1])
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        with pytest.raises(OSError):  # another address of the same machine
            socket.create_connection(("127.0.0.2", port), 1)
        time.sleep(0.5)  # until the server has taken over Ctrl-C
        os.killpg(process.pid, signal.SIGINT)  # a terminal tells all processes of the command
        rest, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert rest == ""
    assert said == "maxmargin: the page has stopped.\n"
    assert process.returncode == 0


def test_another_host_needs_a_flag_and_warns(monkeypatch, capsys):
    from maxmargin import cli
    from maxmargin.play import server

    asked = []
    monkeypatch.setattr(server, "serve", lambda *given: asked.append(given[:3]))
    assert cli.main(["play", "--port", "0", "--no-browser", "--host", "0.0.0.0"]) == 0
    assert cli.main(["play", "--no-browser"]) == 0
    assert asked == [(0, "0.0.0.0", False), (0, "127.0.0.1", False)]
    assert capsys.readouterr().err.count("lets other machines reach this page") == 1
