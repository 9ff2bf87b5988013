"""`web_fetch`: what comes back from a server on loopback, and what is not asked for."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from remit.harness.tools import TOOLS, Desk
from remit.harness.tools.fetching import _parts, _target
from remit.harness.tools.html import readable
from remit.plugins.classifiers import classify
from remit.policy.tools import Call, Facts, Tool
from tests.harness.tools.conftest import Use

PAGES: dict[str, tuple[int, dict[str, str], bytes]] = {
    "/plain": (200, {"Content-Type": "text/plain"}, b"hello\r\nworld"),
    "/latin": (200, {"Content-Type": "text/plain; charset=latin-1"}, b"f\xfcr"),
    "/odd": (200, {"Content-Type": "text/plain; charset=no-such"}, b"x\x1b[31m"),
    "/html": (200, {"Content-Type": "text/html"}, b"<title>T</title><p>a<script>b</script>"),
    "/json": (200, {"Content-Type": "application/problem+json"}, b"{}"),
    "/image": (200, {"Content-Type": "image/png"}, b"\x89PNG"),
    "/gone": (410, {"Content-Type": "text/plain"}, b"gone"),
    "/packed": (200, {"Content-Type": "text/plain", "Content-Encoding": "gzip"}, b"x"),
    "/to-plain": (302, {"Location": "/plain"}, b""),
    "/in-circles": (302, {"Location": "/in-circles"}, b""),
    "/elsewhere": (302, {"Location": "http://elsewhere.test/x"}, b""),
    "/to-file": (302, {"Location": "file:///etc/passwd"}, b""),
    "/large": (200, {"Content-Type": "text/plain"}, b"x" * 6_000_000),
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        if self.path == "/slow":
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            for _ in range(100):
                time.sleep(0.1)
                try:
                    self.wfile.write(b"x")
                    self.wfile.flush()
                except OSError:
                    return
            return
        status, headers, body = PAGES[self.path.partition("?")[0]]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    asked: list[str]

    def handle_error(self, *args: Any) -> None:
        """A client that hangs up is what some tests want."""


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(("127.0.0.1", 0), Handler)
    made.asked = []
    thread = threading.Thread(target=made.serve_forever, args=(0.05,))
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture
def base(server: Server) -> str:
    return f"http://127.0.0.1:{server.server_port}"


class TestFetches:
    @pytest.mark.parametrize(
        ("path", "text"),
        [
            ("/plain", "hello\nworld"),
            ("/plain?a=b&c", "hello\nworld"),
            ("/latin", "für"),
            ("/odd", r"x\x1b[31m"),
            ("/html", "T\n\na"),
            ("/json", "{}"),
        ],
    )
    def test_text(self, base: str, use: Use, path: str, text: str) -> None:
        """Text comes as text, in its own encoding, with nothing that a terminal would obey."""
        answer = use("web_fetch", url=base + path)

        assert (answer.is_error, answer.text) == (False, f"200 {base}{path}\n\n{text}")

    @pytest.mark.parametrize(
        ("path", "said"),
        [
            ("/image", "200: 4 bytes of `image/png`, which is no text"),
            ("/gone", "gone"),
            ("/packed", "packed as `gzip`"),
            ("/in-circles", "more than 5 redirects"),
            ("/to-file", "no address of `http` or `https`"),
        ],
    )
    def test_what_is_no_page(self, base: str, use: Use, path: str, said: str) -> None:
        """Anything else is an error that says what it was."""
        answer = use("web_fetch", url=base + path)

        assert answer.is_error
        assert said in answer.text

    def test_a_redirect_on_one_host(self, base: str, use: Use) -> None:
        """It is followed where the target that was judged stays the same."""
        assert use("web_fetch", url=f"{base}/to-plain").text == f"200 {base}/plain\n\nhello\nworld"

    def test_a_redirect_to_another(self, base: str, server: Server, use: Use) -> None:
        """It is told, not followed: fetching it is a call of its own, judged by its own target."""
        answer = use("web_fetch", url=f"{base}/elsewhere")

        assert not answer.is_error
        assert answer.data["redirect"] == "http://elsewhere.test/x"
        assert server.asked == ["/elsewhere"]

    def test_large_pages_are_cut(self, base: str, use: Use, desk: Desk) -> None:
        """A result is bounded, and so is what is kept for `read`."""
        answer = use("web_fetch", url=f"{base}/large")
        path = answer.text.partition("`read` shows all: `")[2].partition("`")[0]

        assert len(answer.text) < 51_000
        assert "(cut: it was larger)" in answer.text
        assert Path(path).stat().st_size == 5 * 1024 * 1024

    @pytest.mark.parametrize("ends", ["late", "interrupted"])
    def test_slow_servers(self, base: str, desk: Desk, ends: str) -> None:
        """A server that drips is left when its time is over, or the call is cancelled."""
        cancelled = threading.Event()
        if ends == "interrupted":
            threading.Timer(0.3, cancelled.set).start()
        began = time.monotonic()

        args = {"url": f"{base}/slow", "timeout": 1}
        answer = TOOLS["web_fetch"].run(args, evolve(desk, cancelled=cancelled))

        assert answer.data["why"] == ends
        assert time.monotonic() - began < 4


class TestRefuses:
    @pytest.mark.parametrize(
        "url",
        [
            "file:///etc/passwd", "ftp://h/x", "javascript:1", "http://", "h/x", "http://h:0/",
            "http://h:x/", "http://a:b@h/", "http://h/a b", "http://h/ü", "http://h/\r\nX: y",
            "HTTPX://h/", "http://[::1/",
        ],
    )  # fmt: skip
    def test_other_addresses(self, use: Use, url: str) -> None:
        """Only plain addresses of the web are fetched."""
        assert use("web_fetch", url=url).data["why"] == "bad-url"

    def test_a_name_that_leads_inward(
        self, server: Server, use: Use, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A name of the outside that resolves to this machine is refused, and nothing is asked."""
        found = [(2, 1, 6, "", ("127.0.0.1", server.server_port))]
        monkeypatch.setattr("socket.getaddrinfo", lambda *args, **more: found)

        assert use("web_fetch", url="http://outside.test/plain").data["why"] == "inward"
        assert use("web_fetch", url="http://localhost/plain").text.endswith("hello\nworld")
        assert server.asked == ["/plain"]

    def test_nobody_there(self, use: Use) -> None:
        """A server that is not there is an answer."""
        assert use("web_fetch", url="http://127.0.0.1:1/").data["why"] == "unreachable"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://h/a", "https://h/b"),
        ("http://h:80/a", "http://H/b"),
        ("http://h:8080/a", "http://h/a"),
        ("http://h/a", "http://g/a"),
        ("http://h.test/", "http://h/"),
    ],
)
def test_a_redirect_is_judged_as_the_classifier_would(one: str, other: str) -> None:
    """Two addresses are one target here where they are one target to the classifier."""
    tool = Tool("harness", "web_fetch", classify="http", arguments={"url": "url"})

    def targets(url: str) -> Any:
        return classify(Call(tool.key, {"url": url}), tool, Facts()).targets["network.egress"]

    assert (_target(_parts(one)) == _target(_parts(other))) == (targets(one) == targets(other))


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h1>A</h1><p>b\n c</p>", "# A\n\nb c"),
        ("<ul><li>a<li>b</ul>", "- a\n- b"),
        ('<a href="/x">a</a> <a href="#y">b</a>', "a (/x) b"),
        ("<pre>a\n  b</pre>", "a\n  b"),
        ("<style>x</style>a<svg><text>b</text></svg>c", "ac"),
        ("<head><meta></head><body>a&amp;b", "a&b"),
        ("<head><script>x</script><body>a", "a"),
        ("<table><tr><td>a<td>b<tr><td>c</table>", "| a | b\n | c"),
        ("a<br>b<img alt=c>", "a\nb[c]"),
        ("<p>a<script>never closed", "a"),
    ],
)
def test_html_is_read(html: str, text: str) -> None:
    """What a reader would see is told, and nothing that runs."""
    assert readable(html) == text
