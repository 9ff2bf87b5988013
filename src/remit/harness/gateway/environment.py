"""The environment that an upstream server is started with.

It is the operator's own, because servers take their tokens from it, but for what is ours; and git
runs no helper that a repository names, because a catalogue judges a tool as if there were none
(design section 11).
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["upstream_environment"]

_OURS = "REMIT_"

#: Shows a difference as git itself would. git has no value that means "no external program" (an
#: empty one makes `git diff` fail), so a program that was named is replaced by this.
_PLAIN_DIFF = (
    'f() { git --no-pager diff --no-index --no-ext-diff --no-textconv -- "$2" "$5"; :; }; f'
)
_INSTEAD: Mapping[str, str] = {"textconv": "cat", "command": _PLAIN_DIFF, "external": _PLAIN_DIFF}


def upstream_environment(
    environ: Mapping[str, str], folders: Iterable[Path | str] = ()
) -> dict[str, str]:
    """Return the environment for an upstream.

    ``folders`` are where it may work: a diff helper that their git configuration names is
    replaced. A helper that is configured later, or in another repository, is not seen.
    """
    env = {k: v for k, v in environ.items() if not k.startswith(_OURS)}
    env["GIT_OPTIONAL_LOCKS"] = "0"
    env.pop("GIT_EXTERNAL_DIFF", None)
    # A clone can carry a bare repository, with a configuration of its own, as ordinary files.
    entries = {"core.fsmonitor": "false", "safe.bareRepository": "explicit"}
    for folder in dict.fromkeys(str(f) for f in folders):
        for key in _diff_keys(env, folder):
            entries[key] = _INSTEAD[key.rpartition(".")[2]]
    return env | _appended(env, entries)


def _appended(env: Mapping[str, str], entries: Mapping[str, str]) -> dict[str, str]:
    """Number the entries after those that the operator's environment holds already."""
    given = env.get("GIT_CONFIG_COUNT", "")
    start = int(given) if given.isdecimal() else 0
    added = {"GIT_CONFIG_COUNT": str(start + len(entries))}
    for i, (key, value) in enumerate(entries.items(), start):
        added |= {f"GIT_CONFIG_KEY_{i}": key, f"GIT_CONFIG_VALUE_{i}": value}
    return added


def _diff_keys(env: Mapping[str, str], folder: str) -> list[str]:
    """Return the configuration keys that name a diff program, as git reads them in a folder."""
    try:
        listed = subprocess.run(
            ["git", "config", "--null", "--name-only", "--get-regexp", r"^diff\."],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return []  # no git or no such folder: then no git runs a helper there either
    keys = listed.stdout.decode(errors="surrogateescape").split("\0")
    return [key for key in keys if key.rpartition(".")[2] in _INSTEAD]
