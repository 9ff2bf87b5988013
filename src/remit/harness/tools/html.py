"""HTML as text: what a reader would see, with the addresses of links."""

from __future__ import annotations

import re
from html.parser import HTMLParser

__all__ = ["readable"]

_UNSEEN = frozenset({"script", "style", "template", "noscript", "svg", "head", "iframe", "object"})
_BLOCKS = frozenset(
    {
        "address", "article", "aside", "blockquote", "dd", "div", "dl", "dt", "figure", "footer",
        "form", "header", "hr", "main", "nav", "ol", "p", "pre", "section", "table", "tr", "ul",
    }
)  # fmt: skip
_HEADS = {f"h{n}": "#" * n for n in range(1, 7)}


def readable(html: str) -> str:
    """Return the text of a page: headings with `#`, items with `-`, links with their address."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    lines = (line.rstrip() for line in reader.text().split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._out: list[str] = []
        self._unseen: list[str] = []
        self._title: list[str] | None = None
        self._named = ""
        self._plain = 0
        self._links: list[str] = []

    def text(self) -> str:
        title = " ".join(self._named.split())
        return (f"{title}\n\n" if title else "") + "".join(self._out)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title" and not self._named:
            self._title = []
        elif tag == "body":
            # A head that was never closed hides nothing of it.
            self._unseen.clear()
        elif tag in _UNSEEN:
            self._unseen.append(tag)
        elif self._unseen:
            return
        elif tag in _HEADS:
            self._out.append(f"\n\n{_HEADS[tag]} ")
        elif tag == "li":
            self._out.append("\n- ")
        elif tag == "br":
            self._out.append("\n")
        elif tag in ("td", "th"):
            self._out.append(" | ")
        elif tag in _BLOCKS:
            self._out.append("\n" if tag == "tr" else "\n\n")
            self._plain += tag == "pre"
        elif tag == "a":
            self._links.append(dict(attrs).get("href") or "")
        elif tag == "img" and (said := dict(attrs).get("alt")):
            self._out.append(f"[{said}]")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title" and self._title is not None:
            self._named, self._title = "".join(self._title), None
        elif tag in self._unseen:
            del self._unseen[self._unseen.index(tag) :]
        elif self._unseen:
            return
        elif tag == "a" and self._links:
            href = self._links.pop()
            if href and not href.startswith(("#", "javascript:")):
                self._out.append(f" ({href})")
        elif tag in _HEADS or (tag in _BLOCKS and tag != "tr"):
            self._out.append("\n\n")
            self._plain -= tag == "pre" and self._plain > 0

    def handle_data(self, data: str) -> None:
        if self._title is not None:
            self._title.append(data)
        elif not self._unseen:
            self._out.append(data if self._plain else self._flowing(data))

    def _flowing(self, data: str) -> str:
        text = re.sub(r"\s+", " ", data)
        before = self._out[-1][-1:] if self._out else "\n"
        return text.lstrip() if before in ("\n", " ") else text
