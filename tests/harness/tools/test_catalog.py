"""The shipped catalogue of these tools: it says no less than they do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remit.harness.engine import Engine
from remit.harness.facts import gather, start
from remit.harness.session import Answer, Run, Session
from remit.harness.store import OPERATOR, Store
from remit.harness.tools import SOURCE, TOOLS, Desk
from remit.plugins.classifiers import classify
from remit.policy.projection import Host, Projection
from remit.policy.tools import Call, Facts, Tool
from remit.policy.vocabulary import Dial, Layer, Verdict
from remit.profiles.catalogs import load_catalog
from remit.profiles.names import BUILT_IN
from tests.harness.desk import START
from tests.harness.tools.conftest import Use

State = Callable[[], dict[str, bytes]]

ADDS = "*** Begin Patch\n*** Add File: x\n*** End Patch"
READING = {"read", "list", "find", "search", "web_fetch", "todo", "task"}
#: What each mode shows of them: those that read, and beyond plan the shell where it is judged.
SURFACES = {
    "chat": set(TOOLS),
    "read-only": READING | {"shell"},
    "explore": READING | {"shell"},
    "plan": READING,
    "review": READING,
    "orchestrate": READING,
}


def projected(engine: Engine, mode: str, desk: Desk | None = None) -> Projection:
    host = Host("test", sandbox="test")
    if desk is not None:
        host = Host("test", sandbox="test", protected=desk.protected, secret=desk.secret)
    catalog = engine.with_natives(engine.catalogs([SOURCE]))
    return engine.project(engine.profile(mode), catalog, host)


class TestDeclares:
    def test_each_tool_and_no_other(self) -> None:
        """Catalogue and tools have the same names, and roles are those of arguments there are."""
        tools = {t.name: t for t in load_catalog(SOURCE).tools}

        assert tools.keys() == TOOLS.keys()
        for name, tool in tools.items():
            assert {a for a, _ in tool.arguments} <= TOOLS[name].input_schema["properties"].keys()

    @pytest.mark.parametrize("mode", BUILT_IN)
    def test_each_mode_shows_what_fits(self, engine: Engine, mode: str) -> None:
        """The modes that read have what reads; the preamble names each of them once."""
        projection = projected(engine, mode)

        assert {t.name for t in projection.tools if t.source == SOURCE} == SURFACES[mode]
        if not projection.compiled.profile.silent:
            listed = projection.preamble.partition("in all")[2].partition("\n\n")[0]
            assert [n for n in TOOLS if listed.count(f"`{n}`") == 1] == [
                n for n in TOOLS if n in SURFACES[mode]
            ]


#: Calls of each tool, with whether they do something.
CALLS: list[tuple[str, dict[str, Any], bool]] = [
    ("read", {"path": "a.txt"}, True),
    ("read", {"path": ".env"}, True),
    ("read", {"path": "../outside/kept.txt"}, False),
    ("list", {}, True),
    ("find", {"pattern": "*"}, True),
    ("search", {"pattern": "KEY"}, True),
    ("search", {"pattern": "KEY", "path": ".env"}, True),
    ("write", {"path": "a.txt", "content": "x"}, True),
    ("write", {"path": "new/x", "content": "x"}, True),
    ("write", {"path": "../outside/kept.txt", "content": "x"}, False),
    ("write", {"path": "out/kept.txt", "content": "x"}, False),
    ("write", {"path": ".git/config", "content": "x"}, False),
    ("write", {"path": "-", "content": "x"}, False),
    ("edit", {"path": "a.txt", "old": "one", "new": "1"}, True),
    ("edit", {"path": "out/kept.txt", "old": "o", "new": "1"}, False),
    ("apply_patch", {"patch": "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch"}, True),
    ("apply_patch", {"patch": "*** Begin Patch\n*** Add File: n/x\n+x\n*** End Patch"}, True),
    (
        "apply_patch",
        {"patch": "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b\n*** End Patch"},
        True,
    ),
    (
        "apply_patch",
        {"patch": "*** Begin Patch\n*** Delete File: a.txt\n*** Add File: ../x\n*** End Patch"},
        False,
    ),
    ("web_fetch", {"url": "http://127.0.0.1:1/"}, False),
    ("todo", {"items": [{"text": "x"}]}, True),
    ("task", {"prompt": "x", "title": "x"}, False),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "does"), CALLS)
def test_the_bound_holds(
    engine: Engine,
    desk: Desk,
    worktree: Path,
    use: Use,
    state: State,
    name: str,
    args: dict[str, Any],
    does: bool,
) -> None:
    """What changed on disk is within what the call was judged to do, and that within the bound."""
    (worktree / ".env").write_text("KEY=1\n")
    (worktree / "out").symlink_to("../outside")
    projection = projected(engine, "chat", desk)
    call = Call(f"{SOURCE}:{name}", args)
    tool = projection.compiled.catalog.get(call.tool)
    assert tool is not None
    facts = gather(
        call, tool, start(desk.worktree, desk.folder, Host("t", protected=desk.protected))
    )
    found = projection.judge(call, Dial.AUTO, facts).found
    before = state()

    answer = use(name, **args)

    after = state()
    assert answer.is_error is not does, answer.text
    changed = {p for p in before.keys() | after.keys() if before.get(p) != after.get(p)}
    gone = before.keys() - after.keys()
    came = after.keys() - before.keys()
    caused = {"worktree.write"} if changed else set()
    # A file that moved was not removed: whoever wants it finds it.
    caused |= {"file.delete"} if gone and not came else set()
    assert all(p.startswith("worktree/") for p in changed)
    assert caused <= found.effects
    assert not does or found.effects <= tool.effects
    assert bool(changed) == (does and not tool.effects <= engine.admitted)


class TestJudged:
    @pytest.mark.parametrize(
        ("name", "args", "verdict"),
        [
            ("read", {"path": "a.txt"}, Verdict.ALLOW),
            ("write", {"path": "a.txt", "content": ""}, Verdict.ALLOW),
            ("write", {"path": "../x", "content": ""}, Verdict.ASK),
            ("write", {"path": ".git/hooks/x", "content": ""}, Verdict.DENY),
            ("apply_patch", {"patch": ADDS}, Verdict.ALLOW),
            ("apply_patch", {"patch": ADDS.replace("Add", "Delete")}, Verdict.ASK),
            ("shell", {"command": "git status"}, Verdict.ALLOW),
            ("shell", {"command": "git push"}, Verdict.ASK),
            ("shell", {"command": "touch x", "cwd": "src"}, Verdict.ALLOW),
            ("web_fetch", {"url": "https://example.test/"}, Verdict.ALLOW),
            ("todo", {}, Verdict.ALLOW),
        ],
    )  # fmt: skip
    def test_when_edits_are_accepted(
        self, engine: Engine, desk: Desk, name: str, args: dict[str, Any], verdict: Verdict
    ) -> None:
        """Edits of the worktree run, all that goes further asks, what is protected is refused."""
        projection = projected(engine, "chat", desk)
        host = Host("t", protected=desk.protected)
        call = Call(f"{SOURCE}:{name}", args)
        tool = projection.compiled.catalog.get(call.tool)
        facts = gather(call, tool, start(desk.worktree, desk.folder, host))

        assert projection.judge(call, Dial.ACCEPT_EDITS, facts).decision.verdict is verdict

    @pytest.mark.parametrize("mode", [m for m in BUILT_IN if m != "chat"])
    @pytest.mark.parametrize("dial", Dial)
    def test_no_mode_that_reads_writes(self, engine: Engine, mode: str, dial: Dial) -> None:
        """By none of these tools does a read-only mode change anything, under any dial."""
        projection = projected(engine, mode)
        for name, args in (
            ("write", {"path": "x", "content": ""}),
            ("edit", {"path": "x", "old": "a", "new": "b"}),
            ("apply_patch", {"patch": ADDS}),
            ("shell", {"command": "touch x"}),
        ):
            decision = projection.judge(Call(f"{SOURCE}:{name}", args), dial).decision
            assert decision.verdict is Verdict.DENY, name
            assert decision.layer in (Layer.FILTER, Layer.GUARD), name


def test_a_session_judges_from_where_tools_start(
    engine: Engine, store: Store, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path is the same file to whoever judges a call and to the tool that runs it."""
    store.spaces.create("s", "chat", by=OPERATOR, now=START, worktree=desk.worktree)
    store.spaces.set_dial("s", Dial.ACCEPT_EDITS, by=OPERATOR, now=START)
    monkeypatch.chdir(tmp_path / "outside")
    host = Host("test", protected=desk.protected, secret=desk.secret)
    call = Call(f"{SOURCE}:write", {"path": "x", "content": ""})
    hooked = Call(f"{SOURCE}:write", {"path": ".git/hooks/x", "content": ""})

    def answered(call: Call, conversation: str, cwd: str | None) -> object:
        session = Session(engine, store, "s", conversation, host, lambda: START, cwd=cwd)
        session.set_catalog(engine.catalogs([SOURCE]))
        return session.call(session.frame(), call)

    assert isinstance(answered(call, "here", desk.folder), Run)
    assert isinstance(answered(call, "elsewhere", None), Answer)
    assert "touched the protected" in str(answered(hooked, "here", desk.folder))


@pytest.mark.parametrize("path", ["-", ""])
@pytest.mark.parametrize("role", ["write", "delete"])
def test_a_dash_is_a_file_to_a_tool(path: str, role: str) -> None:
    """Only a command line means a stream by `-`: a tool that is given it writes a file."""
    effects = {"worktree.write", "file.delete"}
    tool = Tool("s", "t", effects=effects, classify="path", arguments={"path": role})
    found = classify(
        Call(tool.key, {"path": path}), tool, Facts(worktree="/w", cwd="/w", plain=True)
    )

    assert "worktree.write" in found.effects
