"""What an operator gives a space besides its mode, as a conversation there meets it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from remit.harness.engine import Engine
from remit.harness.session import Answer, Run, Session
from remit.harness.store import OPERATOR, Overlay, Store
from remit.policy.projection import Host
from remit.policy.tools import Call
from tests.cli.conftest import Remit

Made = dict[str, str]
COMMIT = Call("git_commit", {"repo_path": "/r", "message": "x"})
ARGS = '{"message": "x", "repo_path": "/r"}'


class Talk:
    """A conversation in the space `desk`, in another process for all that it knows."""

    def __init__(self, store: Store) -> None:
        engine = Engine.load()
        self.store = store
        self.session = Session(engine, store, "desk", "c", Host("test"), lambda: datetime.now(UTC))
        self.session.set_catalog(engine.catalog("mcp-git"))

    def commit(self, tool_hash: str = "h") -> str:
        given = self.session.call(self.session.frame(), COMMIT, tool_hash)
        return "runs" if isinstance(given, Run) else "asks" if given.data else "refused"

    def say(self, tool: str, **args: Any) -> Answer:
        given = self.session.call(self.session.frame(), Call(tool, args))
        assert isinstance(given, Answer)
        return given


@pytest.fixture
def talk(remit: Remit, workspace: Made) -> Iterator[Talk]:
    assert remit("space", "create", "desk", "--worktree", "/").code == 0
    with Store.open(workspace["db"]) as store:
        yield Talk(store)


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    path = tmp_path / "overlay.toml"
    path.write_text('[ceiling]\nrefuse = ["git.commit"]\n')
    return path


class TestOverlay:
    def test_holds_without_its_file(
        self, remit: Remit, talk: Talk, overlay: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What the file said is kept: it may change or go, and was named as seen from here."""
        monkeypatch.chdir(overlay.parent)
        said = remit("space", "overlay", "desk", overlay.name, "--json").json
        overlay.unlink()

        assert said["overlay"]["file"] == str(overlay)
        assert said["overlay"]["ceiling"]["refuse"] == ["git.commit"]
        assert said["overlay"]["problems"] == []
        assert talk.commit() == "refused"
        assert remit("space", "show", "desk", "--json").json == said

    def test_is_taken_away(self, remit: Remit, talk: Talk, overlay: Path) -> None:
        """`--clear` takes it away, and the history tells both."""
        remit("space", "overlay", "desk", overlay)
        said = remit("space", "overlay", "desk", "--clear", "--json")

        assert said.json["overlay"] is None
        assert talk.commit() == "asks"
        history = remit("space", "history", "desk", "--json").json
        assert [c["value"] for c in history if c["what"] == "overlay.set"] == [str(overlay), "none"]

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ('[ceiling]\nrefuse = ["git.comit"]\n', "did you mean `git.commit`"),
            ('[ceiling]\nrefuse = ["x"]\ntire = "read"\n', "did you mean `tier`"),
            ('name = "x"\n[ceiling]\n', "unknown key `name`"),
            ("", "`ceiling` is missing"),
            ("[ceiling\n", "not TOML"),
        ],
    )
    def test_that_does_not_load(
        self, remit: Remit, talk: Talk, overlay: Path, text: str, told: str
    ) -> None:
        """A wrong overlay is 2 with every problem at its place, and changes nothing."""
        overlay.write_text(text)

        said = remit("space", "overlay", "desk", overlay)

        assert (said.code, said.out) == (2, "")
        assert told in said.err
        assert str(overlay) in said.err
        assert talk.store.spaces.get("desk").overlay is None

    def test_that_no_longer_loads(self, remit: Remit, talk: Talk) -> None:
        """One that was stored and cannot be used is told by `show`, and admits nothing."""
        kept = Overlay("/gone.toml", '[ceiling]\nrefuse = ["acme.deploy"]\n')
        talk.store.spaces.set_overlay("desk", kept, by=OPERATOR, now=datetime.now(UTC))

        value = remit("space", "show", "desk", "--json").json["overlay"]
        people = remit("space", "show", "desk")

        assert value["ceiling"] is None
        assert value["problems"][0]["code"] == "unknown-effect"
        assert "unknown effect class `acme.deploy` @ /gone.toml:2:" in people.err
        assert talk.commit() == "refused"
        assert "unknown effect class `acme.deploy`" in talk.say("mode").text


class TestEffects:
    def test_hold(self, remit: Remit, talk: Talk) -> None:
        """A setting holds for the next call, under whatever dial."""
        remit("space", "dial", "desk", "auto")
        assert talk.commit() == "runs"

        said = remit("space", "effect", "desk", "git.commit", "ask", "--json").json
        assert said["effects"] == {"git.commit": "ask"}
        assert talk.commit() == "asks"

        remit("space", "effect", "desk", "git.commit", "deny")
        assert talk.commit() == "refused"

        said = remit("space", "effect", "desk", "git.commit", "--clear", "--json").json
        assert said["effects"] == {}
        assert talk.commit() == "runs"

    def test_on_targets(self, remit: Remit, talk: Talk) -> None:
        """A pattern is part of what is set: each is told and cleared by itself."""
        remit("space", "effect", "desk", "git.push", "ask")
        remit("space", "effect", "desk", "git.push", "deny", "--target", "origin main")
        said = remit("space", "effect", "desk", "git.push", "--clear", "--json").json

        assert said["effects"] == {"git.push origin main": "deny"}
        assert "git.push origin main: deny" in remit("space", "show", "desk").out


class TestLock:
    def test_holds_at_once(self, remit: Remit, talk: Talk) -> None:
        """A step that is under way forwards nothing more; unlocked, the next one does."""
        remit("space", "dial", "desk", "auto")
        frame = talk.session.frame()
        assert isinstance(talk.session.call(frame, COMMIT), Run)

        assert remit("space", "lock", "desk", "--why", "look", "--json").json["locked"] is True
        assert isinstance(talk.session.call(frame, COMMIT), Answer)
        assert talk.commit() == "refused"
        assert not talk.say("ask_user", question="why?").error

        assert remit("space", "unlock", "desk", "--json").json["locked"] is False
        assert talk.commit() == "runs"

    def test_leaves_the_operator_free(self, remit: Remit, talk: Talk) -> None:
        """The operator who locked a space can still give it another mode."""
        remit("space", "lock", "desk")

        said = remit("space", "set", "desk", "plan", "--json")

        assert said.json["answer"] == "committed"
        assert remit("space", "show", "desk", "--json").json["locked"] is True


class TestGrants:
    def test_answer_for_the_operator(self, remit: Remit, talk: Talk) -> None:
        """A granted call runs unasked until the grant is revoked."""
        assert talk.commit() == "asks"
        given = remit("grants", "add", "desk", "git_commit", "--args", ARGS, "--json").json

        assert (given["tool"], given["mode"]) == ("mcp-git:git_commit", "chat")
        assert given["args"] == {"message": "x", "repo_path": "/r"}
        assert given["tool_hash"] == "h"
        assert talk.commit() == "runs"
        assert talk.commit("changed") == "asks"

        gone = remit("grants", "revoke", given["id"], "--json").json
        assert gone["state"] == "revoked"
        assert talk.commit() == "asks"

    def test_are_listed(self, remit: Remit, talk: Talk) -> None:
        """The newest comes first, revoked ones too, of one space or all; people read one each."""
        remit("space", "create", "other")
        first = remit("grants", "add", "desk", "git_commit", "--args", "{}", "--json").json["id"]
        options = ("--effect", "git.push", "--target", "origin feature/*")
        second = remit("grants", "add", "other", "git_add", *options, "--json").json["id"]
        remit("grants", "revoke", first)

        listed = remit("grants", "list", "--json").json
        assert [(g["id"], g["state"]) for g in listed] == [(second, "active"), (first, "revoked")]
        mine = remit("grants", "list", "--space", "desk", "--json").json
        assert [g["id"] for g in mine] == [first]
        told = remit("grants", "list").out
        assert f"{second}  active  space other  in chat mode  mcp-git:git_add" in told
        assert "git.push on origin feature/*" in told

    @pytest.mark.parametrize(
        ("tool", "key"),
        [("git_commit", "mcp-git:git_commit"), ("mcp-git:git_commit", "mcp-git:git_commit")],
    )
    def test_name_a_tool(self, remit: Remit, talk: Talk, tool: str, key: str) -> None:
        """A bare name is that of the one tool that bears it."""
        assert remit("grants", "add", "desk", tool, "--args", "{}", "--json").json["tool"] == key

    def test_name_what_was_called_here_first(self, remit: Remit, talk: Talk) -> None:
        """Under an operator's own name for a server, the tool that was called is meant."""
        talk.session.set_catalog(talk.session.engine.catalog("mcp-git", "git"))
        talk.say("git_nonsense")
        talk.commit()

        given = remit("grants", "add", "desk", "git_commit", "--args", ARGS, "--json")

        assert given.json["tool"] == "git:git_commit"
        assert talk.commit() == "runs"

    def test_of_a_server_in_a_file(self, remit: Remit, talk: Talk, tmp_path: Path) -> None:
        """A file of servers says what their tools are, and the grant pins what was reviewed."""
        args = ("--args", ARGS)
        says = ('tier = "write"', 'effects = ["git.commit"]', f'hash = "{"a" * 64}"')
        (tmp_path / "own.toml").write_text("\n".join(("[tools.git_commit]", *says)))
        servers = tmp_path / "servers.toml"
        servers.write_text('[servers.git]\ncommand = ["git-server"]\ncatalog = "own.toml"\n')
        own = str(tmp_path / "own.toml")
        talk.session.set_catalog(talk.session.engine.catalog(own, "git"))
        unknown = remit("grants", "add", "desk", "git:zzz", *args)
        assert "say `--servers FILE`" in unknown.err

        options = ("--servers", str(servers), *args, "--json")
        given = remit("grants", "add", "desk", "git:git_commit", *options)

        assert given.err == ""
        assert given.json["tool_hash"] == "a" * 64
        assert talk.commit("b" * 64) == "asks"
        assert talk.commit("a" * 64) == "runs"

    def test_of_a_tool_that_nobody_declared(self, remit: Remit, talk: Talk) -> None:
        """A server may have what no catalogue names, so it is granted and said."""
        said = remit("grants", "add", "desk", "mcp-git:git_comit", "--args", "{}")

        assert said.code == 0
        assert "no catalogue here has a tool `mcp-git:git_comit`" in said.err
        assert "`mcp-git:git_commit`" in said.err

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            (("desk", "git_comit", "--args", "{}"), "did you mean `git_commit`"),
            (("desk", "submit_plan", "--args", "{}"), "verb of remit's own"),
            (("deks", "git_commit", "--args", "{}"), "did you mean `desk`"),
            (("desk", "git_commit"), "say which calls"),
            (("desk", "git_commit", "--effect", "git.push"), "say which calls"),
            (("desk", "git_commit", "--target", "**"), "say which calls"),
            (
                ("desk", "git_commit", "--args", "{}", "--effect", "git.push", "--target", "x"),
                "say which calls",
            ),
            (("desk", "git_commit", "--args", "{"), "cannot be read"),
            (("desk", "git_commit", "--args", "[]"), "to be an object"),
            (("desk", "git_commit", "--args", '{"a": 1, "a": 2}'), "`a` is given twice"),
            (("desk", "git_commit", "--args", '{"a": NaN}'), "`NaN` is no number"),
            (("desk", "git_commit", "--args", "[" * 100_000), "nests too deep"),
            (("desk", "git_commit", "--effect", "git.psuh", "--target", "x"), "`git.push`"),
            (("desk", "git_commit", "--effect", "process.spawn", "--target", "x"), "no grant"),
            (("desk", "git_commit", "--effect", "git.push", "--target", "!x"), "excludes"),
        ],
    )
    def test_wrong(self, remit: Remit, talk: Talk, options: tuple[str, ...], told: str) -> None:
        """What could never hold, or may mean several things, is 2 and changes nothing."""
        before = talk.store.log.head()

        said = remit("grants", "add", *options)

        assert (said.code, said.out) == (2, "")
        assert told in said.err
        assert talk.store.log.head() == before

    def test_of_two_tools_of_one_name(self, remit: Remit, talk: Talk) -> None:
        """A bare name that two known tools bear is refused, with both."""
        for source in ("one", "two"):
            talk.session.set_catalog(talk.session.engine.catalog("mcp-git", source))
            talk.commit()

        said = remit("grants", "add", "desk", "git_commit", "--args", "{}")

        assert said.code == 2
        assert "`one:git_commit` and `two:git_commit`" in said.err

    def test_shown_escaped(self, remit: Remit, talk: Talk) -> None:
        """What is granted is shown with all that cannot be seen in it."""
        args = '{"message": "a\\u202eb\\u001b[2J"}'

        said = remit("grants", "add", "desk", "git_commit", "--args", args)

        assert "\\u202e" in said.out
        assert "\u202e" not in said.out
        assert "\x1b" not in said.out


@pytest.mark.parametrize(
    "command",
    [
        ("space", "effect", "desk", "git.push", "deny"),
        ("space", "effect", "desk", "git.push", "--clear"),
        ("space", "overlay", "desk", "--clear"),
        ("space", "lock", "desk"),
        ("space", "unlock", "desk"),
        ("grants", "add", "desk", "git_commit", "--args", "{}"),
        ("grants", "revoke", "g0"),
    ],
)
def test_the_operators_alone(
    remit: Remit, talk: Talk, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """Without the operator's token nothing of this is done; looking needs none."""
    before = talk.store.log.head()
    monkeypatch.delenv("REMIT_OPERATOR")

    said = remit(*command)

    assert (said.code, said.out) == (2, "")
    assert "operator" in said.err
    assert talk.store.log.head() == before
    assert remit("grants", "list").code == 0


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("effect", "desk", "git.psuh", "deny"), "`git.push`"),
        (("effect", "desk", "git.push", "dney"), "`deny`"),
        (("effect", "desk", "git.push"), "--clear"),
        (("effect", "desk", "git.push", "deny", "--clear"), "--clear"),
        (("effect", "desk", "git.push", "--clear"), "no effect is set"),
        (("effect", "desk", "git.push", "deny", "--target", "!main"), "excludes"),
        (("effect", "deks", "git.push", "deny"), "`desk`"),
        (("overlay", "desk"), "--clear"),
        (("overlay", "desk", "/nowhere.toml"), "no file `/nowhere.toml`"),
        (("overlay", "desk", "/"), "folder"),
        (("overlay", "deks", "--clear"), "`desk`"),
        (("lock", "deks"), "`desk`"),
        (("unlock", "deks"), "`desk`"),
    ],
)
def test_wrong(remit: Remit, talk: Talk, command: tuple[str, ...], told: str) -> None:
    """A wrong word is 2 with near misses, and changes nothing."""
    before = talk.store.log.head()

    said = remit("space", *command)

    assert (said.code, said.out) == (2, "")
    assert told in said.err
    assert talk.store.log.head() == before


def test_decide_under_an_overlay(remit: Remit, overlay: Path) -> None:
    """`decide --overlay` judges as a space with that overlay does, children of others too."""
    overlay.write_text('[ceiling]\ndeny = ["git_status"]\n')
    calls = '{"tool": "git_status"}\n{"tool": "git_log"}\n{"tool": "git_commit"}\n'
    options = ("--catalog", "mcp-git", "--overlay", overlay)

    alone = remit("decide", "chat", *options, stdin=calls).lines
    child = remit("decide", "chat", *options, "--child-of", "plan", stdin=calls).lines

    assert [a["verdict"] for a in alone] == ["deny", "allow", "ask"]
    assert [a["verdict"] for a in child] == ["deny", "allow", "deny"]


def test_decide_under_a_wrong_overlay(remit: Remit, overlay: Path) -> None:
    """An overlay that denies what no tool is called decides nothing."""
    overlay.write_text('[ceiling]\ndeny = ["git_comit"]\n')

    said = remit("decide", "chat", "--catalog", "mcp-git", "--overlay", overlay, stdin="{}")

    assert (said.code, said.out) == (2, "")
    assert f"`git_comit` matches no tool @ {overlay}:2:" in said.err


def test_grant_of_a_pinned_tool(remit: Remit, workspace: Made, tmp_path: Path) -> None:
    """A grant is of the tool as its catalogue pins it, called before or not."""
    from remit.policy.tools import Learnt

    pin = Learnt.of("look", "Look.", {"type": "object"}).hash
    catalog = tmp_path / "eye.toml"
    catalog.write_text(
        f'[tools.look]\ntier = "read"\neffects = ["network.egress"]\nhash = "{pin}"\n'
        'description = "Look."\nschema = \'{"type":"object"}\'\n'
    )
    Path(workspace["config"], "remit.toml").write_text(f'[servers]\neye = "{catalog}"\n')
    remit("space", "create", "pinned")

    given = remit("grants", "add", "pinned", "eye:look", "--args", "{}", "--json").json

    assert given["tool_hash"] == pin
