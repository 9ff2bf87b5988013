"""Where a workspace is: its folders, its database, its operator token, and what only they touch.

Everything is a function of the environment that is passed in. The gateway and the hooks are
started by agents' clients, whose environment is the agent's as much as ours, so they pass an empty
one: folders then come from the system's list of users, and no variable leads elsewhere.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from attrs import field, frozen

from remit.harness.operators import TOKEN_SUFFIX, make_token
from remit.policy.escape import quoted
from remit.policy.problems import InputError, Problem
from remit.profiles.document import Findings, parse_toml
from remit.profiles.names import SOURCE_NAME
from remit.profiles.source import MODE_FILE, read_source
from remit.profiles.structure import salvage

__all__ = [
    "ANCHORS",
    "ConfigFile",
    "Location",
    "Made",
    "data_folder",
    "init",
    "locate",
    "mode_files",
    "protected",
]

CONFIG_FILE = "remit.toml"
DATABASE = "remit.db"
#: The folder of the anchors of databases that are no files, in the data folder.
ANCHORS = "anchors"
#: What of remit's own runs, so nothing that an agent does may change it.
_INSTALLATION = Path(__file__).parents[1]
#: Settings of agents' hosts, in a worktree and in a home: whoever writes them starts programs.
_HOST_SETTINGS = (
    ".claude", ".claude.json", ".codex", ".cursor", ".gemini", ".mcp.json", ".opencode",
    ".vscode/mcp.json", "opencode.json",
)  # fmt: skip
#: Programs that git would run, and where it is told of them.
_GIT = (".git/hooks", ".git/config", ".git/config.worktree")


def _says(doc: str) -> dict[str, Any]:
    return {"doc": doc}


@frozen
class ConfigFile:
    """``remit.toml``: the operator's configuration, read from the configuration folder alone."""

    db: str | None = field(
        default=None, metadata=_says("The database: a path, from this folder if it is relative.")
    )
    catalogs: tuple[str, ...] = field(
        default=(), metadata=_says("Catalogues in use: shipped names, or paths of files.")
    )
    plugins: tuple[str, ...] = field(
        default=(), metadata=_says("Entry points of plugins that are loaded.")
    )
    overlay: str | None = field(
        default=None,
        metadata=_says("A file whose [ceiling] narrows every mode in every space."),
    )
    redact: tuple[str, ...] = field(
        default=(),
        metadata=_says(
            "Patterns of argument names whose values are kept out of the log, besides those that "
            "always are."
        ),
    )
    servers: Mapping[str, str] = field(
        factory=dict,
        metadata=_says("Per server, by its source name, the catalogue it is bound to."),
    )
    model: str | None = field(
        default=None, metadata=_says("The model that answers in `remit chat`: PROVIDER:MODEL.")
    )
    base_url: str | None = field(
        default=None, metadata=_says("Where that model is served, if not by its provider.")
    )


@frozen
class Location:
    """Where everything of one workspace lies; nothing of it need exist yet.

    ``db`` is an absolute path or a URL. Catalogues are shipped names or absolute paths.
    """

    home: Path
    config: Path
    data: Path
    db: str
    catalogs: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    servers: Mapping[str, str] = field(factory=dict)
    #: The file of what narrows every space, absolute.
    overlay: str | None = None
    redact: tuple[str, ...] = ()
    model: str | None = None
    base_url: str | None = None

    @property
    def file(self) -> Path:
        """The operator's configuration file."""
        return self.config / CONFIG_FILE

    @property
    def modes(self) -> Path:
        """The folder of the user's own modes and profiles."""
        return self.config / "modes"

    @property
    def token_file(self) -> Path:
        """The file that holds the operator token: beside the database, else in the data folder."""
        beside = Path(self.db) if "://" not in self.db else self.data / DATABASE
        return beside.with_name(beside.name + TOKEN_SUFFIX)


@frozen
class Made:
    """Where `init` made a workspace, or found it."""

    db: str
    config: str
    operator_token_file: str


def locate(
    environ: Mapping[str, str], *, db: str | None = None, config: str | None = None
) -> Location:
    """Find the workspace; raise `InputError` with every problem of ``remit.toml``.

    Folders: ``config`` if given, else ``REMIT_HOME``, else the user's own. Database: ``db`` if
    given, else ``REMIT_DB``, else the key in ``remit.toml``, else in the data folder.
    """
    data, both, home = data_folder(environ), environ.get("REMIT_HOME"), _home(environ)
    folder = Path(config or both or home / ".config" / "remit").absolute()
    said = _read(folder / CONFIG_FILE)
    given = db or environ.get("REMIT_DB")
    if given:
        where = given if "://" in given else str(Path(given).absolute())
    elif said.db:
        where = said.db if "://" in said.db else str(_path(said.db, folder, home))
    else:
        where = str(data / DATABASE)
    return Location(
        home,
        folder,
        data,
        where,
        tuple(_catalog(c, folder, home) for c in said.catalogs),
        said.plugins,
        {name: _catalog(c, folder, home) for name, c in said.servers.items()},
        str(_path(said.overlay, folder, home)) if said.overlay is not None else None,
        said.redact,
        said.model,
        said.base_url,
    )


def data_folder(environ: Mapping[str, str]) -> Path:
    """Return where this user's workspace lies on this machine: ``REMIT_HOME``, or its own."""
    both = environ.get("REMIT_HOME")
    if both and not os.path.isabs(both):
        raise InputError(
            Problem(
                "home-relative",
                f"`REMIT_HOME` is to be an absolute path, got {quoted(both)}",
                "a relative one would name another workspace in each folder",
            )
        )
    return Path(both or _home(environ) / ".local" / "share" / "remit")


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir)


def init(workspace: Location, *, now: datetime) -> Made:
    """Make what is missing of a workspace; a crash leaves nothing half made."""
    # Imported here: locating a workspace needs no database.
    from remit.harness.store import Store

    for folder in (workspace.config, workspace.modes, workspace.data):
        _folder(folder)
    with Store.open(workspace.db, create=now, data=workspace.data) as store:
        make_token(workspace.token_file)
    return Made(store.location, str(workspace.config), str(workspace.token_file))


def mode_files(folder: Path) -> list[Path]:
    """Return the user's profiles, then modes; raises `InputError` if nobody can say which.

    Nothing but this one folder is ever looked at: a repository can bring no mode (S000-6).
    """
    try:
        found = sorted(folder.iterdir())
        profiles = [path for path in found if path.suffix == ".toml"]
        inside = (path / MODE_FILE for path in found if path not in profiles)
        return [*profiles, *(path for path in inside if path.is_symlink() or path.exists())]
    except FileNotFoundError:
        return []
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(
            Problem(
                "modes-unreadable",
                f"the folder `{folder}` cannot be read: {why}",
                "look at its permissions",
            )
        ) from error


def protected(workspace: Location, worktree: str | None = None) -> tuple[str, ...]:
    """Return the absolute paths that no call may touch (design section 6); each protects all below.

    They are spelt, not resolved: whoever compares a call with them resolves both.
    """
    paths = [str(workspace.config), str(workspace.token_file), str(_INSTALLATION)]
    if "://" not in workspace.db:
        paths += [workspace.db + suffix for suffix in ("", "-wal", "-shm", "-journal", ".anchor")]
    else:
        paths.append(str(workspace.data / ANCHORS))
    named = (*workspace.catalogs, *workspace.servers.values())
    paths += [c for c in named if os.path.isabs(c)]
    paths += [workspace.overlay] if workspace.overlay else []
    paths += [str(workspace.home / name) for name in _HOST_SETTINGS]
    if worktree is not None:
        inside = (".remit", *_GIT, *_HOST_SETTINGS)
        paths += [os.path.join(worktree, name) for name in inside]
    return tuple(dict.fromkeys(paths))


def _read(path: Path) -> ConfigFile:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return ConfigFile()
    except OSError as error:
        # Taken for none, it would leave out plugins without a word.
        why = (error.strerror or str(error)).lower()
        raise InputError(
            Problem(
                "config-unreadable",
                f"`{path}` cannot be looked at: {why}",
                "look at the permissions of its folder",
            )
        ) from error
    document = parse_toml(read_source(path))
    said, document, problems = salvage(document, ConfigFile)
    if said is None:
        raise InputError(problems)
    found = Findings(document)
    found.problems += problems
    for name in said.servers:
        if not SOURCE_NAME.fullmatch(name) or name in ("group", "tier", "remit"):
            found.report(
                "bad-source-name",
                f"{quoted(name)} cannot be the source name of a server",
                ("servers", name),
                "use 1 to 64 of A-Z a-z 0-9 _ . -, and not group, tier or remit",
                key=True,
            )
    if found.problems:
        raise InputError(found.problems)
    return said


def _path(text: str, folder: Path, home: Path) -> Path:
    return home / text[2:] if text.startswith("~/") else folder / text


def _catalog(text: str, folder: Path, home: Path) -> str:
    """Shipped catalogues are plain names; whatever has a slash or an ending is a file."""
    is_file = "/" in text or text.endswith((".toml", ".json"))
    return str(_path(text, folder, home)) if is_file else text


def _folder(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(
            Problem("folder-failed", f"the folder `{path}` cannot be made: {why}")
        ) from error
