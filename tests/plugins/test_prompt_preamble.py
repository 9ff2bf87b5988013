from __future__ import annotations

import re

import pytest

from remit.harness.engine import Engine
from remit.plugins.registry import load_plugins
from remit.policy.ceiling import Ceiling
from remit.policy.compile import compile_profile
from remit.policy.gate import Setting
from remit.policy.profile import Brief, Profile, Side
from remit.policy.projection import Host, Projection
from remit.policy.tools import Catalog, Tool
from remit.policy.vocabulary import Tier, Verdict

WHOLE = Host("all", sandbox="some")
PLAN_OVER_GIT = """\
# Mode: Plan
Study the request and deliver one plan. Change nothing.

The tools that are there, 12 in all, and no others:
- git (7): `git_status`, `git_log`, `git_branch`, `git_diff`, `git_diff_staged`, \
`git_diff_unstaged`, `git_show`
- mode (5): `mode`, `ask_user`, `submit_plan`, `exit_plan_mode`, `nothing_to_deliver`

Refused here, by whatever tool: worktree.write, file.delete, file.write_outside, git.commit, \
git.push, pr.create, pr.publish, vendor.write, package.install, package.publish, process.spawn, \
workspace.mutate, enclosure.control.
Not available in this mode: `git_add`, `git_commit`.
The plan exists only once `submit_plan` has succeeded; prose delivers nothing. If no plan is \
needed, say so with `nothing_to_deliver`.
To leave this mode, call `exit_plan_mode`: it asks the operator, and nothing changes until they \
approve. It delivers nothing.
To ask the user a question, call `ask_user`.
"""


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine.load()


def _project(engine: Engine, mode: str, host: Host = WHOLE, *sides: Side) -> Projection:
    catalog = engine.with_natives(engine.catalogs(["mcp-git"]))
    return engine.project(engine.profile(mode).under(*sides), catalog, host)


class TestPreamble:
    def test_is_generated_from_the_surface(self, engine: Engine) -> None:
        """S003-25: label, intent, the exact surface, what is missed, how to deliver and leave."""
        text = _project(engine, "plan").preamble

        assert text.startswith(PLAN_OVER_GIT + "\n")

    def test_ends_with_the_guidance(self, engine: Engine) -> None:
        """The hand-written words follow, their placeholders filled."""
        text = _project(engine, "plan").preamble[len(PLAN_OVER_GIT) :]

        assert "Deliver with `submit_plan`, one call" in text
        assert "{{" not in text

    def test_names_a_verb_as_the_model_sees_it(self) -> None:
        """An operator's verb bears its source only where its name alone would not do."""
        verb = Tool("desk", "send", Tier.WRITE, {"record.write"}, verb=True)
        brief = Brief(("desk:send",), required=True, guidance="Call {{verbs}}.")
        profile = Profile("made", brief=brief)
        alone = compile_profile(profile, Catalog([verb]))
        beside = compile_profile(profile, Catalog([verb, Tool("mail", "send")]))
        project = load_plugins().project

        assert "`desk__send`" not in project(alone, WHOLE)["prompt_preamble"]
        assert "Call `send`." in project(alone, WHOLE)["prompt_preamble"]
        assert "Call `desk__send`." in project(beside, WHOLE)["prompt_preamble"]

    def test_chat_has_none(self, engine: Engine) -> None:
        """S002-10: the absence of policy has no text at all."""
        assert _project(engine, "chat").preamble == ""

    def test_an_overlay_on_chat_has_one(self, engine: Engine) -> None:
        """Once something narrows chat, the model is told."""
        overlay = Side("overlay", Ceiling(refuse={"git.push"}))

        text = _project(engine, "chat", WHOLE, overlay).preamble

        assert text.startswith("# Mode: Agent\n")
        assert "Refused here, by whatever tool: git.push." in text

    @pytest.mark.parametrize("mode", ["plan", "review", "orchestrate", "read-only"])
    def test_equal_inputs_give_equal_bytes(self, mode: str) -> None:
        """Two engines that load the same files write the same bytes."""
        one, other = (_project(Engine.load(), mode) for _ in range(2))

        assert one.preamble.encode() == other.preamble.encode()
        assert one.hash == other.hash

    def test_tells_what_the_host_does_not_hold(self, engine: Engine) -> None:
        """S003-26: a layer that is advisory on this host is told, never silently missing."""
        text = _project(engine, "plan", Host("gateway", sandbox=None)).preamble

        assert "keep to it by yourself: sandbox mounts (no sandbox holds the programs" in text

    def test_tells_what_each_layer_is_for(self, engine: Engine) -> None:
        """A host that enforces nothing has each layer told with what its lack means."""
        bare = Host("bare", False, False, False)
        (line,) = [
            x for x in _project(engine, "plan", bare).preamble.splitlines() if "by yourself" in x
        ]

        assert line.count(" (") == len(bare.advisory) == 5

    def test_a_name_of_two_servers_is_told_by_source(self, engine: Engine) -> None:
        """A name that two tools bear is listed by source and name, as it has to be called."""
        catalog = Catalog(Tool(s, "log", Tier.READ) for s in ("git", "hg"))
        profile = Profile("made", sides=(Side("made", Ceiling(refuse={"git.push"})),))

        text = engine.project(profile, catalog, WHOLE).preamble

        assert "`git__log`" in text
        assert "`hg__log`" in text

    def test_says_limits_and_settings(self, engine: Engine) -> None:
        """What effects may act on, and what an operator set, is told; of refused ones nothing."""
        lists = frozenset({frozenset({"docs/**", "!docs/private/**"})})
        ceiling = Ceiling(refuse={"git.push"}, limit={"worktree.write": lists})
        profile = Profile("made", sides=(Side("made", ceiling),))
        settings = (
            Setting("worktree.write", Verdict.ALLOW, "docs/a/**"),
            Setting("git.commit", Verdict.DENY),
            Setting("network.egress", Verdict.ASK),
            Setting("git.push", Verdict.ALLOW),
        )
        one, other = (
            engine.project(profile, Catalog(), WHOLE, order).preamble
            for order in (settings, settings[::-1])
        )

        assert "worktree.write only on: !docs/private/**, docs/**." in one
        assert (
            "The operator's settings here, over the dial: git.commit is refused; network.egress "
            "asks first; worktree.write on docs/a/** is allowed.\n"
        ) in one
        assert one == other

    def test_stays_of_a_size(self, engine: Engine) -> None:
        """Ten thousand tools are counted by group; the text stays within a page or two."""
        catalog = Catalog(
            Tool(f"s{i % 20}", f"tool_{i}", Tier.READ, groups={f"g{i % 20}"}) for i in range(10_000)
        )
        profile = Profile("made", sides=(Side("made", Ceiling(refuse={"git.push"})),))

        text = engine.project(profile, catalog, WHOLE).preamble

        assert "10000 in all" in text
        assert sum(int(n) for n in re.findall(r"^- g\d+ \((\d+)\)", text, re.M)) == 10_000
        assert len(text) < 4_000
