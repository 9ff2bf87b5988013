"""Grants in a conversation: they answer for the operator where a call would ask, and no further."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from remit.harness.engine import Engine
from remit.harness.session import Answer, Run
from remit.harness.store import OPERATOR, GrantRecord, Store
from remit.plugins.hookspecs import hookimpl
from remit.policy.digest import canonical
from remit.policy.grants import Grant
from remit.policy.tools import Call, CallEffects, Facts, Tool
from remit.policy.vocabulary import Dial, Verdict
from tests.harness.desk import COMMIT, STATUS, Clock, Desk

EXACT = Grant("mcp-git:git_commit", canonical(COMMIT.args))
DISK = """
source = "disk"
[tools.put]
tier = "write"
effects = ["worktree.write", "git.push", "process.spawn"]
classify = "disk"
[tools.odd]
"""


def look(call: Call, tool: Tool, facts: Facts) -> CallEffects:
    """What a call of `put` says that it does."""
    return CallEffects(
        call.args.get("effects", ["worktree.write"]),
        {"worktree.write": tuple(call.args.get("paths", ()))},
        call.args.get("opaque", False),
    )


@pytest.fixture(scope="module")
def disks(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """An engine with a classifier that tells targets."""
    file = tmp_path_factory.mktemp("disk") / "disk.toml"
    file.write_text(DISK)
    plugin = SimpleNamespace(
        register_classifiers=hookimpl(lambda: {"disk": look}),
        register_catalogues=hookimpl(lambda: [file]),
    )
    return Engine.load(extra={"disk": plugin})


@pytest.fixture
def disk(disks: Engine, store: Store, clock: Clock, tmp_path: Path) -> Desk:
    """A space in chat, in front of the disk."""
    desk = Desk(disks, store, clock, "chat", tmp_path)
    desk.session.set_catalog(disks.catalog("disk"))
    return desk


def grant(desk: Desk, what: Grant = EXACT) -> GrantRecord:
    return desk.store.grants.add("s", what, by=OPERATOR, now=desk.clock())


def docs(desk: Desk) -> GrantRecord:
    return grant(desk, Grant("disk:put", effect="worktree.write", target="docs/**"))


class TestArguments:
    def test_run_unasked(self, chat: Desk) -> None:
        """A call with the granted arguments runs, again and again, and no approval is opened."""
        given = grant(chat)

        for _ in range(2):
            run = chat.commit()
            assert isinstance(run, Run)
            assert (run.grants, run.approval) == ((given.id,), None)
        assert chat.store.approvals.list(now=chat.clock()) == ()

    def test_are_named_in_the_log(self, chat: Desk) -> None:
        """The decision says that the call asks, and by which grant it ran."""
        given = grant(chat)
        chat.commit()

        (decision,) = chat.decisions()
        assert (decision["verdict"], decision["layer"]) == ("ask", "gate")
        assert (decision["grants"], decision["approval"]) == ([given.id], None)
        assert decision["tool_hash"] == "hash"

    def test_are_exact(self, chat: Desk) -> None:
        """Other arguments ask, and so does another tool of the same arguments."""
        grant(chat)

        assert isinstance(chat.call("git_commit", **{**COMMIT.args, "message": "other"}), Answer)
        assert isinstance(chat.call("git_add", **COMMIT.args), Answer)

    def test_before_an_approval_is_used(self, chat: Desk) -> None:
        """A call that is granted uses up no approval."""
        chat.commit()
        approved = chat.decide(True)
        grant(chat)
        chat.commit()

        assert chat.store.approvals.get(approved, now=chat.clock()).state == "approved"


class TestTheGateAlone:
    """Section 6: grants satisfy the approval gate and nothing else."""

    def test_lift_no_refusal(self, plan: Desk) -> None:
        """What a mode refuses is refused, granted or not."""
        grant(plan)

        assert "`git.commit`" in plan.said(plan.commit()).text

    @pytest.mark.parametrize("narrow", ["overlay", "setting", "dial", "lock"])
    def test_lift_no_refusal_of_the_space(self, chat: Desk, narrow: str) -> None:
        """Overlay, denial, `propose` and lock are stronger than any grant."""
        grant(chat)
        {
            "overlay": lambda: chat.overlay('[ceiling]\nrefuse = ["git.commit"]\n'),
            "setting": lambda: chat.set("git.commit", Verdict.DENY),
            "dial": lambda: chat.dial(Dial.PROPOSE),
            "lock": lambda: chat.lock(),
        }[narrow]()

        assert chat.said(chat.commit()).data is None

    def test_answer_a_setting_that_asks(self, chat: Desk) -> None:
        """Under `auto` an effect that was set to ask is what a grant answers for."""
        chat.dial(Dial.AUTO)
        chat.set("git.commit", Verdict.ASK)
        assert isinstance(chat.commit(), Answer)
        grant(chat)

        assert isinstance(chat.commit(), Run)


class TestBinding:
    def test_to_the_mode(self, chat: Desk) -> None:
        """A grant of one mode is none in another, wider or narrower, and is there on return."""
        grant(chat)
        chat.switch("plan")
        grant(chat, Grant("mcp-git:git_push", "{}"))
        chat.switch("chat")

        assert isinstance(chat.commit(), Run)
        assert isinstance(chat.call("mcp-git:git_push"), Answer)

    def test_to_the_mode_of_the_step(self, chat: Desk) -> None:
        """A step that began in another mode has no use of it."""
        grant(chat)
        chat.store.spaces.set_mode("s", "plan", by=OPERATOR, why="", now=chat.clock())
        grant(chat)
        frame = chat.frame()
        chat.switch("chat")

        assert isinstance(chat.later(frame), Answer)

    def test_to_the_space(self, chat: Desk) -> None:
        """A grant of another space answers for nothing here."""
        chat.store.spaces.create("other", "chat", by=OPERATOR, now=chat.clock())
        chat.store.grants.add("other", EXACT, by=OPERATOR, now=chat.clock())

        assert isinstance(chat.commit(), Answer)

    def test_to_the_tool_as_it_was_seen(self, chat: Desk) -> None:
        """A tool that changed since it was last called here is not the one that was granted."""
        chat.commit()
        given = grant(chat)

        assert given.tool_hash == "hash"
        assert isinstance(chat.later(chat.frame(), tool_hash="other"), Answer)
        assert isinstance(chat.commit(), Run)

    def test_to_the_tool_as_it_is_first_called(self, chat: Desk) -> None:
        """A grant of a tool that was never called is bound by its first use."""
        given = grant(chat)
        assert given.tool_hash is None

        assert isinstance(chat.commit(), Run)
        assert chat.store.grants.get(given.id).tool_hash == "hash"
        assert isinstance(chat.later(chat.frame(), tool_hash="other"), Answer)

    def test_anew_to_a_tool_that_changed(self, chat: Desk) -> None:
        """Granting the same calls of the changed tool takes the earlier grant's place."""
        chat.commit()
        before = grant(chat)
        chat.later(chat.frame(), tool_hash="other")
        after = grant(chat)

        assert after.id != before.id
        assert not chat.store.grants.get(before.id).active
        assert isinstance(chat.later(chat.frame(), tool_hash="other"), Run)
        assert isinstance(chat.commit(), Answer)

    def test_to_steps_after_it(self, chat: Desk) -> None:
        """A grant widens, so it is none of the step in flight; its revocation bites at once."""
        frame = chat.frame()
        given = grant(chat)
        assert isinstance(chat.later(frame), Answer)
        frame = chat.frame()
        assert isinstance(chat.later(frame), Run)

        chat.store.grants.revoke(given.id, by=OPERATOR, now=chat.clock())

        assert isinstance(chat.later(frame), Answer)


class TestTargets:
    def test_that_match_run_unasked(self, disk: Desk) -> None:
        """A call all of whose targets are granted runs; one that reaches further asks."""
        given = docs(disk)

        run = disk.call("put", paths=["docs/a.md", "docs/b/c.md"])
        assert isinstance(run, Run)
        assert run.grants == (given.id,)
        assert isinstance(disk.call("put", paths=["docs/a.md", "src/a.py"]), Answer)

    def test_of_every_effect(self, disk: Desk) -> None:
        """An effect that nobody granted asks, whatever else of the call is granted."""
        docs(disk)

        call = {"paths": ["docs/a.md"], "effects": ["worktree.write", "git.push"]}
        assert isinstance(disk.call("put", **call), Answer)

    @pytest.mark.parametrize(
        "args",
        [
            {"paths": []},
            {"paths": ["docs/a"], "opaque": True},
            {"paths": ["docs/a"], "effects": ["worktree.write", "process.spawn"]},
        ],
    )
    def test_never_what_cannot_be_seen(self, disk: Desk, args: dict[str, object]) -> None:
        """No target, an opaque call and a spawn ask under every grant, of the arguments too."""
        docs(disk)
        if args["paths"]:
            grant(disk, Grant("disk:put", canonical(args)))

        assert isinstance(disk.call("put", **args), Answer)

    def test_never_an_undeclared_tool(self, disk: Desk) -> None:
        """A tool that nobody declared asks, whatever is granted of it."""
        grant(disk, Grant("disk:odd", "{}"))

        assert isinstance(disk.call("odd"), Answer)


def test_a_harmless_call_needs_none(chat: Desk) -> None:
    """A call that asks for nothing names no grant, though one would cover it."""
    grant(chat, Grant("mcp-git:git_status", canonical(STATUS.args)))

    run = chat.later(chat.frame(), STATUS)

    assert isinstance(run, Run)
    assert run.grants == ()
