"""Which files are worth reading for a pattern, as far as ripgrep can tell."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from itertools import islice

from remit.harness.tools.tree import Tree

__all__ = ["worth_reading"]

#: Below so many files a process costs more than it saves; so many are named at once.
_FEW, _BATCH = 64, 2_000
_PATIENCE = 10
#: What means the same to ripgrep without Unicode as to `re` on bytes, line by line. No `$`: ripgrep
#: does not stop before a carriage return.
_SAME = re.compile(
    r"(?:[\w <>=!@#%&~`'\",:;/-]|\\[dDwWsSbB]|\\[.+*?()|\[\]{}^$\\-]|[.^|]|\((?!\?)|\(\?:|\)"
    r"|[*+?]\??|\{\d{1,3}(?:,\d{0,3})?\}|\[\^?[A-Za-z0-9_ .,:;/@%=-]+\])+",
    re.ASCII,
)


def worth_reading(
    tree: Tree, root: str, names: list[str], pattern: str, literal: bool, ignore_case: bool
) -> list[str]:
    """Return the files that may hold a match, in their order; all of them where nobody can tell."""
    program = shutil.which("rg")
    told = pattern.isascii() and pattern.isprintable() and "--" not in pattern
    if program is None or len(names) < _FEW or not told:
        return names
    if not literal and not _SAME.fullmatch(pattern):
        return names
    words = [program, "--no-config", "--files-with-matches", "--null", "--no-messages"]
    words += ["--text", "--encoding", "none", "--no-unicode", "--no-ignore", "--hidden"]
    words += ["--fixed-strings"] if literal else []
    words += ["--ignore-case"] if ignore_case else ["--case-sensitive"]
    found: set[str] = set()
    rest = iter(names)
    while batch := list(islice(rest, _BATCH)):
        tree.desk.halt()
        try:
            done = subprocess.run(
                [*words, "-e", pattern, "--", *(f"./{name}" for name in batch)],
                cwd=root,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=_PATIENCE,
                check=False,
            )
        except (OSError, subprocess.SubprocessError):
            return names
        if done.returncode not in (0, 1):
            return names
        found |= {n.removeprefix("./") for n in os.fsdecode(done.stdout).split("\0") if n}
    return [name for name in names if name in found]
