"""Runs lines of the corpus for real in scratch folders, and holds what happened against what was said.

    tools/live_check [--lines N]

What was called harmless is to change nothing in the tree and outside of it (a home folder and a
folder beside it), to make no commit and no connection. What was said to write, to remove or to
commit is to have happened, where the line can do it here. strace says whether a connection was
opened; where it does not run, that part is left out and told.
"""

# ruff: noqa: E501
from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import click
from attrs import frozen

from remit.harness.facts import look, start
from remit.plugins.classifiers import Wants
from remit.plugins.conformance import Line, lines
from remit.plugins.shell import Reading, read_shell
from remit.policy.projection import Host

#: Groups whose lines could reach beyond a scratch folder, or wait for somebody.
_LEFT_OUT = frozenset(
    """process.spawn piped code|package.install|package.publish|enclosure.control|workspace.mutate
    wrapper nsenter|wrapper sudo|wrapper su|wrapper chroot|wrapper unshare|wrapper at|wrapper screen""".replace(
        "\n    ", "|"
    ).split("|")
)
_HARMLESS_WORDS = frozenset(
    {"sudo", "docker", "kubectl", "systemctl", "vim", "watch", "top", "sleep", "yes", "apt", "brew"}
)
#: Programs that are asked to do something only there; a line of another is not claimed to happen.
_SURE = frozenset(
    [
        "rm",
        "touch",
        "mkdir",
        "cp",
        "mv",
        "ln",
        "truncate",
        "tee",
        "sed",
        "rmdir",
        "unlink",
        "chmod",
        "dd",
        "echo",
        "find",
        "sh",
        "bash",
        "env",
        "nice",
        "nohup",
        "timeout",
        "eval",
        "git",
    ]
)


@frozen
class State:
    """What can be seen of a scratch place: files by hash, and where the branch stands."""

    tree: dict[str, str]
    outside: dict[str, str]
    head: str


def _files(root: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for folder, _, names in os.walk(root):
        for name in (*names, "."):
            path = Path(folder, name)
            # git refreshes its cache of file times, which counts as nothing (design section 3).
            if path.name in ("index", "index.lock") and path.parent.name == ".git":
                continue
            if path.is_symlink():
                found[str(path)] = f"-> {os.readlink(path)}"
            elif path.is_file():
                mode = path.stat().st_mode & 0o777
                found[str(path)] = f"{mode:o} {hashlib.sha1(path.read_bytes()).hexdigest()}"
            else:
                found[str(path)] = "folder"
    return found


class Scratch:
    """A place to run one line in: a repository, a home, and what lies beside them."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.tree, self.home, self.beside = base / "place/tree", base / "place/home", base / "place"
        self.made = base / "made"
        self._make()

    def _make(self) -> None:
        tree = self.made / "tree"
        (tree / "sub").mkdir(parents=True)
        (tree / "src").mkdir()
        (tree / "docs").mkdir()
        (tree / "build").mkdir()
        (self.made / "home").mkdir()
        for name in (
            "a",
            "b",
            "f",
            "c",
            "notes.txt",
            "x",
            "in",
            "list",
            "src/app.py",
            "build/o",
            "docs/a.md",
            "sub/x",
            "README.md",
            ".env",
            ".env.sample",
        ):
            (tree / name).write_text("alpha beta\nrm a\nTODO: KEY\n1 2 3\n")
        # A database that is not there would be made by whoever opens it, even to read.
        (tree / "a.db").write_bytes(b"")

        def run(*words: str) -> None:
            done = ["git", "-C", str(tree), *words]
            subprocess.run(done, check=True, capture_output=True)

        run("init", "-q", "-b", "main")
        run("config", "user.email", "a@b.test")
        run("config", "user.name", "a")
        run("add", "-A")
        run("commit", "-qm", "first")
        (tree / "b").write_text("changed\n")
        run("commit", "-qam", "second")
        (tree / "c").write_text("dirty\n")

    def fresh(self) -> None:
        shutil.rmtree(self.beside, ignore_errors=True)
        shutil.copytree(self.made, self.beside, symlinks=True)

    def state(self) -> State:
        inside = _files(self.tree)
        outside = {k: v for k, v in _files(self.beside).items() if not k.startswith(str(self.tree))}
        head = subprocess.run(
            ["git", "-C", str(self.tree), "rev-parse", "HEAD"], capture_output=True, text=True
        )
        return State(inside, outside, head.stdout)

    def read(self, command: str) -> Reading:
        facts = start(str(self.tree), str(self.tree), Host("live"))
        found = read_shell(command, facts)
        for _ in range(5):
            wanted = Wants(found.wants, found.repos, found.globs)
            if not wanted:
                break
            facts = look(wanted, facts)
            found = read_shell(command, facts)
        return found

    def run(self, command: str, traced: bool) -> bool | None:
        """Run a line; return whether it opened a connection, None if nobody looked."""
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "LANG": "C", "GIT_TERMINAL_PROMPT": "0",
               "GIT_OPTIONAL_LOCKS": "0", "GIT_EDITOR": "true", "TMPDIR": str(self.home)}  # fmt: skip
        trace = self.base / "trace"
        words = ["bash", "-c", command]
        if traced:
            words = ["strace", "-f", "-qq", "-e", "trace=connect", "-o", str(trace), *words]
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(
                words,
                cwd=self.tree,
                env=env,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=10,
                check=False,
            )
        if not traced or not trace.exists():
            return None
        return any("AF_INET" in line for line in trace.read_text(errors="replace").splitlines())


def _chosen(count: int) -> list[Line]:
    """Lines that can be run here, spread over the corpus."""
    able = []
    for line in lines():
        first = line.command.split()[0] if line.command.split() else ""
        outward = line.effects & {
            "network.egress",
            "process.spawn",
            "package.install",
            "package.publish",
            "enclosure.control",
            "workspace.mutate",
            "vendor.write",
            "git.push",
        }
        if line.shell != "bash" or line.group in _LEFT_OUT or outward or line.opaque or line.open:
            continue
        if (
            _HARMLESS_WORDS & set(line.command.split())
            or "/srv" in line.command
            or ("/etc/" in line.command and line.effects)
        ):
            continue
        if any(
            w in line.command for w in ("/tmp", "/opt", "/other", "/repo", "/x", "ssh ", "crontab")
        ) or (
            "file.write_outside" in line.effects
            and "~" not in line.command
            and ".." not in line.command
        ):
            continue
        if shutil.which(first) is None and first.isalpha():
            continue
        able.append(line)
    step = max(1, len(able) // count)
    return able[::step][: max(count, 1)]


def _told(line: Line, found: Reading, before: State, after: State, connected: bool | None) -> str:
    inside, outside = before.tree != after.tree, before.outside != after.outside
    said = found.effects
    if inside and not said & {"worktree.write", "file.delete", "git.commit"}:
        changed = {
            k for k in {*before.tree, *after.tree} if before.tree.get(k) != after.tree.get(k)
        }
        return f"changed the tree: {sorted(changed)[:3]}"
    if outside and "file.write_outside" not in said:
        return "changed something outside the tree"
    if (
        set(before.tree) - set(after.tree) - {k for k in before.tree if "/.git/" in k}
        and "file.delete" not in said
        and " mv" not in f" {line.command}"
        and "git" not in line.command
    ):
        return "removed a file"
    if before.head != after.head and not said & {"git.commit", "worktree.write"}:
        return "moved the branch"
    if connected and "network.egress" not in said:
        return "opened a connection"
    return ""


@click.command()
@click.option("--lines", "count", default=400, show_default=True, help="How many lines to run.")
@click.option("--json", "as_json", is_flag=True)
def main(count: int, as_json: bool) -> None:
    """Run lines of the corpus; exit 1 if one did what was not said."""
    traced = shutil.which("strace") is not None
    wrong, happened, harmless, silent = [], 0, 0, 0
    chosen = _chosen(count)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Scratch(Path(folder))
        for line in chosen:
            scratch.fresh()
            before = scratch.state()
            command = line.command.replace("/ws", str(scratch.tree))
            found = scratch.read(command)
            connected = scratch.run(command, traced)
            after = scratch.state()
            told = _told(line, found, before, after, connected)
            if told:
                wrong.append((line.command, told))
            elif not found.effects:
                harmless += 1
            elif before != after:
                happened += 1
            else:
                silent += 1
    click.echo(
        f"{len(chosen)} lines run: {harmless} called harmless changed nothing, {happened} did what was said, "
        f"{silent} did nothing here, {len(wrong)} did what was not said"
        f"{'' if traced else '; strace is missing, so nobody looked at connections'}"
    )
    for command, told in wrong:
        click.echo(f"{command!r} {told}", err=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
