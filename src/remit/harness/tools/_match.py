"""Finds a pattern in files that come on standard input; run by `searching` as a program.

It is a process of its own because a pattern can take forever, and nothing else ends it then.
Only the standard library's `re` and `json` are imported, so it starts in milliseconds.
"""

import json
import re
import sys


def main() -> None:
    given, out = sys.stdin.buffer, sys.stdout
    asked = json.loads(given.readline())
    flags = re.IGNORECASE if asked["ignore_case"] else 0
    text = re.escape(asked["pattern"]) if asked["literal"] else asked["pattern"]
    in_bytes = re.compile(text.encode(), flags) if text.isascii() else None
    in_text = re.compile(text, flags)
    while head := given.readline():
        size, name = json.loads(head)
        # The last line need not have an end, and an empty file has no line.
        lines = given.read(size).removesuffix(b"\n").split(b"\n") if size else []
        for number, line in enumerate(lines, 1):
            line = line.removesuffix(b"\r")
            said = line.decode("utf-8", "replace")
            if in_bytes.search(line) if in_bytes else in_text.search(said):
                out.write(json.dumps([name, number, said[: asked["width"]]]) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
