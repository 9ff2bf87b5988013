"""Writes the figures of the guard into docs: corpus, live check, fuzz and speed.

tools/guard_figures [--live N] [--minutes M]
"""

# ruff: noqa: E501
from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median

import click

from remit.plugins.conformance import Line, lines
from remit.plugins.shell import classify_shell, read_shell
from remit.policy.tools import Facts
from remit.policy.vocabulary import EFFECTS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explanation" / "what-a-command-does.md"
FACTS = Facts(worktree="/ws", cwd="/ws", plain=True)


def _corpus(all_lines: list[Line]) -> list[str]:
    leaks = false = 0
    having: Counter[str] = Counter()
    for line in all_lines:
        root = "C:\\ws" if line.shell == "powershell" else "/ws"
        found = read_shell(line.command, Facts(worktree=root, cwd=root, plain=True), line.shell)
        leaks += bool(line.effects - found.effects or (line.opaque and not found.opaque))
        if not line.open:
            false += bool(found.effects - line.effects or (found.opaque and not line.opaque))
        having.update(line.effects)
        having["opaque"] += line.opaque
        having["none"] += not line.effects and not line.opaque
    rows = [
        f"| lines | {len(all_lines)} |",
        f"| leaks | {leaks} |",
        f"| false blocks | {false} |",
        f"| lines without any effect | {having['none']} |",
        f"| lines that are opaque | {having['opaque']} |",
    ]
    rows += [f"| lines with `{e}` | {having[e]} |" for e in EFFECTS if having[e]]
    return rows


def _seconds(run: Callable[[], object], times: int) -> float:
    best = float("inf")
    for _ in range(5):
        begun = time.process_time()
        for _ in range(times):
            run()
        best = min(best, time.process_time() - begun)
    return best / times


def _speed(all_lines: list[Line]) -> list[str]:
    import tree_sitter
    import tree_sitter_bash

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
    texts = [x.command for x in all_lines if x.shell == "bash" and x.file != "wrappers.toml"][::7]
    first, kept = [], []
    for text in texts:
        raw = text.encode()
        base = _seconds(lambda raw=raw: parser.parse(raw), 60)  # type: ignore[misc]
        first.append(_seconds(lambda text=text: read_shell(text, FACTS), 20) / base)  # type: ignore[misc]
        classify_shell(text, FACTS)
        kept.append(_seconds(lambda text=text: classify_shell(text, FACTS), 60) / base)  # type: ignore[misc]
    one = "git status && grep -rn 'x' src | head -5 > out; rm -rf dist\n"
    small = _seconds(lambda: read_shell(one * 20, FACTS), 2)
    large = _seconds(lambda: read_shell(one * 400, FACTS), 1)
    huge = _seconds(lambda: read_shell("a" * 1_000_000, FACTS), 1)
    deep = _seconds(lambda: read_shell("$(" * 10_000 + ")" * 10_000, FACTS), 1)
    return [
        f"| a command read for the first time, against tree-sitter's parse of it (median) | {median(first):.1f}x |",
        f"| a command that was read before | {median(kept):.2f}x |",
        f"| twenty times the text takes | {large / small:.0f}x the time |",
        f"| 1 MB | {huge * 1000:.1f} ms |",
        f"| 10,000 deep | {deep * 1000:.1f} ms |",
    ]


def _said(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return (done.stdout.strip().splitlines() or ["failed"])[-1]


@click.command()
@click.option("--live", default=400, show_default=True)
@click.option("--minutes", default=1.0, show_default=True)
def main(live: int, minutes: float) -> None:
    """Measure, and write the page anew."""
    all_lines = list(lines())
    rows = ["| what | figure |", "|---|---|", *_corpus(all_lines), *_speed(all_lines)]
    rows += [
        f"| live check | {_said('tools._live', '--lines', str(live))} |",
        f"| fuzz, {minutes:g} min | {_said('tools._fuzz', 'shell', '--minutes', str(minutes))} |",
    ]
    text = PAGE.read_text("utf-8")
    block = "<!-- figures -->\n\n" + "\n".join(rows) + "\n\n<!-- end of figures -->"
    PAGE.write_text(
        re.sub(r"<!-- figures -->.*<!-- end of figures -->", lambda _: block, text, flags=re.S)
    )


if __name__ == "__main__":
    main()
