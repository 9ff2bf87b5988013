"""Make the virtual environment of a checkout once, and again only when its grounds have changed.

Standard library only: it runs before anything is installed.
"""

import argparse
import fcntl
import hashlib
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

Install = Callable[[Path, str], None]


def key(extra: str, root: Path = ROOT) -> str:
    """What an environment was made from: the declaration, the extra, this Python, this place."""
    facts = [(root / "pyproject.toml").read_text(), extra, sys.version, sys.base_prefix, str(root)]
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()


def install(folder: Path, extra: str) -> None:
    """Make the environment and install the checkout into it, editable."""
    venv.create(folder, symlinks=True, with_pip=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install"]
    # Files stay open for it: where we are killed and it is not, it still holds the lock.
    command = [*pip, "--quiet", "--editable", f"{ROOT}[{extra}]"]
    subprocess.run(command, check=True, close_fds=False)


def ensure(folder: Path, extra: str, lock: int, install: Install = install) -> None:
    """Leave a finished environment in `folder`, with `lock` held shared."""
    stamp = folder / "stamp"
    while True:
        wanted = key(extra)
        hold(lock, fcntl.LOCK_SH, folder.name)
        if read(stamp) == wanted:
            return
        # This lets go of the shared lock first, so two runs that both want to build cannot wait for
        # each other; whoever comes second finds the stamp and has nothing left to do.
        hold(lock, fcntl.LOCK_EX, folder.name)
        if read(stamp) != wanted:
            say(f"making {folder.name} (once, about a minute)")
            shutil.rmtree(folder, ignore_errors=True)
            install(folder, extra)
            stamp.write_text(wanted)  # last: an installation that was cut short has none


def hold(lock: int, how: int, name: str) -> None:
    """Take the lock, and say so where that means waiting."""
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except BlockingIOError:
        say(f"waiting for another run that uses {name}")
        fcntl.flock(lock, how)


def read(stamp: Path) -> str:
    """The text of the stamp, or nothing."""
    try:
        return stamp.read_text()
    except FileNotFoundError:
        return ""


def say(text: str) -> None:
    """Tell the person who waits."""
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Read the command line of tools/_venv.sh."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("extra")
    parser.add_argument("--lock", type=int, required=True, help="an open file, from the shell")
    args = parser.parse_args()
    try:
        ensure(args.folder, args.extra, args.lock)
    except subprocess.CalledProcessError:
        sys.exit(f"cannot install into {args.folder.name}: the first run needs a package registry")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
