"""Programs that a repository itself has git run, even for a command that only reads."""

from __future__ import annotations

import subprocess

from remit.harness.facts import repository
from remit.plugins.shell.readers.git import uses_of
from remit.policy.escape import quoted
from remit.policy.problems import Problem, Severity

__all__ = ["git_programs"]

#: What runs them: refreshing the index, showing a difference, any hook.
_USES = frozenset({"index", "filter", "diff", "textconv", "hook:any"})
#: git's own words for none.
_NONE = frozenset({"", "false", "no", "off", "0"})


def git_programs(folder: str) -> tuple[Problem, ...]:
    """Return a warning that names them, or nothing; no call shows that they run."""
    try:
        repo = repository(folder)
    except (OSError, subprocess.SubprocessError):
        return ()
    if repo is None:
        return ()
    named = ", ".join(
        f"`{key}` = {quoted(values[-1])}"
        for key, values in sorted(repo.config.items())
        if (uses_of(key) or frozenset()) & _USES and values[-1].lower() not in _NONE
    )
    if not named:
        return ()
    return (
        Problem(
            "git-programs",
            f"the repository of `{folder}` has git run programs that no call shows: {named}",
            "look at them before an agent works there; `--sandbox auto` holds them to the mode",
            severity=Severity.WARNING,
        ),
    )
