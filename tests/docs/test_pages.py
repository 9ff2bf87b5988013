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
