"""Runs commands in boxes as one user: JSON in, JSON out, so that a test can be root and not root.

Everything is imported before the privileges are dropped: the checkout may be unreadable after.
"""

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import IO

from remit.harness.location import Location, protected
from remit.harness.sandbox.box import box, choose
from remit.harness.sandbox.process import start
from remit.harness.sandbox.survey import survey
from remit.policy.ceiling import Ceiling
from remit.policy.problems import RemitError
from remit.policy.vocabulary import Unknown


def digest(root: str) -> str:
    """Everything of a tree that a command could change."""
    found = []
    for path in [Path(root), *sorted(Path(root).rglob("*"))]:
        stat = path.lstat()
        held = path.read_bytes().hex() if path.is_file() and not path.is_symlink() else ""
        found.append([str(path), stat.st_mode, stat.st_uid, stat.st_size, stat.st_mtime_ns, held])
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()


def _tail(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def main() -> None:
    job = json.load(sys.stdin)
    os.environ.clear()
    os.environ.update(job["environment"])
    if job["uid"] != os.getuid():
        os.setgroups([])
        os.setresgid(job["uid"], job["uid"], job["uid"])
        os.setresuid(job["uid"], job["uid"], job["uid"])
        os.chdir("/")
    ceiling = Ceiling(
        refuse=job["refuse"],
        unknown=Unknown(job.get("unknown", "ask")),
        limit={e: frozenset({frozenset(p)}) for e, p in job.get("limit", {}).items()},
    )
    answers = []
    # A terminal, because some attacks are on whoever reads it afterwards.
    _keep, terminal = os.openpty()
    for command in job["commands"]:
        ground = survey(
            job["worktree"],
            tuple(command),
            control=job["control"],
            protected=protected(
                Location(
                    Path(job["environment"]["HOME"]),
                    Path(job["environment"]["HOME"], ".config/remit"),
                    Path(job["control"][1]).parent,
                    job["control"][1],
                ),
                job["worktree"],
            ),
            others=job.get("others", ()),
            scratch=job.get("scratch"),
            keep=job.get("keep", ()),
        )
        before = digest(job["worktree"])
        out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        try:
            made = box(ceiling, ground, choose(job["backend"]), job.get("cwd"))
            with start(made, tuple(command), stdin=terminal, stdout=out, stderr=err) as r:
                code = r.wait(60)
                answer = {
                    "code": code,
                    "out": _tail(out),
                    "err": _tail(err),
                    "advisory": [a.what for a in made.advisory],
                }
            answer["appeared"] = r.appeared
        except RemitError as error:
            answer = {"code": 125, "out": "", "err": f"{error} {_tail(err)}", "advisory": []}
        answer["changed"] = digest(job["worktree"]) != before
        answers.append(answer)
        out.close()
        err.close()
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
