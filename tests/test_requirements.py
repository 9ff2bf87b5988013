"""Requirements of seed 003 as behaviour from end to end; parts of them are tested in each room."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

import remit
from remit.harness.engine import Engine
from remit.harness.session import Answer, Run, Session
from remit.harness.store import OPERATOR, Store
from remit.policy.ceiling import TOP
from remit.policy.mounts import Network
from remit.policy.problems import InputError
from remit.policy.projection import Host, Projection
from remit.policy.tools import Call, CallEffects
from remit.policy.vocabulary import EFFECTS, Dial, Layer, Posture, Tier, Verdict
from remit.profiles.names import BUILT_IN, PULL_REQUEST_MODE, TOP_MODE

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOST = Host("test", sandbox="test")
COMMIT = Call("mcp-git:git_commit", {"repo_path": "/repo", "message": "x"})
READ_ONLY = [mode for mode in BUILT_IN if mode != TOP_MODE]
#: What a test of is promised.
PROMISED = range(1, 27)


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine.load()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "remit.db", create=NOW) as store:
        yield store


def projected(engine: Engine, mode: str) -> Projection:
    tools = engine.with_natives(engine.catalogs(engine.shipped))
    return engine.project(engine.profile(mode), tools, HOST)


def session(engine: Engine, store: Store, space: str, conversation: str) -> Session:
    made = Session(engine, store, space, conversation, HOST)
    made.set_catalog(engine.catalogs(["mcp-git"]))
    return made


def refused(session: Session) -> bool:
    answer = session.call(session.frame(), COMMIT)
    return isinstance(answer, Answer) and "refused" in answer.text


@pytest.mark.parametrize("number", PROMISED)
def test_each_is_named(number: int) -> None:
    """Every requirement that is promised is named by the docstring of a test."""
    wanted = re.compile(rf"S003-{number}\b")

    assert any(wanted.search(docstring) for docstring in docstrings())


@cache
def docstrings() -> tuple[str, ...]:
    """The docstring of every test."""
    return tuple(
        ast.get_docstring(node) or ""
        for path in Path(__file__).parent.rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )


class TestSpaces:
    def test_shared(self, engine: Engine, store: Store) -> None:
        """S003-1: all conversations of a space share its mode, and a switch reaches them all."""
        store.spaces.create("desk", TOP_MODE, by=OPERATOR, now=NOW)
        threads = [session(engine, store, "desk", c) for c in ("main", "main/thread", "other")]

        assert not any(refused(thread) for thread in threads)
        store.spaces.set_mode("desk", "plan", by=OPERATOR, why="", now=NOW)
        assert all(refused(thread) for thread in threads)

    def test_one_agent_many_modes(self, engine: Engine, store: Store) -> None:
        """S003-2: one agent has different modes in different spaces; a switch touches only one."""
        for space, mode in (("a", TOP_MODE), ("b", "plan"), ("c", TOP_MODE)):
            store.spaces.create(space, mode, by=OPERATOR, now=NOW)
        agent = {space: session(engine, store, space, "agent-7") for space in "abc"}

        assert [refused(agent[s]) for s in "abc"] == [False, True, False]
        store.spaces.set_mode("c", "orchestrate", by=OPERATOR, why="", now=NOW)
        assert [refused(agent[s]) for s in "abc"] == [False, True, True]

    def test_foreign(self, engine: Engine, store: Store) -> None:
        """S003-23: no space is the mode that restricts nothing; an unknown one is an error."""
        default = engine.library.default

        assert (default.name, default.ceiling, default.brief) == (TOP_MODE, TOP, None)
        with pytest.raises(InputError, match="there is no space"):
            session(engine, store, "nowhere", "c").frame()

    def test_next_turn(self, engine: Engine, store: Store) -> None:
        """S003-23: what a frame shows does not change under a step; the next one has the change."""
        store.spaces.create("desk", "plan", by=OPERATOR, now=NOW)
        conversation = session(engine, store, "desk", "c")
        frame = conversation.frame()
        store.spaces.set_mode("desk", TOP_MODE, by=OPERATOR, why="", now=NOW)

        assert isinstance(conversation.call(frame, COMMIT), Answer)
        assert "refused" in str(conversation.call(frame, COMMIT))
        assert not refused(conversation)


class TestDeclaration:
    def test_names_carry_no_policy(self) -> None:
        """S003-3: no code but the list of names knows a mode by its name."""
        root = Path(remit.__file__).parent
        # `plan` and `read-only` are also words of their own: an approval's kind, a posture.
        names = {TOP_MODE, PULL_REQUEST_MODE, "orchestrate"}
        # A command may be called like a mode, in the table of commands and in its own module.
        commands = {root / "cli" / "app.py", *(root / "cli" / f"{name}.py" for name in names)}
        found = [
            f"{path.relative_to(root)}:{node.lineno}"
            for path in sorted(root.rglob("*.py"))
            if path != root / "profiles" / "names.py" and path not in commands
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Constant) and node.value in names
        ]

        assert found == []

    @pytest.mark.parametrize("effect", ["network.egress", "record.write"])
    def test_declared_once(self, engine: Engine, tmp_path: Path, effect: str) -> None:
        """S003-4: one line of one file moves surface, verdict, guard, mounts and text alike."""
        tools = engine.with_natives(engine.catalogs(["mcp-fetch", "mcp-memory"]))

        def project(line: str) -> Projection:
            path = tmp_path / "mine.toml"
            path.write_text(f'name = "mine"\nextends = "read-only"\n[ceiling]\n{line}\n')
            return engine.project(engine.profile(str(path)), tools, HOST)

        before, after = project(""), project(f'refuse = ["{effect}"]')
        lost = {t for t in tools.tools if effect in t.effects and not t.native}

        assert lost
        assert set(before.tools) - set(after.tools) == lost
        for tool in lost:
            assert before.judge(Call(tool.key)).decision.verdict is Verdict.ALLOW
            assert after.judge(Call(tool.key), Dial.AUTO).decision.verdict is Verdict.DENY
            assert f"`{tool.name}`" in before.preamble
            assert f"`{tool.name}`" not in after.preamble
        assert after.guard.refused - before.guard.refused == {effect}
        assert effect in after.preamble
        assert before.mounts.network is Network.FULL
        assert (after.mounts.network is Network.FULL) == (effect != "network.egress")

    @pytest.mark.parametrize("mode", BUILT_IN)
    def test_one_home(self, engine: Engine, mode: str) -> None:
        """S003-5: the words name no tool that the surface lacks, but those told to be missing."""
        projection = projected(engine, mode)
        catalog = projection.compiled.catalog
        brief = projection.compiled.profile.brief
        missed = set(brief.missed) if brief else set()
        hidden = {t.name for t, _ in projection.hidden} - {t.name for t in projection.tools}

        named = set(re.findall(r"`([^`\n]+)`", projection.preamble))
        assert not (named & hidden) - missed
        assert named & hidden <= {t.name for t in catalog.tools}

    @pytest.mark.parametrize("mode", BUILT_IN)
    @pytest.mark.parametrize("dial", Dial)
    def test_own_effect(self, engine: Engine, mode: str, dial: Dial) -> None:
        """S003-5, S003-18: whatever a mode's own verb is found to do, nothing refuses it."""
        projection = projected(engine, mode)
        worst = CallEffects(EFFECTS, opaque=True, protected=("/etc/passwd",))

        for pin in projection.compiled.profile.pins:
            decision = projection.judge(Call(pin), dial, seen=worst).decision
            assert (decision.verdict, decision.layer) == (Verdict.ALLOW, Layer.PIN), pin


class TestPosture:
    @pytest.mark.parametrize("mode", READ_ONLY)
    def test_twice(self, engine: Engine, mode: str) -> None:
        """S003-24: no tool is there that writes, unjudged; and the mount is read-only too."""
        projection = projected(engine, mode)

        writers = [t for t in projection.tools if "worktree.write" in t.effects]
        assert [t.key for t in writers if t.classify is None] == []
        assert projection.mounts.posture is Posture.READ_ONLY

    def test_chat(self, engine: Engine) -> None:
        """S003-24: where the worktree may be written, the tools are there and so is the mount."""
        projection = projected(engine, TOP_MODE)

        assert any("worktree.write" in t.effects for t in projection.tools)
        assert projection.mounts.posture is Posture.WRITABLE

    @pytest.mark.parametrize("mode", READ_ONLY)
    @pytest.mark.parametrize("dial", Dial)
    def test_world(self, engine: Engine, mode: str, dial: Dial) -> None:
        """S003-20: a world-changing effect is refused under every dial; the admitted ones pass."""
        projection = projected(engine, mode)
        tool = next(
            t for t in projection.tools if t.tier is Tier.READ and not t.effects and not t.native
        )

        for effect in EFFECTS.values():
            found = CallEffects({effect.id})
            decision = projection.judge(Call(tool.key), dial, seen=found).decision
            assert (decision.verdict is Verdict.DENY) is effect.world_changing, effect.id


class TestAsking:
    @pytest.mark.parametrize("mode", BUILT_IN)
    @pytest.mark.parametrize("dial", Dial)
    def test_ask_user(self, engine: Engine, store: Store, mode: str, dial: Dial) -> None:
        """S003-19: a question is never behind an approval itself, in any mode, under any dial."""
        store.spaces.create("desk", mode, by=OPERATOR, now=NOW)
        store.spaces.set_dial("desk", dial, by=OPERATOR, now=NOW)
        conversation = session(engine, store, "desk", "c")

        answer = conversation.call(conversation.frame(), Call("ask_user", {"question": "Now?"}))

        assert not isinstance(answer, Run)
        assert not answer.error
        (asked,) = store.approvals.list(now=NOW)
        assert (asked.kind, asked.shown) == ("question", "Now?")
