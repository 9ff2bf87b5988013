"""Requests over HTTP: what a method on a host does, by what is known of the host."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from urllib.parse import urlsplit

from attrs import frozen

from remit.plugins.shell.reading import Note
from remit.policy.selectors import UNSEEN

__all__ = ["host_of", "request"]

_LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]", "0.0.0.0", "::1"})
_READS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT"})
_QUERY = re.compile(r"""^\s*(?:\{\s*"query"\s*:\s*")?\s*(?:query\b|\{(?!\s*"))""", re.DOTALL)


@frozen
class Rule:
    """What a request to a host does if its method and path match."""

    host: re.Pattern[str]
    methods: frozenset[str]
    path: re.Pattern[str]
    effects: tuple[str, ...]


@cache
def _rules() -> tuple[Rule, ...]:
    text = files("remit.plugins").joinpath("programs/hosts.toml").read_text("utf-8")
    return tuple(
        Rule(
            re.compile(r["host"]),
            frozenset(str(r.get("methods", "POST PUT PATCH DELETE")).split()),
            re.compile(r.get("path", ".*")),
            tuple(str(r["effects"]).split()),
        )
        for r in tomllib.loads(text)["rule"]
    )


def host_of(url: str) -> str:
    """Return the host of a URL, with its port if it names one; empty where there is none."""
    if "://" not in url:
        url = f"http://{url}"
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        return f"{host}:{parts.port}" if parts.port and parts.port not in (80, 443) else host
    except ValueError:
        return ""


def request(note: Note, method: str, url: str, body: str | None = None) -> None:
    """Note what a request does; ``body`` is its text where that is known."""
    method = method.upper()
    host = host_of(url) or UNSEEN
    note.add("network.egress", host, f"{method} to `{host}`")
    if url.lower().startswith("file:"):
        return
    bare = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
    try:
        path = urlsplit(url if "://" in url else f"http://{url}").path or "/"
    except ValueError:
        path = "/"
    if method in _READS:
        return
    graphql = path.rstrip("/").endswith("graphql") and method == "POST" and body is not None
    if graphql and body is not None and _QUERY.match(body) and "mutation" not in body:
        return
    for rule in _rules():
        if method in rule.methods and rule.host.fullmatch(bare) and rule.path.fullmatch(path):
            for effect in rule.effects:
                note.add(effect, host, f"{method} `{path}` on `{host}` has {effect}")
            return
    if bare not in _LOCAL:
        note.add("vendor.write", host, f"{method} changes something on `{host}`")
