"""What the pages tell a reader to do works, and prints what they show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Reader, blocks, pages
from tests.needs import need, need_module

_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


RUN = [p for p in pages() if any(b.language == "console" for b in blocks(p))]


@pytest.mark.parametrize("page", RUN, ids=name)
def test_does_what_it_says(page: Path, tmp_path: Path) -> None:
    """Every command of a page runs in order, from nothing, and prints what the page shows."""
    need("git")
    need_module("mcp_server_git")

    assert Reader(tmp_path / "you").follow(page)


@pytest.mark.parametrize("page", pages(), ids=name)
def test_leads_somewhere(page: Path) -> None:
    """Every link of a page to a file or a heading of ours leads to one that is there."""
    for link in _LINK.findall(_FENCED.sub("", page.read_text())):
        path, _, anchor = link.partition("#")
        if "://" in path:
            continue
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{name(page)} links to `{link}`"
        if anchor:
            assert anchor in _anchors(there), f"{name(page)} links to `{link}`"


def _anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in heads}


@pytest.mark.parametrize("page", pages(), ids=name)
def test_has_one_sentence_a_line(page: Path) -> None:
    """No line of prose holds the end of one sentence and the start of another."""
    prose = _FENCED.sub("", page.read_text())
    prose = re.sub(r"<!-- from .*?<!-- end -->", "", prose, flags=re.DOTALL)
    for line in prose.splitlines():
        if not line.startswith(("|", "    ")):
            assert not re.search(r"[a-z`)]\. [A-Z`]", line), f"{name(page)}: {line}"


def _before(page: Path) -> list[tuple[str, str]]:
    """Return each block that is to be written: its path, and the prose right before it."""
    text = page.read_text()
    found, end = [], 0
    for block in _FENCED.finditer(text):
        if (path := re.match(r"```\S+ file=(\S+)", block[0])) is not None:
            found.append((path[1], text[end : block.start()]))
        end = block.end()
    return found


@pytest.mark.parametrize("page", pages(), ids=name)
def test_says_where_to_write(page: Path) -> None:
    """A reader sees no more than the prose, so that names the file of each block to write."""
    for path, prose in _before(page):
        assert f"`~/{path}`" in prose or f"`{path}`" in prose, f"{name(page)}: {path}"


@pytest.mark.parametrize("page", pages(), ids=name)
def test_overwrites_no_configuration(page: Path) -> None:
    """Who followed another page before is told to add to their remit.toml."""
    for path, prose in _before(page):
        if path.endswith("remit.toml"):
            assert re.search(r"\badd\b", prose), f"{name(page)}: {path}"
