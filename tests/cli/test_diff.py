from pathlib import Path

import pytest

from tests.cli.conftest import Remit

GIT = ("--catalog", "mcp-git")


@pytest.mark.parametrize(
    ("a", "b", "over", "ceilings"),
    [
        ("plan", "chat", "narrower", "narrower"),
        ("chat", "plan", "wider", "wider"),
        ("plan", "plan", "equal", "equal"),
        ("plan", "read-only", "equal", "narrower"),
        ("plan", "review", "equal", "incomparable"),
    ],
)
def test_relations(remit: Remit, a: str, b: str, over: str, ceilings: str) -> None:
    """Two modes are compared over the tools and as ceilings; a difference exits 1."""
    said = remit("diff", a, b, *GIT, "--json")

    assert (said.json["relation"], said.json["ceilings"]) == (over, ceilings)
    assert said.code == int(a != b)


def test_what_differs(remit: Remit, tmp_path: Path) -> None:
    """Tools, effects, keys and words that differ are named; each way makes neither narrower."""
    for name, deny, effect in (("a", "git_log", "git.push"), ("b", "git_add", "vendor.write")):
        text = f'name = "{name}"\n[ceiling]\nunknown = "refuse"\n'
        (tmp_path / f"{name}.toml").write_text(
            f'{text}deny = ["{deny}"]\nrefuse = ["{effect}"]\n[brief]\nguidance = "{name}"\n'
        )

    told = remit("diff", tmp_path / "a.toml", tmp_path / "b.toml", *GIT, "--json").json

    assert told["relation"] == told["ceilings"] == "incomparable"
    assert {t["name"] for t in told["tools"]} == {"git_log", "git_add"}
    assert told["effects"] == {
        "git.push": {"a": "refused", "b": "admitted"},
        "vendor.write": {"a": "admitted", "b": "refused"},
    }
    assert (told["keys"], told["brief"]) == (["refuse", "deny"], ["guidance"])


def test_people(remit: Remit) -> None:
    """The text says over what each relation holds."""
    text = remit("diff", "plan", "chat", *GIT).out

    assert text.startswith("over 12 tools and every dial, plan is narrower than chat\n")
    assert "whatever the tools" in text
