"""`web_fetch`: one page of the web, bounded in time and size, as text.

A redirect to another host is not followed but told: as a call of its own it is judged by its own
target. Nothing is sent but the address; no cookie, no credential.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
from contextlib import suppress
from urllib.parse import SplitResult, urljoin, urlsplit

from attrs import define, field, frozen

from remit.harness.tools.declaration import HarnessTool, Result, says
from remit.harness.tools.desk import Desk, Halted, Refused
from remit.harness.tools.files import BYTES, spill
from remit.harness.tools.html import readable
from remit.policy.escape import escape, quoted

__all__ = ["WEB_FETCH"]

_SIZE, _REDIRECTS, _POLL = 5 * 1024 * 1024, 5, 0.02
_TEXT = ("text/", "application/json", "application/xml", "application/javascript")


@frozen
class WebFetch:
    """Fetch a page."""

    url: str = says("The address, with `http://` or `https://`.", least=1, most=4_000)
    timeout: int = says("Seconds for all of it.", default=30, least=1, most=120)


@define
class _Page:
    """What came back, or why nothing did."""

    status: int = 0
    kind: str = ""
    charset: str = "utf-8"
    body: bytes = b""
    cut: bool = False
    to: str | None = None
    wrong: Exception | None = None
    connection: http.client.HTTPConnection | None = None
    lock: threading.Lock = field(factory=threading.Lock)


def _web_fetch(args: WebFetch, desk: Desk) -> Result:
    url, until = args.url, desk.clock() + args.timeout
    for _ in range(_REDIRECTS + 1):
        parts = _parts(url)
        found = _within(parts, desk, until)
        if found.to is None:
            return _told(url, found, desk)
        to = urljoin(url, found.to)
        if _target(_parts(to)) != _target(parts) or (
            parts.scheme == "https" and not to.startswith("https:")
        ):
            return Result(
                f"{quoted(url, 300)} leads elsewhere, to {quoted(to, 1000)}; fetch that if it is "
                "wanted",
                data={"status": found.status, "url": url, "redirect": to},
            )
        url = to
    raise Refused(f"more than {_REDIRECTS} redirects, the last to {quoted(url, 300)}", "redirects")


def _parts(url: str) -> SplitResult:
    """Return the parts of an address; raises `Refused` for what is none of the web's."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise Refused(f"{quoted(url)} is no address: {error}", "bad-url") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise Refused(f"{quoted(url)} is no address of `http` or `https`", "bad-url")
    if parts.username is not None or parts.password is not None:
        raise Refused("an address with a name or a password in it is not fetched", "bad-url")
    if not url.isascii() or not url.isprintable() or " " in url:
        raise Refused(f"{quoted(url)} is to be written in ASCII, percent-encoded", "bad-url")
    return parts


def _target(parts: SplitResult) -> tuple[str | None, int | None]:
    """Return what a request is judged by: its host, and the port where that is not usual."""
    return parts.hostname, None if parts.port in (80, 443) else parts.port


def _within(parts: SplitResult, desk: Desk, until: float) -> _Page:
    """Fetch in a thread that may be left behind: no part of a request can be waited for forever."""
    page = _Page()
    thread = threading.Thread(target=_fetch, args=(parts, page, until - desk.clock()), daemon=True)
    thread.start()
    while thread.is_alive():
        if desk.cancelled.is_set() or desk.clock() > until:
            with page.lock:
                _hang_up(page.connection)
            if desk.cancelled.is_set():
                raise Halted
            raise Refused(f"`{parts.hostname}` took longer than it may", "late")
        thread.join(_POLL)
    if page.wrong is not None:
        if isinstance(page.wrong, Refused):
            raise page.wrong
        why = escape(str(page.wrong) or type(page.wrong).__name__)[:300]
        raise Refused(f"`{parts.hostname}` cannot be fetched from: {why}", "unreachable")
    return page


def _hang_up(connection: http.client.HTTPConnection | None) -> None:
    if connection is not None and connection.sock is not None:
        with suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)


def _fetch(parts: SplitResult, page: _Page, seconds: float) -> None:
    try:
        host = parts.hostname or ""
        if parts.scheme == "https":
            made: http.client.HTTPConnection = http.client.HTTPSConnection(
                host, parts.port, timeout=seconds, context=ssl.create_default_context()
            )
        else:
            made = http.client.HTTPConnection(host, parts.port, timeout=seconds)
        with page.lock:
            page.connection = made
        try:
            made.connect()
            _check_peer(host, made.sock)
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            made.request(
                "GET", path, headers={"User-Agent": "remit", "Accept": "text/html, text/*, */*"}
            )
            with made.getresponse() as response:
                _take(response, page)
        finally:
            made.close()
    except Exception as error:
        page.wrong = error


def _check_peer(host: str, sock: socket.socket) -> None:
    """Refuse a name that leads to this machine or its metadata, when it does not look so.

    It was judged by its name, and whoever owns a name decides where it leads.
    """
    peer = ipaddress.ip_address(sock.getpeername()[0].partition("%")[0])
    peer = getattr(peer, "ipv4_mapped", None) or peer
    try:
        ipaddress.ip_address(host)
        named = True
    except ValueError:
        named = host == "localhost"
    if not named and (peer.is_loopback or peer.is_link_local or peer.is_unspecified):
        raise Refused(f"`{host}` leads to `{peer}`, which is to be named itself", "inward")


def _take(response: http.client.HTTPResponse, page: _Page) -> None:
    page.status = response.status
    page.kind = response.headers.get_content_type()
    page.charset = response.headers.get_content_charset() or "utf-8"
    if response.status in (301, 302, 303, 307, 308):
        page.to = response.headers.get("Location")
        if page.to is not None:
            return
    coding = response.headers.get("Content-Encoding", "identity")
    if coding != "identity":
        raise Refused(f"the answer is packed as {quoted(coding)}, unasked", "encoding")
    page.body = response.read(_SIZE + 1)
    page.cut = len(page.body) > _SIZE
    page.body = page.body[:_SIZE]


def _told(url: str, page: _Page, desk: Desk) -> Result:
    data = {"status": page.status, "url": url, "kind": page.kind, "bytes": len(page.body)}
    wrong = page.status >= 400
    if not page.kind.startswith(_TEXT) and not page.kind.endswith(("+json", "+xml")):
        said = f"{page.status}: {len(page.body)} bytes of {quoted(page.kind)}, which is no text"
        return Result(said, True, data)
    try:
        text = page.body.decode(page.charset, "replace")
    except LookupError:
        text = page.body.decode("utf-8", "replace")
    if page.kind in ("text/html", "application/xhtml+xml"):
        text = readable(text)
    text = escape(text.replace("\r\n", "\n"), lines=True)
    raw = text.encode()
    more = " (cut: it was larger)" if page.cut else ""
    if len(raw) > BYTES:
        path = spill(desk, "page", raw)
        more += f" (the first {BYTES} bytes of {len(raw)}" + (
            f"; `read` shows all: `{path}`)" if path else ")"
        )
        text = raw[:BYTES].decode("utf-8", "ignore")
    return Result(f"{page.status} {url}{more}\n\n{text}", wrong, data)


WEB_FETCH = HarnessTool(
    "web_fetch",
    "Fetch a page of the web by GET and read it as text. A redirect to another host is told, not "
    "followed.",
    WebFetch,
    _web_fetch,
)
