"""Programs that send requests: what counts is the method and the place, not the program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from remit.plugins.shell.argv import Argv, read
from remit.plugins.shell.given import given
from remit.plugins.shell.reading import Note
from remit.plugins.shell.tables import Entry
from remit.plugins.shell.values import Loose, Text, options_of, shown
from remit.plugins.web import request
from remit.policy.selectors import UNSEEN

if TYPE_CHECKING:
    from remit.plugins.shell.walk import Walk

__all__ = ["curl", "gh_api", "wget"]

_DATA = (
    "-d",
    "--data",
    "--data-ascii",
    "--data-binary",
    "--data-raw",
    "--data-urlencode",
    "--json",
)
_FORM = ("-F", "--form", "--form-string")


#: How many methods of one command are followed; each may go with each of its addresses.
_METHODS = 8


def _few(note: Note, methods: Sequence[Text]) -> Sequence[Text]:
    found = tuple(dict.fromkeys(methods))
    if len(found) > _METHODS:
        note.blind("it names more methods than are followed")
    return found[:_METHODS]


def _send(note: Note, methods: Sequence[Text], url: Text, body: str | None) -> None:
    for method in methods:
        for verb in options_of(method) or ("POST",):
            if isinstance(url, Loose) and not url.choices:
                known = (
                    url.prefix
                    if url.prefix.count("/") > 2 or "/" in url.prefix.partition("://")[0]
                    else ""
                )
                request(note, verb, known, body)
            else:
                for text in options_of(url):
                    request(note, verb, text, body)


def curl(walk: Walk, note: Note, entry: Entry, args: Sequence[Text]) -> None:
    """``curl`` and its like."""
    argv = read(args, entry.grammar)
    given(walk, note, entry, argv)
    body = next((shown(v) for v in argv.values(*_DATA)), None)
    for value in argv.values(*_FORM):
        for part in shown(value).split(";"):
            name, _, content = part.partition("=")
            if content[:1] in ("@", "<"):
                walk.touch(note, content[1:], "read")
    methods = _few(note, argv.values("-X", "--request"))
    if not methods:
        if argv.has(("-I", "--head")):
            methods = ["HEAD"]
        elif argv.has(("-T", "--upload-file")):
            methods = ["PUT"]
        elif argv.has(("-G", "--get")):
            methods = ["GET"]
        elif argv.has(_DATA) or argv.has(_FORM):
            methods = ["POST"]
        else:
            methods = ["GET"]
    urls = [*argv.operands, *argv.values("--url")]
    folder = next(iter(argv.values("--output-dir")), None)
    for url in urls:
        _send(note, methods, url, body)
        if argv.has(("-O", "--remote-name", "--remote-name-all", "-J")):
            name = shown(url).partition("?")[0].rstrip("/").rpartition("/")[2] or "index.html"
            walk.touch(note, f"{shown(folder)}/{name}" if folder is not None else name, "write")
    if not urls:
        note.add("network.egress", UNSEEN, "it cannot be seen which host is contacted")


def wget(walk: Walk, note: Note, entry: Entry, args: Sequence[Text]) -> None:
    """``wget``: it writes what it gets, unless told otherwise."""
    argv = read(args, entry.grammar)
    given(walk, note, entry, argv)
    methods = _few(note, argv.values("--method"))
    body = next((shown(v) for v in argv.values("--post-data", "--body-data")), None)
    if not methods:
        posts = argv.has(("--post-data", "--post-file", "--body-data", "--body-file"))
        methods = ["POST"] if posts else ["GET"]
    for url in argv.operands or [Loose("?")]:
        _send(note, methods, url, body)
    if argv.has(("-O", "--output-document", "--spider")):
        return
    walk.touch(note, next(iter(argv.values("-P", "--directory-prefix")), "."), "write")


def _fields(argv: Argv) -> list[Text]:
    return argv.values("-f", "--raw-field", "-F", "--field")


def gh_api(walk: Walk, note: Note, entry: Entry, args: Sequence[Text]) -> None:
    """``gh api`` and ``glab api``: a request to the host's own programming interface."""
    argv = read(args, entry.grammar)
    if argv.loose:
        note.blind(f"`{argv.loose[0].raw}` may be an option of `{entry.name}`")
    fields = _fields(argv)
    methods = _few(note, argv.values("-X", "--method"))
    if not methods:
        methods = ["POST" if fields or argv.has(("--input",)) else "GET"]
    for value in argv.values("--input"):
        walk.touch(note, value, "read")
    for value in fields:
        content = shown(value).partition("=")[2]
        if content[:1] == "@":
            walk.touch(note, content[1:], "read")
    host = shown(next(iter(argv.values("--hostname")), entry.host))
    query = next((shown(f)[6:] for f in fields if shown(f).startswith("query=")), None)
    base = f"https://{host}/api/v4/" if entry.name.startswith("glab") else f"https://{host}/"
    endpoint = argv.operands[0] if argv.operands else ""
    if isinstance(endpoint, str):
        url: Text = endpoint if "://" in endpoint else base + endpoint.lstrip("/")
    else:
        url = Loose(endpoint.raw, base + endpoint.prefix.lstrip("/"))
    _send(note, methods, url, query)
