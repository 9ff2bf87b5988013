"""The keys of every command's JSON, as a literal table: scripts rely on them."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from remit.harness.store import OPERATOR, ApprovalKind, Store
from remit.policy.grants import Grant
from tests.cli.conftest import Remit
from tests.cli.world import asked, planned

GIT = ("--catalog", "mcp-git")
SPACE = "id mode pending kind worktree dial effects overlay locked remote revision problems"
APPROVAL = "id kind space conversation requested_by child state digest expires_at shown"
PLAN = (
    "id space conversation author state revision goal nodes digest approval mode leave_to shown "
    "path submitted_at"
)
GRANT = (
    "id space tool mode args effect target tool_hash state added_by added_at revoked_by revoked_at"
)
EVENT = "seq at kind space conversation actor body prev hash"

#: Command line, where the object is in the document, its keys in order.
WITHOUT_DATABASE: list[tuple[tuple[str, ...], tuple[str | int, ...], str]] = [
    (("modes",), (0,), "name label kind selectable source problems"),
    (("show", "plan"), (), "name label ceiling brief pins chain aliases sides where"),
    (("show", "plan"), ("ceiling",), "tier posture refuse unknown allow deny limit"),
    (
        ("show", "plan"),
        ("brief",),
        "verbs required noun exit exit_to children missed announce guidance",
    ),
    (("show", "plan"), ("where", "label", 0), "file line column"),
    (("effects",), (0,), "id meaning world_changing default plugin"),
    (
        ("catalog", "mcp-git"),
        (0,),
        "source name tier effects least groups classify declared verb",
    ),
    (("surface", "plan", *GIT), (), "mode hash tools"),
    (("surface", "plan", *GIT), ("tools", 0), "source name state layer reason"),
    (("preamble", "plan", *GIT), (), "mode hash preamble"),
    (("matrix", *GIT), (0,), "source name modes"),
    (("matrix", *GIT), (0, "modes", "plan"), "state verdict"),
    (("doctor",), (0,), "part state found todo"),
]
WITH_DATABASE: list[tuple[tuple[str, ...], tuple[str | int, ...], str]] = [
    (("init",), (), "db config operator_token_file"),
    (("space", "create", "new"), (), SPACE),
    (("space", "show", "desk"), (), SPACE),
    (("space", "list"), (0,), SPACE),
    (("space", "dial", "desk", "auto"), (), SPACE),
    (("space", "effect", "desk", "git.push", "deny"), (), SPACE),
    (("space", "overlay", "desk", "{overlay}"), (), SPACE),
    (("space", "overlay", "desk", "{overlay}"), ("overlay",), "file ceiling problems"),
    (("space", "lock", "desk"), (), SPACE),
    (("space", "unlock", "desk"), (), SPACE),
    (("grants", "add", "desk", "git_commit", "--args", "{}"), (), GRANT),
    (("grants", "list"), (0,), GRANT),
    (("grants", "revoke", "{grant}"), (), GRANT),
    (("space", "set", "desk", "plan"), (), "id mode answer revision"),
    (("space", "history", "desk"), (0,), "at what value by why answer revision approval"),
    (("approvals", "list"), (0,), APPROVAL),
    (("approvals", "approve", "{call}"), (), APPROVAL),
    (("approvals", "reject", "{call}"), (), APPROVAL),
    (("plans", "list"), (0,), PLAN),
    (("plans", "show", "{plan}"), (), PLAN),
    (("plans", "show", "{plan}"), ("nodes", 0), "key title description type role depends_on"),
    (("log",), (0,), EVENT),
    (("log", "verify"), (), "ok records anchored ahead missing cut problem"),
    (("log", "rebuild", "--check"), (), "equal records problems"),
]
DECISION = "id tool verdict layer effects targets opaque reason hint"


def at(document: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        document = document[part]
    return document


@pytest.mark.parametrize(("command", "path", "keys"), WITHOUT_DATABASE)
def test_policy(
    remit: Remit, command: tuple[str, ...], path: tuple[str | int, ...], keys: str
) -> None:
    """A command on policy prints these keys."""
    said = remit(*command, "--json")

    assert " ".join(at(said.json, path)) == keys
    assert said.code == 0


@pytest.mark.parametrize(("command", "path", "keys"), WITH_DATABASE)
def test_workspace(
    remit: Remit,
    workspace: dict[str, str],
    command: tuple[str, ...],
    path: tuple[str | int, ...],
    keys: str,
    tmp_path: Path,
) -> None:
    """A command on the workspace prints these keys."""
    remit("space", "create", "desk")
    (tmp_path / "overlay.toml").write_text("[ceiling]\n")
    with Store.open(workspace["db"]) as store:
        grant = Grant("mcp-git:git_push", "{}")
        names = {
            "{overlay}": str(tmp_path / "overlay.toml"),
            "{grant}": store.grants.add("desk", grant, by=OPERATOR, now=datetime.now(UTC)).id,
            "{call}": asked(store, "desk", ApprovalKind.CALL),
            "{plan}": planned(store, "desk"),
        }

    said = remit(*(names.get(part, part) for part in command), "--json")

    assert (said.code, said.err) == (0, "")
    assert " ".join(at(said.json, path)) == keys


def test_check(remit: Remit, tmp_path: Any) -> None:
    """A problem has these keys."""
    (tmp_path / "x.toml").write_text('name = "x"\ntire = "read"\n')

    said = remit("check", tmp_path / "x.toml", "--json")

    assert " ".join(said.json[0]) == "severity code message hint file line column path"


def test_decide(remit: Remit) -> None:
    """A decision has these keys, one on a bad line also the line's number."""
    said = remit("decide", "plan", *GIT, stdin='{"tool": "git_log"}\n7\n')

    assert [" ".join(line) for line in said.lines] == [DECISION, f"{DECISION} line"]
