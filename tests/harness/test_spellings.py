from __future__ import annotations

import os
from pathlib import Path

import pytest

from remit.harness.gateway.environment import upstream_environment
from remit.harness.touched import touched


@pytest.fixture
def token(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    token = tmp_path / "home" / "remit.db.operator"
    token.write_text("secret")
    return token


#: How a server may be told of a file, where {dir} is the folder that it lies in.
SPELLINGS = [
    "{dir}/remit.db.operator",
    "{dir}/./././remit.db.operator",
    "{dir}/../home/remit.db.operator",
    "{dir}/" + "./" * 3000 + "remit.db.operator",
    "/" * 5000 + "{dir}/remit.db.operator",
    "{dir}/" + "x/../" * 2000 + "remit.db.operator",
    "  {dir}/remit.db.operator \n",
    '"{dir}/remit.db.operator"',
    "file://{dir}/remit.db.operator",
    "FILE://{dir}/remit.db%2Eoperator",
    " file://{dir}/remit.db.operator",
    "home/remit.db.operator",
    "/proc/self/root{dir}/remit.db.operator",
]


class TestTouched:
    @pytest.mark.parametrize("spelt", SPELLINGS, ids=[s[:40] for s in SPELLINGS])
    def test_sees_through_spellings(self, token: Path, spelt: str) -> None:
        """A protected file is found however a server would be led to it."""
        args = {"paths": [{"deep": spelt.replace("{dir}", str(token.parent))}]}

        assert touched(args, [str(token.parents[1])], [str(token)]) == ((str(token),), True)

    def test_sees_through_links_of_both_kinds(self, token: Path) -> None:
        """Another name of the same file is the same file."""
        for name, link in (("hard", os.link), ("soft", os.symlink)):
            other = token.parents[1] / name
            link(token, other)
            assert touched([str(other)], [], [str(token)])[0] == (str(token),)

    @pytest.mark.parametrize(
        "text",
        [
            "the token lies in home/remit.db.operator, do not read it",
            "home/remit.db.operator2",
            "x" * 100_000,
            "\0",
            "",
        ],
    )
    def test_words_are_no_path(self, token: Path, text: str) -> None:
        """What only speaks of a protected path, or nearly names it, touches nothing."""
        assert touched([text], [str(token.parents[1])], [str(token)]) == ((), True)


def test_git_takes_no_repository_from_within_files() -> None:
    """A bare repository that a clone carries as files is no repository to an upstream's git."""
    env = upstream_environment({"GIT_CONFIG_COUNT": "1"})
    given = {env[f"GIT_CONFIG_KEY_{i}"]: env[f"GIT_CONFIG_VALUE_{i}"] for i in (1, 2)}

    assert given == {"core.fsmonitor": "false", "safe.bareRepository": "explicit"}
