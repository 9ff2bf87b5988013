"""A decision's record says with what a call was made, without what is secret."""

from pathlib import Path

from remit.harness.engine import Engine
from remit.harness.location import locate
from remit.policy.redact import CUT
from tests.harness.desk import Desk


def test_arguments_are_recorded_without_secrets(chat: Desk) -> None:
    """What was called with is in the log; a secret among it is not, though an approval shows it."""
    chat.call("mcp-git:git_commit", message="mend", api_key="s3cr3t")

    (decision,) = chat.decisions()
    assert decision["args"] == {"message": "mend", "api_key": CUT}
    (asked,) = chat.store.approvals.list(now=chat.clock())
    assert "s3cr3t" in asked.shown


def test_an_operator_names_more(tmp_path: Path) -> None:
    """The key `redact` of `remit.toml` adds names; none that is always cut is taken away."""
    (tmp_path / "remit.toml").write_text('redact = ["iban*"]\n')
    found = locate({"REMIT_HOME": str(tmp_path)})
    assert Engine.load(redact=found.redact).redact == ("iban*",)
