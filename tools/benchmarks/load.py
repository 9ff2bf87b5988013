"""400 profiles from text to effective profiles, with every check of loading, by tomllib alone."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from random import Random

from remit.policy.problems import Severity
from remit.profiles.catalogs import native_catalog
from remit.profiles.library import Library
from remit.profiles.source import Source
from tools.benchmarks.ratios import Figure, ratio

__all__ = ["figures"]

_COUNT = 400


def figures(short: bool) -> Iterator[Figure]:
    """Yield a full load by the bare parser, and one changed profile by a full load."""
    rounds = 5 if short else 21
    sources = [_source(i) for i in range(_COUNT)]
    tools = native_catalog()
    library = Library.load(sources, tools)
    wrong = [p for p in library.problems if p.severity is Severity.ERROR]
    assert not wrong, wrong[0]
    last = sources[-1]
    changed = [Source(last.text.replace("Look", word), last.file) for word in ("See", "Read")]

    def parse() -> None:
        for source in sources:
            tomllib.loads(source.text)

    def load() -> object:
        loaded = Library.load(sources, tools)
        return [loaded.get(f"mode-{i}").ceiling for i in range(_COUNT)]

    def change() -> object:
        changed.reverse()
        return library.replace(changed[0]).get(f"mode-{_COUNT - 1}").ceiling

    yield ratio("400 profiles, text to effective", parse, load, 1.4, rounds=rounds)
    yield ratio("1 of 400 profiles changed, by a full load", load, change, 1 / 50, rounds=rounds)


def _source(i: int) -> Source:
    """Return a profile of a page; one in ten extends a built-in one, the others one of those."""
    random = Random(i)
    parent = "read-only" if i < 40 else f"mode-{random.randrange(40)}"
    effects = random.sample(["git.*", "pr.create", "vendor.write", "package.*", "file.delete"], 2)
    groups = random.sample(["research", "memory", "git", "todo", "tickets", "files"], 3)
    text = f'''name = "mode-{i}"
label = "Mode {i}"
extends = "{parent}"
intent = "Look at part {i} of the request. Change nothing outside of it."

[ceiling]
tier = "read"
refuse = ["{effects[0]}", "{effects[1]}"]
unknown = "refuse"
allow = ["tier:read", {", ".join(f'"group:{g}"' for g in groups)}]
deny = ["delete_{i}", "mcp-git:git_reset"]

[ceiling.limit]
"worktree.write" = ["docs/**", "!docs/private/**"]

[brief]
verbs = ["submit_plan"]
required = true
noun = "plan"
exit = "exit_plan_mode"
exit_to = "chat"
children = ["read-only"]
missed = ["write_file", "edit_file", "bash"]
announce = "every-turn"
guidance = """
Read what the request touches before you say anything about it. Settle by reading what reading can
settle, and ask only what nothing here can answer. Deliver with {{{{verbs}}}}, in one call.

Name for each finding what happens, when and where, how sure you are and how bad it is. What you
could not check, name as not checked. Leave out matters of taste.
"""
'''
    return Source(text, f"mode-{i}.toml")
