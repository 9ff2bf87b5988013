"""Looks at paths from inside a sandbox: JSON of paths in, JSON of what can be done at each out.

Nothing is left behind, and asking is by doing: what `access` answers is not what the kernel does.
"""

import json
import os
import sys


def reads(path: str) -> bool:
    """Open and read a file, list a folder."""
    try:
        if os.path.isdir(path):
            os.listdir(path)
        else:
            os.read(os.open(path, os.O_RDONLY), 1)
    except OSError:
        return False
    return True


def writes(path: str) -> bool:
    """Open a file for writing, make a file in a folder."""
    try:
        if os.path.isdir(path):
            made = os.path.join(path, "probe-made")
            os.close(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            os.unlink(made)
        else:
            os.close(os.open(path, os.O_WRONLY))
    except OSError:
        return False
    return True


def main() -> None:
    """Answer for each path: is it there as it is outside, can it be read, can it be written."""
    found = {}
    for path, inode in json.loads(sys.argv[1]).items():
        try:
            same = os.stat(path).st_ino == inode
        except OSError:
            same = False
        found[path] = [same, reads(path), writes(path)]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
