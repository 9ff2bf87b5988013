"""Catalogues that are learnt, and pins that are written anew."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from remit.policy.digest import canonical
from remit.policy.problems import InputError
from remit.policy.tools import Catalog, Learnt, Tool
from remit.policy.vocabulary import Tier
from remit.profiles.catalogs import load_catalog, parse_catalog
from remit.profiles.learning import Found, learnt_catalog, suggested
from remit.profiles.learnt import repinned
from remit.profiles.shipped import shipped_catalogs
from remit.profiles.source import TOML_BYTES, Source

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=80)


def found(name: str = "t", description: str | None = "Does.", **hints: bool) -> Found:
    return hinted(hints, name, description)


def hinted(hints: dict[str, bool], name: str = "t", description: str | None = "Does.") -> Found:
    return Found(name, Learnt.of(name, description, SCHEMA), hints)


def parsed(text: str) -> Catalog:
    return parse_catalog(Source(text, "desk.toml")).require()


@pytest.mark.parametrize(
    ("hints", "tier", "effects"),
    [
        ({"readOnlyHint": True, "openWorldHint": False}, Tier.READ, set()),
        ({"readOnlyHint": True}, Tier.READ, {"network.egress"}),
        ({}, Tier.EXECUTE, {"network.egress", "vendor.write"}),
        (
            {"destructiveHint": True, "openWorldHint": False},
            Tier.EXECUTE,
            {"worktree.write", "file.delete", "file.write_outside"},
        ),
        ({"destructiveHint": False, "openWorldHint": False}, Tier.WRITE, {"worktree.write"}),
        ({"readOnlyHint": False, "destructiveHint": False}, Tier.WRITE,
         {"network.egress", "vendor.write"}),
    ],
)  # fmt: skip
def test_suggestions(hints: dict[str, bool], tier: Tier, effects: set[str]) -> None:
    """What a server says leads to a suggestion; the worse one where it says nothing."""
    tool = suggested(hinted(hints))
    assert (tool.tier, set(tool.effects)) == (tier, effects)


def test_nothing_is_believed() -> None:
    """Whatever is suggested, each tool is undeclared and pinned, and no verb is learnt."""
    shipped = Tool("mcp-x", "x", Tier.READ, (), {"g"}, "path", [[]], verb=True)
    tools = [found(readOnlyHint=True), evolve(found("x"), shipped=shipped)]
    text = learnt_catalog("desk", "server --flag", tools, ["resources/read"])
    catalog = parsed(text)

    assert [(t.declared, t.verb, t.exit, t.classify) for t in catalog.tools] == [
        (False, False, False, None)
    ] * 2
    assert [t.learnt for t in catalog.tools] == [t.learnt for t in tools]
    assert "verb" not in text.replace("`remit", "")
    assert "`server --flag`" in text


def test_what_is_suggested_loads() -> None:
    """With the signs of comments taken away, the file declares what was suggested."""
    shipped = Tool("mcp-x", "x", Tier.WRITE, ["file.delete"], {"g"}, "path", [[], ["file.delete"]])
    tools = [found(readOnlyHint=True), evolve(found("x"), shipped=shipped)]
    text = learnt_catalog("desk", "server", tools, ["resources/read"])
    t, x, read = parsed(uncommented(text)).tools

    assert (t.tier, set(t.effects)) == (Tier.READ, {"network.egress"})
    assert x == evolve(shipped, source="desk", learnt=tools[1].learnt)
    assert (read.name, read.effects) == ("resources/read", frozenset())


def uncommented(text: str) -> str:
    """Take the signs of comments from what is suggested."""
    keys = ("tier", "effects", "groups", "classify", "least", "arguments", "actions", "[", "]", " ")
    lines = (one[2:] if one[2:].startswith(keys) else one for one in text.splitlines())
    return "\n".join(lines)


@pytest.mark.parametrize("name", shipped_catalogs())
def test_what_is_shipped_is_suggested_whole(name: str) -> None:
    """A tool that a shipped catalogue knows is suggested as it is declared there."""
    shipped = load_catalog(name).tools
    tools = [evolve(found(t.name), shipped=t) for t in shipped]
    catalog = parsed(uncommented(learnt_catalog(name, "server", tools)))

    assert [evolve(t, learnt=None) for t in catalog.tools] == list(shipped)


@given(TEXT | st.none(), TEXT, st.dictionaries(TEXT, TEXT, max_size=3))
def test_whatever_a_server_says(description: str | None, command: str, schema: Any) -> None:
    """No words of a server get out of their place in the file."""
    learnt = Learnt.of("t", description, schema)
    hints = {"readOnlyHint": f"x\n[tools.evil]\neffects = [] {description}"}
    (tool,) = parsed(learnt_catalog("desk", command, [Found("t", learnt, hints)])).tools

    assert (tool.name, tool.declared, tool.learnt) == ("t", False, learnt)


def test_halves_of_letters() -> None:
    """Words that TOML cannot hold are left out; the pin stays."""
    learnt = Learnt.of("t", "half \ud800", SCHEMA)
    (tool,) = parsed(learnt_catalog("desk", "s", [Found("t", learnt, {})])).tools

    assert tool.learnt == Learnt(learnt.hash)


def test_more_than_a_file_holds() -> None:
    """Where all words together are too long, the pins alone are kept."""
    tools = [found(f"t{i}", "word " * 1000) for i in range(100)]
    text = learnt_catalog("desk", "s", tools)

    assert len(text) < TOML_BYTES
    assert [t.learnt for t in parsed(text).tools] == [Learnt(t.learnt.hash) for t in tools]


OLD = Learnt.of("t", "Does.", SCHEMA)
HEAD = 'source = "desk"\n\n[tools.t]  # mine\ntier = "read"\neffects = []\n'
TAIL = "\n[tools.u]\neffects = []  # after\n"


@pytest.mark.parametrize(
    "written",
    [
        f'hash = "{OLD.hash}"\ndescription = "Does."\nschema = {{schema}}\n',
        f'schema = {{schema}} # s\ndescription = """Does."""\nhash = \'{OLD.hash}\'\n',
        f"description = '''Does.'''\nhash = '{OLD.hash}'\nschema = {{schema}}\n",
    ],
)
@given(TEXT | st.none(), st.dictionaries(TEXT, TEXT, max_size=2))
def test_repinned(written: str, description: str | None, schema: Any) -> None:
    """The pin and its words are written anew; every other letter stays."""
    now = Learnt.of("t", description, schema)
    before = HEAD + written.format(schema=f"'{canonical(SCHEMA)}'") + TAIL
    after = repinned(Source(before, "desk.toml"), "t", now)

    t, u = parsed(after).tools
    assert t.learnt == now
    assert (t.effects, t.tier, u.declared) == (frozenset(), Tier.READ, True)
    assert after.startswith(HEAD)
    assert after.endswith(TAIL)
    if description is not None:
        back = repinned(Source(after, "desk.toml"), "t", OLD)
        assert parsed(back) == parsed(before)


def test_a_bare_pin() -> None:
    """Where the words were not kept, they are not kept from then on either."""
    before = f'{HEAD}hash = "{OLD.hash}"\n{TAIL}'
    now = Learnt.of("t", "Other.", SCHEMA)

    assert repinned(Source(before, "desk.toml"), "t", now) == before.replace(OLD.hash, now.hash)


@pytest.mark.parametrize("text", [HEAD, f"{HEAD}{TAIL}", 'source = "desk"\n[tools.other]\n'])
def test_what_is_not_pinned(text: str) -> None:
    """A tool without a pin, or that is not there, is not written to."""
    with pytest.raises(InputError, match="cannot be pinned anew"):
        repinned(Source(text, "desk.toml"), "t", OLD)
