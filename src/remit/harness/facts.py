"""What a classifier wants to know of this machine, looked at just before a call.

Reading what a call would do and looking at what it names take turns until nothing more is asked.
Between this look and the call time passes in which a link can change: a sandbox closes that gap,
looking cannot (docs/guard.md).
"""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from glob import iglob
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve

from remit.harness.resolver import Resolver
from remit.plugins.classifiers import Wants, wants
from remit.policy.projection import Host
from remit.policy.tools import Call, Facts, Repo, Tool

if TYPE_CHECKING:
    from remit.plugins.shell.knowledge import Knowledge

__all__ = ["gather", "look", "start"]

#: Rounds of reading and looking, and how much is looked at before the rest stays unseen.
_ROUNDS, _PATHS, _NAMES = 5, 2_000, 500
#: Seconds for git to answer about its configuration.
_PATIENCE = 5


def start(worktree: str | None, cwd: str | None, host: Host, scratch: str | None = None) -> Facts:
    """Return the facts that do not depend on a call."""
    resolve = Resolver()
    return Facts(
        worktree=worktree,
        cwd=cwd,
        scratch=scratch,
        home=os.path.expanduser("~"),
        protected=host.protected,
        hidden=host.secret,
        links={p: _end(p, resolve) for p in (worktree, cwd, scratch, *host.protected) if p},
    )


def _end(path: str, resolve: Resolver) -> str:
    """Return what a path resolves to; one of another system is text that nothing follows."""
    return resolve(path) if path.startswith("/") else path


def gather(call: Call, tool: Tool | None, facts: Facts, known: Knowledge | None = None) -> Facts:
    """Return facts with all that the tool's classifier asks about this call.

    ``known`` is what is known of programs, else what we ship.
    """
    if tool is None or tool.classify is None:
        return facts
    for _ in range(_ROUNDS):
        wanted = wants(call, tool, facts, known)
        if not wanted:
            return facts
        facts = look(wanted, facts)
    return facts


def look(wanted: Wants, facts: Facts) -> Facts:
    """Look at what is wanted; what cannot be looked at stays missing, so it is opaque."""
    links, resolve = dict(facts.links), Resolver()
    for path in islice(sorted(wanted.paths - links.keys()), _PATHS):
        with suppress(OSError, ValueError):
            links[path] = _end(path, resolve)
    globs = dict(facts.globs)
    for pattern in wanted.globs - globs.keys():
        names = list(islice(iglob(pattern, include_hidden=False), _NAMES + 1))
        if len(names) <= _NAMES:
            globs[pattern] = tuple(sorted(names))
    repos = dict(facts.repos)
    for folder in wanted.repos - repos.keys():
        with suppress(OSError, ValueError, subprocess.SubprocessError):
            repos[folder] = repository(folder)
    return evolve(facts, links=links, globs=globs, repos=repos)


def repository(folder: str) -> Repo | None:
    """Return what the repository of a folder says itself, None where there is none.

    git finds and reads it, because what counts is what git would do; reading settings runs nothing.
    """
    if not os.path.isdir(folder):
        return None
    top = _git(folder, "rev-parse", "--absolute-git-dir")
    if top is None:
        return None
    config: dict[str, tuple[str, ...]] = {}
    for scope in ("--local", "--worktree"):
        listed = _git(folder, "config", scope, "--includes", "--list", "-z") or ""
        for entry in listed.split("\0"):
            key, _, value = entry.partition("\n")
            if key:
                config[key] = (*config.get(key, ()), value)
    hooks = _git(folder, "rev-parse", "--git-path", "hooks")
    where = Path(folder, hooks.strip()) if hooks else Path(top.strip(), "hooks")
    names = frozenset(
        entry.name
        for entry in (os.scandir(where) if where.is_dir() else ())
        if not entry.name.endswith(".sample") and os.access(entry.path, os.X_OK)
    )
    return Repo(top.strip(), config, names)


def _git(folder: str, *words: str) -> str | None:
    environ = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    done = subprocess.run(
        ["git", "-C", folder, *words],
        capture_output=True,
        check=False,
        timeout=_PATIENCE,
        stdin=subprocess.DEVNULL,
        env={**environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_CONFIG_NOSYSTEM": "1"},
    )
    return done.stdout.decode("utf-8", "surrogateescape") if done.returncode == 0 else None
