"""The built-in modes: what each guarantees, and that its words are true."""

import re

import pytest

from remit.policy.ceiling import TOP
from remit.policy.compile import compile_profile
from remit.policy.profile import ASK_USER, MODE, NOTHING_TO_DELIVER, Brief
from remit.policy.tools import Catalog, Tool
from remit.policy.vocabulary import EFFECTS, Posture, Tier, Unknown, world_changing
from remit.profiles.catalogs import load_catalog, native_catalog
from remit.profiles.fit import check_with_catalog
from remit.profiles.library import Library
from remit.profiles.names import BUILT_IN_STAGED
from remit.profiles.shipped import shipped_catalogs

LIBRARY = Library.load()
NAMES = ("chat", "read-only", "plan", "review", "orchestrate", "explore")
READ_ONLY = ("read-only", "plan", "review", "orchestrate", "explore")
EVERYTHING = Catalog.union(
    native_catalog(),
    *(load_catalog(n) for n in shipped_catalogs()),
    classifiers=("action", "http", "path", "shell", "sql"),
)


def brief_of(name: str) -> Brief:
    brief = LIBRARY.get(name).brief
    assert brief is not None
    return brief


def test_the_modes_are_there_without_a_problem() -> None:
    """S003-3: chat, shown as Agent, plan, review, orchestrate, explore, and what they extend.

    The modes with stages come last.
    """
    assert LIBRARY.names() == (*NAMES, *BUILT_IN_STAGED)
    assert LIBRARY.problems == ()
    assert LIBRARY.default.label == "Agent"


def test_chat_is_the_absence_of_policy() -> None:
    """S003-6: everything up to execute, writable, nothing refused, no contract, no text."""
    chat = LIBRARY.get("chat")
    assert (chat.ceiling, chat.brief, chat.silent) == (TOP, None, True)
    assert chat.pins == (ASK_USER, MODE)


@pytest.mark.parametrize("name", READ_ONLY)
def test_read_only_modes_refuse_what_changes_the_world(name: str) -> None:
    """S003-20: every world-changing effect and the unknown; network, secrets and records stay."""
    ceiling = LIBRARY.get(name).ceiling
    assert ceiling.posture is Posture.READ_ONLY
    assert ceiling.refuse == world_changing()
    assert set(EFFECTS) - ceiling.refuse == {"record.write", "network.egress", "secret.read"}
    assert ceiling.unknown is Unknown.REFUSE


@pytest.mark.parametrize("name", ["plan", "review", "orchestrate"])
def test_they_stop_below_execute_and_read_freely(name: str) -> None:
    """S003-7, S003-11, S003-15: tier write, and every read tool that refuses nothing is there."""
    profile = LIBRARY.get(name)
    assert profile.ceiling.tier is Tier.WRITE
    compiled = compile_profile(profile, EVERYTHING)
    for i, tool in enumerate(EVERYTHING.tools):
        if tool.tier is Tier.READ and not tool.native:
            assert compiled.visible[i], tool.key
        if tool.effects & world_changing() or tool.tier is Tier.EXECUTE:
            assert not compiled.visible[i] or tool.key in profile.pins, tool.key


def test_plan_delivers_by_one_verb_and_leaves_by_another() -> None:
    """S003-7, S003-10: `submit_plan` is owed, `exit_plan_mode` leads to chat."""
    plan, brief = LIBRARY.get("plan"), brief_of("plan")
    assert brief.contract == "plan.delivered"
    assert plan.pins == (
        "remit:submit_plan",
        "remit:exit_plan_mode",
        NOTHING_TO_DELIVER,
        ASK_USER,
        MODE,
    )
    assert brief.exit_to == "chat"


def test_orchestrate_delivers_by_one_verb() -> None:
    """S003-15: one verb proposes and must be called; no other way leads out of the mode."""
    brief = brief_of("orchestrate")
    assert brief.verbs == ("remit:propose_orchestration",)
    assert (brief.required, brief.contract, brief.exit) == (
        True, "proposal.delivered", None,
    )  # fmt: skip


def test_review_owes_nothing() -> None:
    """S003-14: a review has verbs and no contract, so that finding nothing is a result."""
    brief = brief_of("review")
    assert len(brief.verbs) == 4
    assert (brief.required, brief.contract, brief.exit) == (False, None, None)


def test_review_is_not_chosen() -> None:
    """S003-21: the system sets review; users choose among the others."""
    chosen = ["chat", "plan", "orchestrate", "explore"]
    assert [n for n in NAMES if LIBRARY.get(n).selectable] == chosen


def test_orchestrate_names_what_it_may_not_use() -> None:
    """S003-15: hiring, delegation and ticket verbs are told to be unavailable."""
    missed = brief_of("orchestrate").missed
    verbs = {"hire_agent", "delegate_ticket", "create_ticket", "close_ticket", "fail_ticket"}
    assert verbs <= set(missed)


@pytest.mark.parametrize("catalog", [*shipped_catalogs(), "all"])
@pytest.mark.parametrize("name", NAMES)
def test_built_in_modes_fit_every_shipped_catalogue(name: str, catalog: str) -> None:
    """S003-5: no entry is dead, no word names a tool that is not there."""
    tools = EVERYTHING if catalog == "all" else load_catalog(catalog)
    assert check_with_catalog(LIBRARY.get(name), tools) == ()


@pytest.mark.parametrize("name", ["plan", "review", "orchestrate"])
def test_words_name_no_tool_by_hand(name: str) -> None:
    """Verbs reach the guidance by placeholder alone, so a renamed one cannot linger."""
    brief = brief_of(name)
    tools = {t.name for t in EVERYTHING.tools}
    words = set(re.findall(r"[a-z][a-z_]+", brief.guidance + brief.nudge))
    assert not words & {t for t in tools if "_" in t}


def test_a_platforms_own_verb_of_the_same_name_breaks_nothing() -> None:
    """Built-in modes name their verbs by source, so a second `submit_plan` leaves them whole."""
    tools = Catalog((*native_catalog().tools, Tool("mine", "submit_plan", verb=True)))
    assert Library.load((), tools).problems == ()
