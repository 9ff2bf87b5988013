"""Requirements of seeds 001 and 002 as a host sees them; parts are tested in each room."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import pytest
from attrs import evolve

from remit.harness.natives import Answer
from remit.harness.session import Run
from remit.harness.store import Answer as Became
from remit.harness.store import ApprovalState, StoreError
from remit.harness.store.log import Writer
from remit.harness.workspace import OpenSpace, Workspace
from remit.policy.announce import Message
from remit.policy.problems import InputError, Problem
from remit.policy.projection import Host, Projection
from remit.policy.tools import Call, Catalog
from remit.policy.vocabulary import Announce, Dial, Tier
from remit.profiles.names import BUILT_IN, TOP_MODE

AT = datetime(2026, 12, 1, tzinfo=UTC)
COMMIT = Call("git_commit", {"repo_path": "/w", "message": "m"})
EXIT = Call("exit_plan_mode")
DOCS = """
name = "docs-only"
[ceiling.limit]
"worktree.write" = ["docs/**"]
"""


class Unsent(Exception):
    """A message did not reach the conversation."""


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    root = tmp_path / "home"
    home = {"REMIT_HOME": str(root), "HOME": str(root)}
    (root / "modes").mkdir(parents=True)
    (root / "modes" / "docs-only.toml").write_text(DOCS)
    with Workspace.open(create=True, environ=home, clock=lambda: AT) as found:
        yield found


@pytest.fixture
def git(workspace: Workspace) -> Catalog:
    return workspace.engine.catalogs(["mcp-git"])


@pytest.fixture
def space(workspace: Workspace) -> OpenSpace:
    return workspace.create_space("s", by="operator", dial=Dial.AUTO)


def projected(workspace: Workspace, mode: str, catalog: Catalog) -> Projection:
    engine = workspace.engine
    return engine.project(engine.library.get(mode), engine.with_natives(catalog), Host("t"))


def told_plan(space: OpenSpace, git: Catalog) -> None:
    space.set("plan", by="operator")
    with space.conversation("c").turn() as turn:
        turn.step(git)


def unsent(_: Message) -> None:
    raise Unsent


class TestModes:
    def test_one_is_the_absence_of_policy(self, workspace: Workspace, git: Catalog) -> None:
        """S001-1: of the modes one has no workflow, no text and all tools; the others have."""
        silent = {m for m in BUILT_IN if not projected(workspace, m, git).preamble}

        assert silent == {TOP_MODE}
        assert {t.key for t in git.tools} <= {
            t.key for t in projected(workspace, TOP_MODE, git).tools
        }

    def test_names_that_serve(self, workspace: Workspace) -> None:
        """S001-R6: old names of the absence of policy resolve; an unknown one changes nothing."""
        library = workspace.engine.library

        assert {library.get(n).name for n in ("none", "off", "default")} == {TOP_MODE}
        space = workspace.create_space("s", "plan", by="operator")
        with pytest.raises(InputError, match="paln"):
            space.set("paln", by="operator")
        assert space.mode == "plan"

    def test_what_there_is_to_choose(self, workspace: Workspace) -> None:
        """S002-3, S002-R1: modes are listed, read and set; an unknown name gets the vocabulary."""
        space = workspace.create_space("s", by="operator")
        with pytest.raises(InputError) as caught:
            space.set("zzz", by="operator")

        said = str(caught.value.problems[0])
        listed = [e.name for e in workspace.engine.library.entries if e.name in said]
        assert {TOP_MODE, "plan", "docs-only"} <= set(listed)
        assert space.set(TOP_MODE, by="operator").answer is Became.NOOP
        assert space.set("plan", by="operator").answer is Became.COMMITTED
        assert space.mode == "plan"

    def test_a_definition_cannot_take_a_reserved_name(self, tmp_path: Path) -> None:
        """S002-13: the built-in plan is there though a file is called `default`, which is none."""
        home = {"REMIT_HOME": str(tmp_path), "HOME": str(tmp_path)}
        (tmp_path / "modes").mkdir()
        (tmp_path / "modes" / "x.toml").write_text('name = "default"\n')
        with Workspace.open(create=True, environ=home) as workspace:
            library = workspace.engine.library
            assert library.get("plan").brief is not None
            assert library.get("default").name == TOP_MODE
            assert any(p.code == "reserved-name" for p in library.problems)

    def test_words_change_no_verdict(self, workspace: Workspace, git: Catalog) -> None:
        """S001-17: how a mode is announced moves no tool, no verdict and no mount."""
        engine, tools = workspace.engine, workspace.engine.with_natives(git)
        profile = engine.library.get("plan")
        assert profile.brief is not None
        found = [
            engine.project(
                evolve(profile, brief=evolve(profile.brief, announce=how)), tools, Host("t")
            )
            for how in Announce
        ]

        assert len({p.tools for p in found}) == 1
        assert len({str(p.mounts) for p in found}) == 1
        for dial in Dial:
            said = {tuple(p.judge(Call(t.key), dial).decision for t in tools.tools) for p in found}
            assert len(said) == 1

    def test_a_mode_of_a_folder(self, workspace: Workspace, tmp_path: Path) -> None:
        """S001-R7: where one folder may be written, a write elsewhere is refused."""
        tree = tmp_path / "tree"
        (tree / "docs").mkdir(parents=True)
        (tree / "src").mkdir()
        (tree / "docs" / "out").symlink_to(tree / "src")
        space = workspace.create_space(
            "w", "docs-only", by="operator", dial=Dial.AUTO, worktree=str(tree)
        )
        with space.conversation("c").turn(cwd=str(tree)) as turn:
            step = turn.step(workspace.engine.catalogs(["claude-code"]))

            def write(path: str) -> Run | Answer:
                return step.decide(Call("Write", {"file_path": str(tree / path), "content": "x"}))

            assert isinstance(write("docs/a.md"), Run)
            assert isinstance(write("src/a.py"), Answer)
            assert isinstance(write("docs/out/a.py"), Answer)

    def test_no_shell_without_a_judge(self, workspace: Workspace) -> None:
        """S002-14: what runs commands is in no surface of plan, whoever names it."""
        tools = workspace.engine.catalogs(["claude-code"])
        names = {t.name for t in projected(workspace, "plan", tools).tools}

        assert {t.name for t in tools.tools if t.tier is Tier.EXECUTE} & names == set()
        assert "Read" in names

    def test_effects_and_not_names_decide(self, workspace: Workspace, git: Catalog) -> None:
        """S002-R9, S002-R10: a tool nobody named follows its effects, in every mode alike."""
        tool = git.get("git_commit")
        assert tool is not None
        new = Catalog((*git.tools, evolve(tool, name="another_commit")))
        for mode in BUILT_IN:
            names = {t.name for t in projected(workspace, mode, new).tools}
            assert ("another_commit" in names) == ("git_commit" in names), mode


class TestFold:
    def test_the_last_one_wins(self, space: OpenSpace, git: Catalog) -> None:
        """S002-2: what was set last holds, nothing set is the top mode; a new process reads it."""
        at = space.workspace
        assert space.conversation("new").mode == TOP_MODE
        seen = []
        for mode in ("plan", TOP_MODE, "plan"):
            space.set(mode, by="operator")
            with space.conversation("c").turn() as turn:
                turn.step(git)
            seen.append((space.conversation("c").position, mode))

        assert space.conversation("c").mode == "plan"
        assert at.store.log.rebuild().equal
        with Workspace.open(at.store.path, engine=at.engine) as again:
            assert again.conversation("c").mode == "plan"
        # Up to the second record it was the top mode: the space's own narrows it all the same.
        record = at.store.conversations.fork("f", "c", now=AT, at=seen[1][0])
        assert record.mode == TOP_MODE

    def test_a_failed_record_keeps_the_wish(self, space: OpenSpace, git: Catalog) -> None:
        """S002-R3: what could not be written at one boundary is written at the next."""
        with space.conversation("c").turn() as turn:
            turn.step(git)
            space.set("plan", by="operator")
            failure = StoreError(Problem("store-full", "there is no room"))
            with (
                mock.patch.object(Writer, "record", side_effect=failure),
                pytest.raises(StoreError),
            ):
                turn.step(git)
            assert space.conversation("c").mode == TOP_MODE
            assert turn.step(git).mode == "plan"

    def test_a_restart_forgets_nothing(self, space: OpenSpace, git: Catalog) -> None:
        """What was approved before a restart stays so: the mode that it led to, and no new exit."""
        at = space.workspace
        space.set("plan", by="operator")
        space.set_dial(Dial.ASK, by="operator")
        with space.conversation("c").turn() as turn:
            turn.step(git).decide(EXIT)
            (asked,) = at.store.approvals.list(now=AT, state=ApprovalState.PENDING)
            at.store.approvals.decide(asked.id, True, by="operator", now=AT)
            turn.step(git).decide(EXIT)

        with Workspace.open(at.store.path, engine=at.engine, clock=at.clock) as again:
            there = again.space("s")
            # The dial is what it was before plan: nobody chose another one by leaving.
            assert (there.mode, there.state.dial) == (TOP_MODE, Dial.ASK)
            assert again.store.approvals.get(asked.id, now=AT).state is ApprovalState.USED
            assert there.set("orchestrate", by="operator").answer is Became.COMMITTED
            assert there.conversation("c").mode == "orchestrate"

    def test_a_first_mode(self, workspace: Workspace, git: Catalog) -> None:
        """S002-11: a child begins in the mode that it was made with, by the same records."""
        space = workspace.create_space("s", "plan", by="operator")
        child = space.conversation("c").child("read-only")

        with child.turn("task") as turn:
            assert turn.step(git).mode == "read-only"
        kinds = [e.kind for e in workspace.store.log.read("s") if e.conversation == child.id]
        assert kinds[0] == "conversation.made"
        assert "step.framed" in kinds

    def test_who_looks_reads_the_log(self, space: OpenSpace) -> None:
        """S002-12: a switch is in the feed for every looker, and no words of it for the model."""
        before = space.workspace.store.data_version()
        space.set("plan", by="operator:ann", why="look first")

        (told,) = space.workspace.store.log.read("s", after=before)
        assert (told.kind, told.actor, told.body["mode"]) == ("mode.set", "operator:ann", "plan")
        assert not space.workspace.store.log.read("s", kinds=("notice",))


class TestTransition:
    def test_the_record_comes_first(self, space: OpenSpace, git: Catalog) -> None:
        """S001-9: the mode is on disk before the one message that tells it is sent."""
        told_plan(space, git)
        sent: list[tuple[str, str]] = []
        talk = space.conversation("c")
        talk.switch(TOP_MODE, by="operator", send=lambda m: sent.append((m.what, space.mode)))

        assert sent == [("transition", TOP_MODE)]
        with talk.turn() as turn:
            assert turn.step(git).notices == ()

    def test_one_that_is_not_sent_undoes_it(self, space: OpenSpace, git: Catalog) -> None:
        """S001-10: if the message fails, the mode is what it was, on disk too, and it is told."""
        told_plan(space, git)
        with pytest.raises(Unsent):
            space.conversation("c").switch(TOP_MODE, by="operator", send=unsent)

        assert space.mode == "plan"
        with space.conversation("c").turn() as turn:
            assert turn.step(git).mode == "plan"

    def test_both_failures_are_told(self, space: OpenSpace, git: Catalog) -> None:
        """S001-R4: where giving the mode back fails as well, one error carries both causes."""
        told_plan(space, git)

        def fail(_: Message) -> None:
            space.set("review", by="system")
            raise Unsent

        with pytest.raises(ExceptionGroup) as caught:
            space.conversation("c").switch(TOP_MODE, by="operator", send=fail)
        first, second = caught.value.exceptions
        assert isinstance(first, Unsent)
        assert "review" in str(second)
        assert space.mode == "review"


class TestTwoLayers:
    def test_hidden_is_refused(self, space: OpenSpace, git: Catalog) -> None:
        """S002-7, S002-9: what the surface lacks is refused when called, by what is in force."""
        space.set("plan", by="operator")
        with space.conversation("c").turn() as turn:
            step = turn.step(git)
            hidden = {t.name for t in git.tools} - {t.name for t in step.tools}
            assert "git_commit" in hidden
            assert all(isinstance(step.decide(Call(name)), Answer) for name in hidden)

    @pytest.mark.parametrize("mode", BUILT_IN)
    def test_the_exit_is_of_its_mode(self, space: OpenSpace, git: Catalog, mode: str) -> None:
        """S002-8, S002-R6: the exit is there only where the brief names it; else it fails again."""
        brief = space.workspace.engine.library.get(mode).brief
        if mode != TOP_MODE:
            space.workspace.store.spaces.set_mode("s", mode, by="system", why="", now=AT)
        with space.conversation("c").turn() as turn:
            step = turn.step(git)
            there = "exit_plan_mode" in {t.name for t in step.tools}
            assert there == (brief is not None and brief.exit == "remit:exit_plan_mode")
            answer = step.decide(EXIT)
            assert isinstance(answer, Answer)
            assert ((answer.data or {}).get("state") == "pending") == there

    def test_refusals_differ(self, space: OpenSpace, git: Catalog) -> None:
        """S002-R5: a call in the absence of policy passes; a refusal names the mode it was in."""
        said = {}
        for mode in (TOP_MODE, "plan", "orchestrate"):
            space.set(mode, by="operator")
            with space.conversation("c").turn() as turn:
                said[mode] = turn.step(git).decide(COMMIT)

        assert isinstance(said.pop(TOP_MODE), Run)
        for mode, answer in said.items():
            assert isinstance(answer, Answer)
            assert mode in answer.text

    @pytest.mark.parametrize("how", ["rejected", "waiting", "a text"])
    def test_only_a_yes_leaves(self, space: OpenSpace, git: Catalog, how: str) -> None:
        """S002-R8: no answer but an explicit yes leaves the mode; its words come back as said."""
        space.set("plan", by="operator")
        approvals = space.workspace.store.approvals
        with space.conversation("c").turn() as turn:
            turn.step(git).decide(EXIT)
            (asked,) = approvals.list(now=AT, state=ApprovalState.PENDING)
            words = "not yet: see `b.md`"
            if how == "rejected":
                approvals.decide(asked.id, False, by="operator", feedback=words, now=AT)
            elif how == "a text":
                with pytest.raises(InputError):
                    approvals.decide(asked.id, "yes, approved", by="operator", now=AT)  # type: ignore[arg-type]
            answer = turn.step(git).decide(EXIT)
            assert isinstance(answer, Answer)
            assert (words in answer.text) == (how == "rejected")
            assert turn.step(git).mode == space.mode == "plan"

    def test_children_have_the_limits(self, space: OpenSpace, git: Catalog) -> None:
        """S001-R12: a child is under its parent's mode without the parent checking anything."""
        space.set("plan", by="operator")
        with space.conversation("c").turn() as turn:
            turn.step(git)
            with turn.conversation.child().turn("task") as inner:
                assert isinstance(inner.step(git).decide(COMMIT), Answer)
