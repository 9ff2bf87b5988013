"""Generated trees, probed path by path from inside, for every mode and backend."""

import json
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.harness.location import Location
from remit.harness.sandbox.box import Box, box, choose
from remit.harness.sandbox.process import start
from remit.harness.sandbox.survey import ground
from remit.policy.ceiling import Ceiling
from remit.policy.mounts import Access, Mounts, within
from remit.profiles.library import Library
from tests.needs import missing, need
from tests.sandbox.rig import interpreter

PROBE = Path(__file__).parent / "probe.py"


def limited(*patterns: str) -> Ceiling:
    return Ceiling(limit={"worktree.write": frozenset({frozenset(patterns)})})


#: Every built-in mode, and ceilings that no built-in mode has.
CEILINGS: dict[str, Ceiling] = {
    **{e.name: e.profile.ceiling for e in Library.load().entries if e.profile},
    "docs-only": limited("docs/**", "!docs/private/**"),
    "two-folders": limited("docs/**", "src/deep/**"),
    "everything-but": limited("**", "!src/**"),
    "one-file": limited("README"),
    "no-commit": Ceiling(refuse={"git.commit"}),
    "offline": Ceiling(refuse={"network.egress"}),
}

#: Places of a worktree and of a home; each tree has some of them.
IN_WORKTREE = [
    "README", "docs/one", "docs/private/two", "docs/private/deep/three", "src/four",
    "src/deep/five", "src/deep/six", ".claude/settings.json", ".mcp.json", ".codex/hooks.json",
    ".remit/plans/plan.md", "a b/c", "data/seven",
]  # fmt: skip
IN_HOME = [
    ".profile", ".ssh/id", ".ssh/deep/key", ".netrc", ".config/gh/hosts", ".config/other/file",
    ".aws/credentials", "project/file", ".gitconfig", ".docker/config.json", ".claude/settings",
]  # fmt: skip


@pytest.fixture(scope="module", params=["/srv", "/tmp"])
def where(request: pytest.FixtureRequest) -> Path:
    """A folder that every sandbox shows, and one that it has for itself."""
    if not os.access(request.param, os.W_OK | os.X_OK):
        missing(f"the folder {request.param} to write in")
    return Path(request.param)


@pytest.fixture
def tree(where: Path, seed: int) -> Iterator[Path]:
    """A generated tree."""
    chance = random.Random(seed)
    base = Path(tempfile.mkdtemp(prefix="remit-probe-", dir=where))
    worktree = base / "worktree"
    worktree.mkdir()
    subprocess.run([need("git"), "init", "-q", str(worktree)], check=True)
    for root, names in ((worktree, IN_WORKTREE), (base / "home", IN_HOME)):
        root.mkdir(exist_ok=True)
        for name in names:
            if chance.random() < 0.75:
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("x")
    if chance.random() < 0.5:
        shutil.rmtree(worktree / ".git" / "hooks")
    if chance.random() < 0.5:
        (worktree / "docs").mkdir(exist_ok=True)
        (worktree / "docs" / "way-out").symlink_to(base / "home")
    for name in ("data/remit.db", "data/remit.db.token", "other/file", "scratch/file"):
        path = base / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    yield base
    shutil.rmtree(base)


def made(base: Path, ceiling: Ceiling, backend: str, command: tuple[str, ...]) -> Box:
    workspace = Location(
        base / "home", base / "home/.config/remit", base / "data", str(base / "data/remit.db")
    )
    stands = ground(
        workspace,
        base / "worktree",
        command,
        {"PATH": os.environ["PATH"]},
        others=[str(base / "other")],
        scratch=str(base / "scratch"),
    )
    return box(ceiling, stands, choose(backend))


def expected(mounts: Mounts, path: str, landlock: bool) -> tuple[bool, bool]:
    """Say what the mounts say: can it be read, can it be written."""
    access = mounts.at(path)
    if landlock and any(within(path, w) for w in mounts.paths(Access.WRITE)):
        return True, True  # told: whatever lies in a writable folder can be written
    return access in (Access.WRITE, Access.READ), access is Access.WRITE


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("mode", sorted(CEILINGS))
@pytest.mark.parametrize("backend", ["bubblewrap", "landlock"])
def test_what_is_seen_inside_equals_the_mounts(tree: Path, mode: str, backend: str) -> None:
    """Each path can be read and written as its mount says, and in no other way."""
    if backend == "bubblewrap":
        need("bwrap", debian="bubblewrap")
    landlock = backend == "landlock"
    program = tree / "probe.py"
    program.write_text(PROBE.read_text())
    python = interpreter(os.getuid())
    paths = [p for p in tree.rglob("*") if not p.is_symlink()]
    command = (python, "-I", str(program), json.dumps({str(p): p.stat().st_ino for p in paths}))
    before = sorted(map(str, tree.rglob("*")))
    sandbox = made(tree, CEILINGS[mode], backend, command)
    pipe = subprocess.PIPE
    with start(sandbox, command, {"PATH": os.environ["PATH"]}, stdout=pipe) as running:
        assert running.stdout
        found = json.loads(running.stdout.read())
        assert running.wait(60) == 0
    wrong = {}
    for path, (same, reads, writes) in found.items():
        readable, writable = expected(sandbox.mounts, path, landlock)
        if landlock and os.path.isdir(path):
            readable = reads  # told: names are listed everywhere
        seen = (same and reads) if not landlock else reads
        if (seen, same and writes) != (readable, writable):
            wrong[path] = (seen, same and writes, readable, writable)
    assert wrong == {}
    assert sorted(map(str, tree.rglob("*"))) == before


@pytest.mark.parametrize("seed", [7])
def test_a_writable_folder_that_leads_out_is_not_writable(tree: Path) -> None:
    """A limit names `docs`, and `docs` was made a link to the home beforehand."""
    need("bwrap", debian="bubblewrap")
    shutil.rmtree(tree / "worktree" / "docs", ignore_errors=True)
    (tree / "worktree" / "docs").symlink_to(tree / "home")
    sandbox = made(tree, CEILINGS["docs-only"], "bubblewrap", ("sh",))
    assert sandbox.mounts.at(str(tree / "home")) is not Access.WRITE
    assert any("leads to" in a.why for a in sandbox.advisory)
    script = f"echo x > {tree}/home/evil || echo x > docs/evil"
    with start(sandbox, ("/bin/sh", "-c", script), {}, stderr=subprocess.DEVNULL) as running:
        assert running.wait(30) != 0
    assert not (tree / "home" / "evil").exists()


@pytest.mark.parametrize("seed", [8])
def test_a_git_file_that_names_another_repository_opens_nothing(tree: Path) -> None:
    """What may be written is only a repository that names this worktree in return."""
    worktree = tree / "worktree"
    victim = tree / "other" / "repository"
    subprocess.run([need("git"), "init", "-q", str(victim)], check=True)
    shutil.rmtree(worktree / ".git")
    (worktree / ".git").write_text(f"gitdir: {victim}/.git\n")
    sandbox = made(tree, Ceiling(), "none", ("sh",))
    assert sandbox.mounts.at(str(victim / ".git" / "HEAD")) is not Access.WRITE


@pytest.mark.parametrize("seed", [9])
def test_a_linked_worktree_commits_into_its_own_repository(tree: Path) -> None:
    """Its data lies outside the worktree, and is verified to be its own."""
    need("bwrap", debian="bubblewrap")
    git = [need("git"), "-c", "user.name=x", "-c", "user.email=x@example.org", "-C"]
    main = tree / "other" / "main"
    subprocess.run([*git, str(tree), "init", "-q", str(main)], check=True)
    subprocess.run([*git, str(main), "commit", "-q", "--allow-empty", "-m", "1"], check=True)
    shutil.rmtree(tree / "worktree")
    subprocess.run([*git, str(main), "worktree", "add", "-q", str(tree / "worktree")], check=True)
    script = (
        "git -c user.name=x -c user.email=x@example.org commit -q --allow-empty -m 2 && "
        f"! echo x > {main}/.git/hooks/pre-commit && ! git config core.pager evil && "
        f"! echo x > {main}/.git/worktrees/worktree/commondir; code=$?; "
        f"echo x > {main}/file; exit $code"
    )
    sandbox = made(tree, Ceiling(), "bubblewrap", ("sh",))
    with start(
        sandbox, ("/bin/sh", "-c", script), {"PATH": os.environ["PATH"]}, stderr=subprocess.PIPE
    ) as running:
        assert running.stderr
        said = running.stderr.read()
        assert running.wait(30) == 0, said
    assert not (main / "file").exists()
