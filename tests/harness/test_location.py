"""Where a workspace is, how it is made, and what in it no call may touch."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

import remit
from remit.harness.location import init, locate, protected
from remit.harness.operators import (
    TokenError,
    check_operator,
    make_token,
    operator_token,
    read_token,
)
from remit.harness.store import Store
from remit.policy.problems import InputError

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def environ(home: Path) -> dict[str, str]:
    return {"HOME": str(home)}


def write(home: Path, text: str) -> Path:
    file = home / ".config" / "remit" / "remit.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_the_user_has_two_folders(home: Path, environ: dict[str, str]) -> None:
    """Configuration and data lie where users of such systems look; looking makes nothing."""
    found = locate(environ)
    assert found.config == home / ".config" / "remit"
    assert found.db == str(home / ".local" / "share" / "remit" / "remit.db")
    assert found.token_file == home / ".local" / "share" / "remit" / "remit.db.operator"
    assert list(home.iterdir()) == []


def test_one_variable_moves_both(home: Path, environ: dict[str, str]) -> None:
    """`REMIT_HOME` holds configuration and data; a relative one would be many workspaces."""
    found = locate({**environ, "REMIT_HOME": str(home / "x")})
    assert (found.config, found.data) == (home / "x", home / "x")
    with pytest.raises(InputError) as caught:
        locate({**environ, "REMIT_HOME": "x"})
    assert caught.value.problems[0].code == "home-relative"


def test_no_other_variable_leads_anywhere(environ: dict[str, str]) -> None:
    """Policy never comes from the environment, nor does the place of it."""
    more = {"XDG_CONFIG_HOME": "/x", "XDG_DATA_HOME": "/y", "REMIT_CONFIG": "/z"}
    assert locate({**environ, **more}) == locate(environ)


def test_without_an_environment_the_system_says_whose_home_it_is() -> None:
    """A gateway's environment is its client's, so it passes none and none counts."""
    found = locate({})
    assert found.config.is_absolute()
    assert found.home == Path(os.path.expanduser(f"~{os.environ.get('USER', 'root')}"))


def test_the_database_is_named_by_flag_variable_or_file(
    home: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this order; a relative path counts from the folder that its author was in."""
    file = write(home, 'db = "own.db"\n')
    assert locate(environ).db == str(file.parent / "own.db")
    file.write_text('db = "~/own.db"\n')
    assert locate(environ).db == str(home / "own.db")
    assert locate({**environ, "REMIT_DB": "/v/remit.db"}).db == "/v/remit.db"
    monkeypatch.chdir(home)
    assert locate({**environ, "REMIT_DB": "/v/remit.db"}, db="x.db").db == str(home / "x.db")
    assert locate(environ, db="postgresql://host/remit").db == "postgresql://host/remit"


def test_a_configuration_never_comes_from_the_working_folder(
    home: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cloned repository says nothing about its own policy."""
    (home / "remit.toml").write_text('db = "theirs.db"\n')
    monkeypatch.chdir(home)
    assert "theirs" not in locate(environ).db


def test_the_operator_names_catalogues_plugins_and_servers(
    home: Path, environ: dict[str, str]
) -> None:
    """Plain names are shipped catalogues; whatever has a slash or an ending is a file."""
    file = write(
        home,
        'catalogs = ["mcp-git", "own.toml", "~/other.json", "./third"]\n'
        'plugins = ["acme"]\n[servers]\ngit = "mcp-git"\nmine = "own.toml"\n',
    )
    found = locate(environ)
    own = str(file.parent / "own.toml")
    assert found.catalogs == ("mcp-git", own, str(home / "other.json"), str(file.parent / "third"))
    assert (found.plugins, found.servers) == (("acme",), {"git": "mcp-git", "mine": own})


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('catalog = ["x"]\nplugins = "y"\n', {"unknown-key": 1, "wrong-type": 2}),
        ("[servers]\nremit = 'x'\n'a b' = 'x'\n", {"bad-source-name": 3}),
        ("db = 3\n", {"wrong-type": 1}),
        ("db = \n", {"toml-syntax": 1}),
        ("db = 'a'\ndb = 'b'\n", {"duplicate-key": 2}),
        ("[servers]\ngit = true\n", {"wrong-type": 2}),
    ],
)
def test_what_is_wrong_in_the_file_is_told_with_its_line(
    text: str, wanted: dict[str, int], home: Path, environ: dict[str, str]
) -> None:
    """Strict: nothing is ignored, since what is ignored may have been meant to restrict."""
    file = write(home, text)
    with pytest.raises(InputError) as caught:
        locate(environ)
    told = {p.code: p.where.line for p in caught.value.problems}
    assert told == wanted
    assert all(p.where.file == str(file) for p in caught.value.problems)


def test_a_file_that_leads_nowhere_is_told(home: Path, environ: dict[str, str]) -> None:
    """A broken link is not the same as no configuration."""
    file = write(home, "")
    file.unlink()
    file.symlink_to(home / "gone")
    with pytest.raises(InputError):
        locate(environ)


def test_making_it_twice_is_making_it_once(environ: dict[str, str]) -> None:
    """The token and the database stay as they are; only their owner reads them."""
    found = locate(environ)
    made = init(found, now=NOW)
    token = read_token(found.token_file)
    assert init(found, now=NOW) == made
    assert read_token(found.token_file) == token
    assert len(token) == 64
    assert Path(made.operator_token_file).stat().st_mode & 0o777 == 0o600
    assert found.config.stat().st_mode & 0o777 == 0o700
    with Store.open(found.db) as store:
        assert [e.kind for e in store.log.read()] == ["workspace.made"]
    assert not list(found.data.glob("*.part"))


def test_a_folder_that_cannot_be_made_is_told(home: Path, environ: dict[str, str]) -> None:
    """One sentence, no traceback."""
    (home / ".config").write_text("")
    with pytest.raises(InputError) as caught:
        init(locate({**environ}, config=str(home / ".config" / "remit")), now=NOW)
    assert caught.value.problems[0].code == "folder-failed"


def test_an_orphaned_anchor_keeps_a_new_log_from_taking_its_place(
    environ: dict[str, str],
) -> None:
    """Who removes the database alone is told that its log is missing."""
    found = locate(environ)
    init(found, now=NOW)
    Path(found.db).unlink()
    with pytest.raises(Exception, match="log-cut"):
        init(found, now=NOW)


class TestOperator:
    """Who holds the token is the operator."""

    @pytest.fixture
    def token_file(self, tmp_path: Path) -> Path:
        make_token(tmp_path / "remit.db.operator")
        return tmp_path / "remit.db.operator"

    def test_the_file_speaks_for_a_person_alone(self, token_file: Path) -> None:
        """A script passes the token itself; what is passed comes first."""
        assert operator_token(token_file, {}, terminal=False) is None
        assert operator_token(token_file, {}, terminal=True) == read_token(token_file)
        assert operator_token(token_file, {"REMIT_OPERATOR": "x"}, terminal=True) == "x"

    def test_the_right_token_alone_is_taken(self, token_file: Path) -> None:
        """None, another, a part and odd text are refused, each with a code."""
        right = read_token(token_file)
        check_operator(token_file, right)
        for wrong, code in (
            (None, "operator-needed"),
            ("", "operator-wrong"),
            (right[:-1], "operator-wrong"),
            (right.upper(), "operator-wrong"),
            ("é\ud800", "operator-wrong"),
        ):
            with pytest.raises(InputError) as caught:
                check_operator(token_file, wrong)
            assert caught.value.problems[0].code == code

    @pytest.mark.parametrize(
        ("spoil", "code"),
        [
            (lambda f: f.unlink(), "token-missing"),
            (lambda f: f.chmod(0o640), "token-open"),
            (lambda f: f.write_text(""), "token-damaged"),
            (lambda f: f.write_text("x" * 64), "token-damaged"),
            (lambda f: (f.unlink(), f.mkdir()), "token-damaged"),
            (
                lambda f: (f.rename(f.with_name("t")), f.symlink_to(f.with_name("t"))),
                "token-failed",
            ),
        ],
    )
    def test_a_token_that_is_not_ours_alone_is_none(
        self, token_file: Path, spoil: object, code: str
    ) -> None:
        """An empty or shared file never lets anybody through."""
        assert callable(spoil)
        spoil(token_file)
        for given in ("", "x" * 64):
            with pytest.raises(TokenError) as caught:
                check_operator(token_file, given)
            assert caught.value.problems[0].code == code

    def test_a_token_is_never_written_over(self, token_file: Path) -> None:
        """Not even one that is damaged: a person removes it."""
        token_file.write_text("")
        make_token(token_file)
        assert token_file.read_text() == ""


def test_what_no_call_may_touch(home: Path, environ: dict[str, str]) -> None:
    """Database, token, configuration, catalogues, plans, remit itself, hooks, host settings."""
    write(home, 'catalogs = ["mcp-git", "/c/own.toml"]\n')
    found = locate(environ)
    paths = protected(found, "/w")
    assert {
        found.db,
        f"{found.db}-wal",
        f"{found.db}-shm",
        f"{found.db}-journal",
        f"{found.db}.anchor",
        f"{found.db}.operator",
        str(found.config),
        "/c/own.toml",
        str(Path(remit.__file__).parent),
        "/w/.remit",
        "/w/.git/hooks",
        "/w/.git/config",
        "/w/.claude",
        "/w/.codex",
        "/w/.mcp.json",
        str(home / ".claude"),
    } <= set(paths)
    assert all(map(os.path.isabs, paths))
    assert not any(p.startswith("/w/") for p in protected(found))
