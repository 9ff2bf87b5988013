"""By which names the tools of a catalogue are known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.policy.tools import NATIVE, Catalog, Tool

NAMES = st.sampled_from(["log", "status", "hg__log", "git__log", "git:log", "a__b", "b"])
SOURCES = st.sampled_from(["git", "hg", "a", "a__b", NATIVE])
#: No verb of remit's own has a colon in its name.
KEYS = st.tuples(SOURCES, NAMES).filter(lambda k: k[0] != NATIVE or ":" not in k[1])


@pytest.mark.parametrize(
    ("keys", "called"),
    [
        (["git:log"], ["log"]),
        (["git:log", "hg:status"], ["log", "status"]),
        (["git:log", "hg:log"], ["git__log", "hg__log"]),
        (["git:log", f"{NATIVE}:log"], ["git__log", "log"]),
        (["git:log", "hg:log", "x:git__log"], ["git:log", "hg__log", "git__log"]),
        (["a:b__c", "a__b:c", "x:b__c", "x:c"], ["a:b__c", "a__b:c", "x__b__c", "x__c"]),
    ],
)
def test_a_model_knows_each_tool_by_one_name(keys: list[str], called: list[str]) -> None:
    """Its own where no other bears it, else with its source before it, else its key."""
    split = (key.partition(":") for key in keys)
    catalog = Catalog(Tool(source, name) for source, _, name in split)

    assert [catalog.called(key) for key in keys] == called


@given(st.lists(KEYS, unique=True, min_size=1, max_size=8))
def test_every_name_leads_back(keys: list[tuple[str, str]]) -> None:
    """What a tool is called is that tool and no other; so is its key."""
    catalog = Catalog(Tool(*key) for key in keys)
    names = [catalog.called(t.key) for t in catalog.tools]

    assert len(set(names)) == len(names)
    for tool, name in zip(catalog.tools, names, strict=True):
        assert catalog.get(name) == tool
        assert catalog.get(tool.key) == tool
