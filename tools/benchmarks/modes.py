"""10,000 modes in Markdown with all their problems, by the bare parse of their YAML in C."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from remit.policy.problems import Severity
from remit.profiles.catalogs import native_catalog
from remit.profiles.library import Library
from remit.profiles.source import Source
from tools.benchmarks.ratios import Figure, ratio

__all__ = ["figures"]

_COUNT, _FEW = 10_000, 400
#: One in so many is wrong: its problems are to be told as well.
_WRONG = 20


def figures(short: bool) -> Iterator[Figure]:
    """Yield a full load by the bare parser, and one changed mode by a full load."""
    count, rounds = (_FEW, 2) if short else (_COUNT, 5)
    sources = [_source(i) for i in range(count)]
    texts = [s.text.split("---\n")[1] for s in sources]
    tools = native_catalog()
    library = Library.load(sources, tools)
    wrong = {p.where.file for p in library.problems if p.severity is Severity.ERROR}
    assert len(wrong) == count // _WRONG, sorted(wrong)[:3]
    last = sources[-1]
    changed = [Source(last.text.replace("one piece", word), last.file) for word in ("a", "b")]

    def parse() -> None:
        for text in texts:
            yaml.load(text, yaml.CSafeLoader)

    def load() -> object:
        return Library.load(sources, tools).problems

    def change() -> object:
        changed.reverse()
        return library.replace(changed[0]).get(f"mode-{count - 1}").ceiling

    yield ratio(f"{count} modes, text to effective", parse, load, 3, rounds=rounds)
    # All other entries are looked at and none is made: that is what is left of a full load.
    yield ratio(f"1 of {count} modes changed, by a full load", load, change, 1 / 50, rounds=rounds)


def _source(i: int) -> Source:
    """Return a staged mode of a page, as users write them."""
    lost = "next: nowhere" if i % _WRONG == 0 else "next: verify"
    text = f"""---
label: Mode {i}
description: Specify, implement and verify one piece of work of kind {i}.
permission: chat
returnTo: chat
artifacts:
  spec:
    path: .runs/{{{{run.id}}}}/spec-{i}.md
    requiredHeadings: [Goal, Acceptance criteria]
  evidence:
    path: .runs/{{{{run.id}}}}/evidence.md
    requiredHeadings: [Evidence]
budget: {{ maxTurns: 30, maxTokens: 900000 }}
stages:
  design:
    permission: read-only
    prompt: |
      Write the spec for {{{{run.input}}}} into {{{{artifacts.spec.path}}}}.
      Ask what nothing here can answer, and nothing else.
    on:
      enter:
        - inject: Read what the request touches before you write.
    exit:
      - require: artifact:spec
      - ask: user
    next: implement
  implement:
    loop: true
    prompt: Implement the approved spec in {{{{artifacts.spec.path}}}}.
    on:
      compaction:
        - inject: artifact:spec
    exit:
      - run: make test
        onFail: {{ retries: 3 }}
    {lost}
  verify:
    permission: read-only
    prompt: Hold the work against the spec, and write what shows it.
    exit:
      - require: artifact:evidence
---
Follow the conventions of the repository, and say honestly what you could not check.
"""
    return Source(text, f"modes/mode-{i}/mode.md")
