"""``git``: global options, aliases, and the helpers that a repository's configuration names."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from remit.plugins.shell.argv import Argv, read
from remit.plugins.shell.builtins import BUILTINS
from remit.plugins.shell.given import given
from remit.plugins.shell.reading import Note
from remit.plugins.shell.tables import Entry
from remit.plugins.shell.values import Loose, Text, joined, options_of, shown
from remit.plugins.web import host_of
from remit.policy.selectors import UNSEEN
from remit.policy.tools import Repo

if TYPE_CHECKING:
    from remit.plugins.shell.walk import Walk

__all__ = ["git", "uses_of"]

_SKIPPED = frozenset(
    {"hook:pre-commit", "hook:commit-msg", "hook:pre-push", "hook:pre-merge-commit"}
)
_SCP = re.compile(r"(?:[\w.-]+@)?([\w.-]+):(?!//)")
_NONE = Repo("")
_OFF = frozenset({"", "false", "no", "off", "0"})


@cache
def _keys() -> tuple[tuple[str, frozenset[str]], ...]:
    """Configuration keys that name a program, each with what makes git run it."""
    text = files("remit.plugins").joinpath("programs/names.toml").read_text("utf-8")
    table: dict[str, str] = tomllib.loads(text)["git"]
    return tuple((key, frozenset(uses.split())) for key, uses in table.items())


def uses_of(key: str) -> frozenset[str] | None:
    """Return what makes git run the program that a key names; None if it names none."""
    first, dot, rest = key.partition(".")
    lowered = f"{first.lower()}{dot}{rest}"
    head, _, last = lowered.rpartition(".")
    lowered = f"{head}.{last.lower()}"
    for pattern, uses in _keys():
        if fnmatchcase(lowered, pattern):
            return uses
    return None


def git(walk: Walk, note: Note, entry: Entry, args: Sequence[Text]) -> None:
    """Note what a git command does."""
    argv = read(args, entry.grammar)
    if argv.loose:
        note.unread("git", f"`{argv.loose[0].raw}` may be an option or any command of `git`")
        return
    folders = walk.folders
    settings: dict[str, str] = {}
    for name, value in argv.options:
        if value is None:
            continue
        if name in ("-C", "--work-tree"):
            BUILTINS["cd"](walk, note, [value])
        elif name == "--git-dir":
            text = shown(value).rstrip("/")
            BUILTINS["cd"](
                walk,
                note,
                [text.removesuffix("/.git") if text.endswith("/.git") else value],
            )
        elif name == "-c":
            key, _, setting = shown(value).partition("=")
            if isinstance(value, Loose):
                note.unread("git", f"the setting `{value.raw}` is not known")
            settings[key] = setting
        elif name in ("--config-env", "--exec-path"):
            note.unread("git", f"`{name}` may name a program")
    if argv.operands:
        _run(walk, note, entry, argv.operands[0], argv.operands[1:], settings)
    walk.folders = folders


def _run(
    walk: Walk,
    note: Note,
    entry: Entry,
    command: Text,
    args: Sequence[Text],
    settings: Mapping[str, str],
) -> None:
    if isinstance(command, Loose):
        for one in command.choices:
            _run(walk, note, entry, one, args, settings)
        if not command.choices:
            note.unread("git", f"`{command.raw}` may be any command of `git`")
        return
    repo = _repo(walk, note)
    for key, value in settings.items():
        _setting(walk, note, key, value)
    sub = walk.known.get(f"git {command}")
    if sub is None:
        _alias(walk, note, entry, command, args, settings, repo)
        return
    if args and args[-1] in ("--help", "-h") and len(args) == 1:
        return
    if sub.sub and args:
        head = shown(args[0])
        deeper = walk.known.get(f"git {command} {head}")
        if deeper is not None:
            sub, args = deeper, args[1:]
        elif isinstance(args[0], Loose) and not args[0].choices:
            note.unread("git", f"`{args[0].raw}` may be any subcommand of `git {command}`")
            return
    found = read(args, sub.grammar)
    special = _SPECIAL.get(sub.name)
    if special is not None:
        special(walk, note, sub, found, repo)
    given(walk, note, sub, found)
    if repo.hooks:
        skipped = _SKIPPED if found.has(("--no-verify",)) else frozenset()
        for use in sub.uses - skipped:
            kind, _, hook = use.partition(":")
            if kind == "hook" and hook in repo.hooks:
                note.unread(f"hooks/{hook}", f"the repository has a hook `{hook}`")
    for key, values in repo.config.items():
        uses = uses_of(key)
        if uses is not None and uses & sub.uses:
            _helper(walk, note, key, values[-1])


def _repo(walk: Walk, note: Note) -> Repo:
    """Return what is known of the repository of the folder; looked for upwards, as git does."""
    if walk.remote or walk.folders == (None,) or (walk.facts.plain and not walk.facts.repos):
        return _NONE
    out = _NONE
    for folder in walk.folders:
        if folder is None:
            continue
        here = folder
        while here not in walk.facts.repos and here not in ("", "/", "~"):
            here = here.rpartition("/")[0]
        if here in walk.facts.repos:
            found = walk.facts.repos[here]
            if found is not None:
                config = {**out.config, **found.config}
                out = Repo(found.root, config, out.hooks | found.hooks)
        elif not walk.facts.plain:
            walk.repos.add(folder)
            note.blind("nobody looked at the configuration of the repository")
    return out


def _setting(walk: Walk, note: Note, key: str, value: str) -> None:
    """A setting on the command line: those that name a program run it."""
    if key.lower().startswith("alias."):
        return
    uses = uses_of(key)
    if uses is not None:
        _helper(walk, note, key, value)


def _helper(walk: Walk, note: Note, key: str, value: str) -> None:
    """Note what the program that a key names does."""
    text = value.strip()
    lowered = key.lower()
    if text.lower() in _OFF:
        return
    if lowered.startswith("credential") and re.fullmatch(r"[\w-]+(?: --?[\w=/.-]+)*", text):
        if text.split()[0] in (
            "store",
            "cache",
            "osxkeychain",
            "manager",
            "manager-core",
            "wincred",
            "libsecret",
        ):
            return
        note.unread(f"git-credential-{text}", f"`{key}` names the program `{text}`")
        return
    if lowered in ("core.fsmonitor", "core.hookspath") or lowered.endswith(
        ("includepath", ".path")
    ):
        note.unread(text, f"`{key}` names `{text}`, which was not read")
        return
    before = len(note.why)
    walk.code(text.removeprefix("!"), note)
    if len(note.why) > before:
        note.why.append(f"`{key}` names the program `{text}`")


def _alias(
    walk: Walk,
    note: Note,
    entry: Entry,
    command: str,
    args: Sequence[Text],
    settings: Mapping[str, str],
    repo: Repo,
) -> None:
    """A word that is no command of git is an alias or a program ``git-word``."""
    key = f"alias.{command}"
    text = next((v for k, v in settings.items() if k.lower() == key.lower()), None)
    if text is None:
        text = next((v[-1] for k, v in repo.config.items() if k.lower() == key.lower()), None)
    if text is None:
        note.unread(f"git-{command}", f"`git {command}` is not a known command of git")
        return
    walk.deeper()
    if text.startswith("!"):
        walk.code(joined([text[1:], *args]), note)
    else:
        try:
            words = shlex.split(text)
        except ValueError:
            words = []
        options = [
            w for k, v in settings.items() if k.lower() != key.lower() for w in ("-c", f"{k}={v}")
        ]
        git(walk, note, entry, [*options, *words, *args])
    walk.depth -= 1


def _where(remote: str, repo: Repo) -> str:
    """Return the host of a remote, by its URL or by its name in the configuration."""
    url = remote
    for key in (f"remote.{remote}.pushurl", f"remote.{remote}.url"):
        if repo.config.get(key):
            url = repo.config[key][-1]
            break
    if "://" in url:
        return host_of(url)
    found = _SCP.match(url)
    return found[1] if found else ""


def _transport(walk: Walk, note: Note, argv: Argv) -> bool:
    """Note a remote helper in a URL (``ext::``), which runs a program, and say if there was one."""
    ran = False
    for operand in argv.operands:
        text = shown(operand)
        if re.match(r"[\w-]+::", text):
            note.unread(text, f"`{text}` names a helper of git that runs a program")
            ran = True
        elif text.startswith("-"):
            note.blind(f"`{text}` may be read as an option")
    return ran


def _network(walk: Walk, note: Note, entry: Entry, argv: Argv, repo: Repo) -> None:
    if _transport(walk, note, argv):
        return
    remote = shown(argv.operands[0]) if argv.operands else "origin"
    place = _where(remote, repo)
    note.add("network.egress", place or UNSEEN, f"contacts `{remote}`")


def _push(walk: Walk, note: Note, entry: Entry, argv: Argv, repo: Repo) -> None:
    """``push``: its targets are ``remote ref``; flags say whether it forces, never operands."""
    _network(walk, note, entry, argv, repo)
    if argv.has(("-n", "--dry-run")):
        return
    force = argv.has(("-f", "--force", "--force-with-lease", "--mirror"))
    for target, forced in _refs(argv):
        how = "forces" if force or forced else "pushes"
        note.add(
            "git.push",
            target,
            f"{how} `{target}`" if target != UNSEEN else f"{how} refs",
        )


def _refs(argv: Argv) -> Iterator[tuple[str, bool]]:
    remote = argv.operands[0] if argv.operands else None
    specs = argv.operands[1:]
    wide = argv.has(("--all", "--mirror", "--tags", "--branches", "--prune", "--follow-tags"))
    if not isinstance(remote, str) or not specs or wide:
        yield UNSEEN, False
    for at, spec in enumerate(specs):
        if spec == "tag" and at + 1 < len(specs):
            continue
        for text in options_of(spec) or (UNSEEN,):
            forced = text[:1] == "+"
            source, colon, target = text.lstrip("+").partition(":")
            ref = (target if colon else source).removeprefix("refs/heads/")
            if not ref or ref in (UNSEEN, "HEAD", "@") or "*" in ref or not isinstance(remote, str):
                yield UNSEEN, forced
            else:
                yield f"{remote} {ref}", forced


def _clone(walk: Walk, note: Note, entry: Entry, argv: Argv, repo: Repo) -> None:
    ran = _transport(walk, note, argv)
    url = shown(argv.operands[0]) if argv.operands else ""
    place = _where(url, repo)
    if place and not ran:
        note.add("network.egress", place, f"contacts `{place}`")
    folder = (
        argv.operands[1]
        if len(argv.operands) > 1
        else url.rstrip("/").rpartition("/")[2].removesuffix(".git") or "."
    )
    walk.touch(note, folder, "write")


def _config(walk: Walk, note: Note, entry: Entry, argv: Argv, repo: Repo) -> None:
    """``config``: which file it changes, and whether the key names a program."""
    operands = list(argv.operands)
    verbs = frozenset({"list", "get", "set", "unset", "rename-section", "remove-section", "edit"})
    verb = shown(operands[0]) if operands and shown(operands[0]) in verbs else ""
    if verb:
        operands = operands[1:]
    reads = argv.has(
        (
            "--get",
            "--get-all",
            "--get-regexp",
            "--get-urlmatch",
            "-l",
            "--list",
            "--get-color",
            "--get-colorbool",
            "--show-origin",
            "--name-only",
        )
    )
    changes = argv.has(
        (
            "--add",
            "--unset",
            "--unset-all",
            "--replace-all",
            "--rename-section",
            "--remove-section",
            "-e",
            "--edit",
        )
    )
    if verb in ("list", "get") or (reads and not changes):
        return
    if not changes and not verb and len(operands) < 2:
        return
    key = shown(operands[0]) if operands else ""
    if argv.has(("--global",)):
        walk.touch(note, "~/.gitconfig", "write")
    elif argv.has(("--system",)):
        walk.touch(note, "/etc/gitconfig", "write")
    elif files_ := argv.values("-f", "--file"):
        for value in files_:
            walk.touch(note, value, "write")
    else:
        walk.touch(note, ".", "write")
        if (
            uses_of(key) is not None
            or isinstance(operands[0] if operands else "", Loose)
            or argv.has(("-e", "--edit"))
            or verb == "edit"
            or key.lower().startswith("alias.")
        ):
            note.protected.append(".git/config")
            note.why.append(f"`{key}` may name a program")


def _bisect(walk: Walk, note: Note, entry: Entry, argv: Argv, repo: Repo) -> None:
    walk.command(argv.operands, note)


def _foreach(walk: Walk, note: Note, entry: Entry, argv: Argv, repo: Repo) -> None:
    walk.joined_code(argv.operands, note)


def _show(walk: Walk, note: Note, entry: Entry, argv: Argv, repo: Repo) -> None:
    """``show rev:path``: a secret that is in the history is a secret."""
    for operand in argv.operands:
        path = shown(operand).partition(":")[2]
        place = walk.ground.place(path, walk.folders[0]) if path else None
        if place is not None and place.secret:
            note.add("secret.read", place.names[0], f"reads the secret file `{path}`")


def _tree(walk: Walk, note: Note, entry: Entry, argv: Argv, repo: Repo) -> None:
    """``checkout``: paths after ``--`` are written, anything else may move the whole tree."""
    if argv.after >= 0:
        for operand in argv.operands[argv.after :]:
            walk.touch(note, operand, "write")
    if argv.after < 0 or argv.after == len(argv.operands):
        walk.touch(note, ".", "write")


_SPECIAL = {
    "git push": _push,
    "git fetch": _network,
    "git pull": _network,
    "git ls-remote": _network,
    "git remote update": _network,
    "git remote show": _network,
    "git remote prune": _network,
    "git clone": _clone,
    "git submodule add": _clone,
    "git config": _config,
    "git bisect run": _bisect,
    "git submodule foreach": _foreach,
    "git checkout": _tree,
    "git log": _show,
    "git ls-tree": _show,
}
