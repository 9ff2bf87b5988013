"""Places of a machine that a sandbox knows: what is secret, what is protected, what is kept.

The tables are lists of known names, and so never complete: where a ceiling counts on them, that is
told as advisory. Names in a folder are relative to it; a trailing ``*`` is a glob of names.
"""

from __future__ import annotations

from enum import StrEnum

from attrs import field, frozen

from remit.policy.vocabulary import words

__all__ = [
    "HOME_SECRETS",
    "KEPT_NAMES",
    "PRIVATE",
    "SYSTEM_SECRETS",
    "Ground",
    "Kind",
    "Place",
]

#: Where credentials lie in a home folder.
HOME_SECRETS = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".git-credentials",
    ".config/git/credentials", ".npmrc", ".pypirc", ".config/pip/pip.conf", ".pip/pip.conf",
    ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml",
    ".gradle/gradle.properties", ".config/gh", ".config/glab-cli", ".config/hub", ".config/gcloud",
    ".config/op", ".config/doctl", ".config/rclone", ".config/containers/auth.json",
    ".local/share/keyrings", ".password-store", ".config/sops", ".age", ".vault-token",
    ".terraform.d/credentials.tfrc.json", ".terraformrc", ".pgpass", ".my.cnf", ".mongorc.js",
    ".boto", ".s3cfg", ".databrickscfg", ".snowflake", ".huggingface", ".cache/huggingface/token",
    ".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware",
    ".claude/.credentials.json", ".claude.json", ".codex/auth.json", ".gemini/oauth_creds.json",
    ".local/share/opencode/auth.json", ".config/github-copilot", ".bash_history", ".zsh_history",
    ".python_history", ".psql_history", ".mysql_history", ".env",
)  # fmt: skip

#: Where the system keeps its own; root reads them, and root may be who starts a sandbox.
SYSTEM_SECRETS = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers.d",
    "/etc/ssl/private", "/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key", "/etc/kubernetes", "/var/lib/docker", "/var/spool/cron",
)  # fmt: skip

#: Folders that are one's own inside: sockets of daemons and others' scratch lie there outside.
PRIVATE = ("/tmp", "/var/tmp", "/run")

#: Names of the environment that every command keeps; the rest is dropped.
KEPT_NAMES = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM",
    "COLORTERM", "NO_COLOR", "COLUMNS", "LINES", "CI", "VIRTUAL_ENV", "SSL_CERT_FILE",
    "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
)  # fmt: skip


class Kind(StrEnum):
    """What lies at a path, links followed."""

    FOLDER = "folder"
    FILE = "file"
    MISSING = "missing"


@frozen
class Place:
    """What a host found at a path: its kind, and the path that it resolves to.

    ``writable`` says whether whoever starts the sandbox could make something there.
    """

    kind: Kind
    real: str
    writable: bool = True


@frozen
class Ground:
    """What a sandbox stands on: the places of one host for one space, as absolute real paths.

    ``control`` holds the files of the operator alone: token and database. ``protected`` holds what
    is read-only under every ceiling. ``git`` is the repository data, ``repository`` holds
    folders of repository data outside the worktree that were verified to be this worktree's own.
    ``visible`` is what must be seen inside: the command's own installation, its interpreter.
    ``writable`` holds further folders that the operator opened. ``names`` are the names in the
    host's environment, ``keep`` those that the operator lets through besides `KEPT_NAMES`.
    """

    worktree: str | None = None
    home: str = "/nonexistent"
    scratch: str | None = None
    control: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    installation: tuple[str, ...] = ()
    visible: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    git: str | None = None
    repository: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    names: frozenset[str] = field(default=frozenset(), converter=words)
    keep: frozenset[str] = field(default=frozenset(), converter=words)
