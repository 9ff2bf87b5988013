import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.harness.store import ApprovalKind, Store
from remit.harness.turns import Turn
from remit.harness.workspace import Workspace
from remit.policy.tools import Call
from remit.policy.vocabulary import Dial
from tests.cli.conftest import Remit
from tests.cli.world import asked, planned
from tests.needs import need

Made = dict[str, str]


class TestInit:
    def test_idempotent(self, remit: Remit) -> None:
        """A second `init` leaves everything as it was."""
        first = remit("init", "--json").json
        token = Path(first["operator_token_file"]).read_bytes()

        assert remit("init", "--json").json == first
        assert Path(first["operator_token_file"]).read_bytes() == token
        assert Path(first["operator_token_file"]).stat().st_mode & 0o777 == 0o600

    def test_elsewhere(self, remit: Remit, tmp_path: Path) -> None:
        """`--db` names another database, and the token lies beside it."""
        made = remit("init", "--db", tmp_path / "w.db", "--json").json

        assert made["db"] == str(tmp_path / "w.db")
        assert Path(made["operator_token_file"]).parent == tmp_path


class TestSpaces:
    def test_default(self, remit: Remit, workspace: Made) -> None:
        """A space without a mode is in the one that restricts nothing."""
        made = remit("space", "create", "desk", "--json").json

        assert (made["mode"], made["kind"], made["dial"]) == ("chat", "normal", "ask")
        assert (made["worktree"], made["revision"]) == (None, 1)

    def test_pull_request(self, remit: Remit, workspace: Made) -> None:
        """S003-11: a pull-request space starts in review and takes no other mode."""
        made = remit("space", "create", "pr", "--kind", "pull-request", "--json").json
        other = remit("space", "create", "b", "--kind", "pull-request", "--mode", "plan")

        assert made["mode"] == "review"
        assert other.code == 2
        assert "starts in `review`" in other.err
        assert [s["id"] for s in remit("space", "list", "--json").json] == ["pr"]

    def test_set(self, remit: Remit, workspace: Made) -> None:
        """A switch answers what became of it, and the history says who and why."""
        remit("space", "create", "desk")

        first = remit("space", "set", "desk", "plan", "--why", "a big change", "--json").json
        again = remit("space", "set", "desk", "plan", "--json").json
        history = remit("space", "history", "desk", "--json").json

        assert (first["answer"], first["revision"]) == ("committed", 2)
        assert (again["answer"], again["revision"]) == ("noop", 2)
        assert [(c["value"], c["by"], c["why"]) for c in history] == [
            ("chat", "operator", ""),
            ("plan", "operator", "a big change"),
        ]

    def test_alias(self, remit: Remit, workspace: Made) -> None:
        """An old name sets the mode that it stands for."""
        remit("space", "create", "desk", "--mode", "plan")

        assert remit("space", "set", "desk", "agent", "--json").json["mode"] == "chat"

    @pytest.mark.parametrize("mode", ["review", "read-only"])
    def test_not_selectable(self, remit: Remit, workspace: Made, mode: str) -> None:
        """S003-21: what is not selectable is not to be chosen, when made or later."""
        made = remit("space", "create", "desk", "--mode", mode)
        remit("space", "create", "desk")
        changed = remit("space", "set", "desk", mode)

        assert (made.code, changed.code) == (2, 2)
        assert "`orchestrate`" in changed.err
        assert remit("space", "show", "desk", "--json").json["mode"] == "chat"

    @pytest.mark.parametrize(
        ("command", "told"),
        [
            (("set", "desk", "pln"), "`plan`"),
            (("set", "deks", "plan"), "`desk`"),
            (("show", "deks"), "`desk`"),
            (("history", "deks"), "`desk`"),
            (("dial", "deks", "auto"), "`desk`"),
            (("create", "desk"), "already"),
            (("create", "new", "--mode", "pln"), "`plan`"),
            (("create", "new", "--worktree", "/nowhere"), "`/nowhere`"),
            (("create", "a b"), "`a b`"),
            (("dial", "desk", "atuo"), "`auto`"),
        ],
    )
    def test_wrong(
        self, remit: Remit, workspace: Made, command: tuple[str, ...], told: str
    ) -> None:
        """A wrong name is 2 with near misses, and changes nothing."""
        remit("space", "create", "desk")
        before = remit("log", "--json").out

        said = remit("space", *command)

        assert (said.code, said.out) == (2, "")
        assert told in said.err
        assert remit("log", "--json").out == before


class TestOperator:
    @pytest.mark.parametrize(
        "command",
        [
            ("space", "create", "new"),
            ("space", "set", "desk", "plan"),
            ("space", "dial", "desk", "auto"),
            ("approvals", "approve", "{call}"),
            ("approvals", "reject", "{call}"),
        ],
    )
    @pytest.mark.parametrize("token", [None, "0" * 64])
    def test_needed(
        self,
        remit: Remit,
        workspace: Made,
        monkeypatch: pytest.MonkeyPatch,
        command: tuple[str, ...],
        token: str | None,
    ) -> None:
        """What changes or decides needs the operator's token; without it, 2 and what to do."""
        remit("space", "create", "desk")
        with Store.open(workspace["db"]) as store:
            call = asked(store, "desk", ApprovalKind.CALL)
        before = remit("log", "--json").out
        if token:
            monkeypatch.setenv("REMIT_OPERATOR", token)
        else:
            monkeypatch.delenv("REMIT_OPERATOR")

        said = remit(*(call if part == "{call}" else part for part in command))

        assert (said.code, said.out) == (2, "")
        assert "operator" in said.err
        assert "hint:" in said.err
        assert remit("log", "--json").out == before

    def test_reading(self, remit: Remit, workspace: Made, monkeypatch: pytest.MonkeyPatch) -> None:
        """Looking needs no token."""
        remit("space", "create", "desk")
        monkeypatch.delenv("REMIT_OPERATOR")

        for command in (("space", "list"), ("space", "show", "desk"), ("log",), ("log", "verify")):
            assert remit(*command).code == 0


class TestApprovals:
    def test_newest_first(self, remit: Remit, workspace: Made) -> None:
        """The newest comes first, each with all that is approved."""
        remit("space", "create", "desk")
        with Store.open(workspace["db"]) as store:
            ids = [asked(store, "desk", ApprovalKind.CALL, shown) for shown in ("one", "two")]

        listed = remit("approvals", "list", "--json").json

        assert [(a["id"], a["shown"]) for a in listed] == [(ids[1], "two"), (ids[0], "one")]

    def test_escaped(self, remit: Remit, workspace: Made) -> None:
        """What a model wrote cannot draw on the operator's terminal."""
        remit("space", "create", "desk")
        with Store.open(workspace["db"]) as store:
            asked(store, "desk", ApprovalKind.CALL, "rm \x1b[2K\u202eecho")

        said = remit("approvals", "list").out

        assert "\x1b" not in said
        assert "\u202e" not in said
        assert "\\x1b[2K\\u202eecho" in said

    def test_decided(self, remit: Remit, workspace: Made) -> None:
        """The same decision again is no error, the opposite is told what holds."""
        remit("space", "create", "desk")
        with Store.open(workspace["db"]) as store:
            call = asked(store, "desk", ApprovalKind.CALL)

        assert remit("approvals", "approve", call, "--json").json["state"] == "approved"
        assert remit("approvals", "approve", call).code == 0
        opposite = remit("approvals", "reject", call)
        assert opposite.code == 2
        assert "was approved" in opposite.err

    def test_dial(self, remit: Remit, workspace: Made) -> None:
        """An approval may set the dial; without the option it stays."""
        remit("space", "create", "desk")
        with Store.open(workspace["db"]) as store:
            one, two = (asked(store, "desk", ApprovalKind.CALL, s) for s in ("one", "two"))

        remit("approvals", "approve", one)
        assert remit("space", "show", "desk", "--json").json["dial"] == Dial.ASK
        remit("approvals", "approve", two, "--dial", "auto")
        assert remit("space", "show", "desk", "--json").json["dial"] == Dial.AUTO

    def test_answer(self, remit: Remit, workspace: Made) -> None:
        """A question is answered in words, which are kept for whoever asked."""
        remit("space", "create", "desk")
        with Store.open(workspace["db"]) as store:
            question = asked(store, "desk", ApprovalKind.QUESTION, "north or south?")

        said = remit("approvals", "approve", question, "--answer", "north")

        assert said.code == 0
        assert "north" in said.out
        events = remit("log", "--json").json
        assert events[-1]["body"]["feedback"] == "north"

    def test_answer_to_a_call(self, remit: Remit, workspace: Made) -> None:
        """A call is approved or not: words for it are a mistake, and approve nothing."""
        remit("space", "create", "desk")
        with Store.open(workspace["db"]) as store:
            call = asked(store, "desk", ApprovalKind.CALL)

        said = remit("approvals", "approve", call, "--answer", "north")

        assert said.code == 2
        assert remit("approvals", "list", "--json").json[0]["state"] == "pending"

    def test_unknown(self, remit: Remit, workspace: Made) -> None:
        """An unknown id is 2."""
        assert remit("approvals", "approve", "a1").code == 2


class TestConversations:
    @pytest.fixture
    def open_turn(self, remit: Remit, workspace: Made) -> Iterator[Turn]:
        """A turn of the space desk that is open in a host."""
        remit("space", "create", "desk")
        with (
            Workspace.open(workspace["db"]) as at,
            at.space("desk").conversation("c").turn() as turn,
        ):
            turn.step(at.engine.catalogs(["mcp-git"]))
            yield turn

    def test_pending(self, remit: Remit, open_turn: Turn) -> None:
        """A switch waits for a turn under way, is taken back, and comes into force in a step."""
        answers, waiting = [], []
        for mode in ("plan", "chat", "plan"):
            answers.append(remit("space", "set", "desk", mode, "--json").json["answer"])
            waiting.append(remit("space", "show", "desk", "--json").json["pending"])
        assert "next boundary" in remit("space", "show", "desk").out
        assert remit("space", "list", "--json").json[0]["pending"] == "plan"
        open_turn.step()

        assert (answers, waiting) == (["queued", "cancelled", "queued"], ["plan", None, "plan"])
        assert remit("space", "show", "desk", "--json").json["pending"] is None

    def test_children_ask_the_same_operator(self, remit: Remit, open_turn: Turn) -> None:
        """What a child asks and is asked for is listed, labelled with whose child it is."""
        child = open_turn.conversation.child(id="c/helper")
        with child.turn("task") as turn:
            step = turn.step()
            step.decide(Call("ask_user", {"question": "Which one?"}))
        open_turn.step().decide(Call("git_commit", {"repo_path": "/w", "message": "m"}))

        own, asked = remit("approvals", "list", "--json").json
        assert (own["kind"], own["child"]) == ("call", None)
        assert (asked["kind"], asked["conversation"]) == ("question", "c/helper")
        assert asked["child"] == {"of": "c", "mode": "read-only"}
        assert "a child of c in read-only mode" in remit("approvals", "list").out
        said = remit("approvals", "approve", asked["id"], "--answer", "the first")
        assert "a child of c" in said.out


class TestPlans:
    def test_shown(self, remit: Remit, workspace: Made) -> None:
        """A plan is shown as Markdown for people."""
        remit("space", "create", "desk")
        with Store.open(workspace["db"]) as store:
            plan = planned(store, "desk")

        assert remit("plans", "list", "--json").json[0]["id"] == plan
        assert remit("plans", "show", plan).out.startswith("# See land\n")
        assert remit("plans", "show", "p1").code == 2


class TestLog:
    def test_space(self, remit: Remit, workspace: Made) -> None:
        """The log of one space has its records alone; an unknown space is 2."""
        for space in ("a", "b"):
            remit("space", "create", space)

        assert {e["space"] for e in remit("log", "--space", "a", "--json").json} == {"a"}
        assert remit("log", "--space", "c").code == 2

    def test_people(self, remit: Remit, workspace: Made) -> None:
        """For people a record is a line."""
        remit("space", "create", "desk")

        lines = remit("log").out.splitlines()

        assert len(lines) == len(remit("log", "--json").json)
        assert "space.made" in lines[-1]

    def test_verify(self, remit: Remit, workspace: Made) -> None:
        """A whole log is 0; one that ends before its anchor is 1 and says what is missing."""
        remit("space", "create", "desk")
        assert remit("log", "verify").code == 0
        copy = Path(workspace["db"]).read_bytes()
        remit("space", "create", "other")
        for path in Path(workspace["db"]).parent.glob("remit.db-*"):
            path.unlink()
        Path(workspace["db"]).write_bytes(copy)

        said = remit("log", "verify", "--json")

        assert (said.code, said.json["ok"]) == (1, False)
        assert said.json["problem"]["code"] == "log-cut"

    def test_rebuild(self, remit: Remit, workspace: Made) -> None:
        """The tables are what the log folds into."""
        remit("space", "create", "desk")

        assert remit("log", "rebuild", "--check", "--json").json["equal"] is True
        assert remit("log", "rebuild").code == 2


class TestUnusableModes:
    @pytest.mark.parametrize("broken", [True, False])
    def test_are_flagged(self, remit: Remit, workspace: Made, broken: bool) -> None:
        """A space whose mode is broken or gone says so wherever it is shown."""
        file = Path(workspace["config"]) / "modes" / "docs.toml"
        file.write_text('name = "docs"\n')
        remit("space", "create", "desk", "--mode", "docs")
        remit("space", "create", "fine")
        assert remit("space", "show", "desk", "--json").json["problems"] == []

        if broken:
            file.write_text('name = "docs"\n[ceiling]\ntier = "high"\n')
        else:
            file.unlink()

        code = "unknown-value" if broken else "unknown-mode"
        listed = {s["id"]: s["problems"] for s in remit("space", "list", "--json").json}
        assert [p["code"] for p in listed["desk"]] == [code]
        assert listed["fine"] == []
        for command in (("space", "list"), ("space", "show", "desk")):
            said = remit(*command)
            assert said.code == 0
            assert "docs (unusable" in said.out
            assert f"[{code}]" in said.err

    def test_do_not_hide_the_spaces(self, remit: Remit, workspace: Made) -> None:
        """Where nothing can be loaded, spaces are listed all the same."""
        remit("space", "create", "desk")
        (Path(workspace["config"]) / "remit.toml").write_text('plugins = ["nope"]\n')

        said = remit("space", "list")

        assert said.code == 0
        assert "desk" in said.out
        assert "plugin `nope` is not installed" in said.err


class TestDoctor:
    @pytest.mark.parametrize("columns", [60, 100])
    def test_fits(
        self, remit: Remit, workspace: Made, monkeypatch: pytest.MonkeyPatch, columns: int
    ) -> None:
        """Lines break within the terminal, but for a path that is longer than it."""
        monkeypatch.setenv("COLUMNS", str(columns))

        remit("space", "create", "desk")
        with Store.open(workspace["db"]) as store:
            asked(store, "desk", ApprovalKind.CALL)

        lines = remit("doctor").out.splitlines()

        assert all(len(x) <= columns or " " not in x[26:].strip() for x in lines)
        assert any(x.strip().startswith("to do: ") for x in lines)

    def test_modes_that_are_gone(self, remit: Remit, workspace: Made) -> None:
        """A space whose mode is gone is told; where a plugin fails, that alone is the cause.

        Whatever is not fine has something to do beside it.
        """
        file = Path(workspace["config"]) / "modes" / "docs.toml"
        file.write_text('name = "docs"\n')
        remit("space", "create", "desk", "--mode", "docs")
        settings = Path(workspace["config"]) / "remit.toml"

        settings.write_text('plugins = ["nope"]\n')
        failing = remit("doctor", "--json").json
        settings.write_text("")
        file.unlink()
        gone = remit("doctor", "--json").json

        assert {f["part"] for f in failing if f["state"] == "failed"} == {"plugins"}
        assert {f["part"] for f in gone if f["state"] == "failed"} == {"spaces"}
        assert all(f["todo"] for f in (*failing, *gone) if f["state"] != "ok")

    def test_programs_of_a_repository(self, remit: Remit, workspace: Made, tmp_path: Path) -> None:
        """What git would run by itself in a space's worktree is told, by key and program."""
        need("git")
        git = ["git", "-C", str(tmp_path)]
        subprocess.run([*git, "init", "-q"], check=True)
        remit("space", "create", "desk", "--worktree", tmp_path)
        remit("space", "create", "twin", "--worktree", tmp_path)
        assert not [f for f in remit("doctor", "--json").json if f["part"] == "worktree"]
        for key, value in (
            ("filter.lfs.clean", "lfs clean"),
            ("core.fsmonitor", "false"),
            ("user.name", "Ada"),
        ):
            subprocess.run([*git, "config", key, value], check=True)

        (found,) = [f for f in remit("doctor", "--json").json if f["part"] == "worktree"]

        assert found["state"] == "warning"
        assert found["found"].endswith(": `filter.lfs.clean` = `lfs clean`")
        assert "--sandbox" in found["todo"]

    def test_without_sqlglot(self, remit: Remit, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where SQL cannot be read, that is told with what it means and what to install."""
        monkeypatch.setitem(sys.modules, "sqlglot", None)

        (found,) = [f for f in remit("doctor", "--json").json if f["part"] == "sql"]

        assert found["state"] == "warning"
        assert "opaque" in found["found"]
        assert "remit[guard]" in found["todo"]

    def test_nothing_yet(self, remit: Remit) -> None:
        """A machine without a workspace is fine, and is told how to make one."""
        said = remit("doctor", "--json")
        found = {f["part"]: f for f in said.json}

        assert said.code == 0
        assert found["database"]["state"] == "warning"
        assert "remit init" in found["database"]["todo"]

    def test_failed(self, remit: Remit, workspace: Made) -> None:
        """A broken part is 1, with what to do."""
        Path(workspace["db"]).write_text("no database")

        said = remit("doctor", "--json")
        found = {f["part"]: f for f in said.json}

        assert said.code == 1
        assert found["database"]["state"] == "failed"
        assert found["database"]["todo"]

    def test_vanished_mode(self, remit: Remit, workspace: Made) -> None:
        """A space whose mode no longer resolves is told of."""
        modes = Path(workspace["config"]) / "modes"
        (modes / "docs.toml").write_text('name = "docs"\n')
        remit("space", "create", "desk", "--mode", "docs")
        (modes / "docs.toml").unlink()

        said = remit("doctor", "--json")

        assert said.code == 1
        assert any("docs" in f["found"] for f in said.json if f["part"] == "spaces")

    def test_each_part_by_itself(self, remit: Remit, workspace: Made, tmp_path: Path) -> None:
        """Plugins, catalogues, servers and modes are looked at one by one, each with what to do."""
        config = Path(workspace["config"])
        (config / "remit.toml").write_text(
            'plugins = ["nope"]\ncatalogs = ["mcp-git", "bad.toml"]\n'
            '[servers]\ngit = "mcp-git"\nshop = "mcp-shop"\n'
        )
        (config / "bad.toml").write_text("[tools.x]\ntier = 3\n")
        (config / "modes" / "a.toml").write_text('name = "a"\n[ceiling]\nrefuse = ["git.psuh"]\n')
        (config / "modes" / "b.toml").write_text('name = "b"\n[ceiling]\ndeny = ["git_comit"]\n')
        (config / "modes" / "c.toml").write_text('name = "c"\n')

        said = remit("doctor", "--json")
        bad = {(f["part"], f["found"].split(" ")[0]): f for f in said.json if f["state"] != "ok"}

        assert said.code == 1
        for part in ("plugins", "catalogues", "server shop", "user modes"):
            assert any(p == part for p, _ in bad), part
        assert "`nope`" in next(f["found"] for (p, _), f in bad.items() if p == "plugins")
        assert sum(f["part"] == "user modes" and f["state"] == "failed" for f in said.json) == 2
        assert all(f["todo"] for f in bad.values())
        assert {f["part"] for f in said.json if f["state"] == "ok"} >= {"server git", "user modes"}
