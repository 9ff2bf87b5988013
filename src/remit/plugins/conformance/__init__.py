"""The conformance corpus: commands and calls with their right effects, usable by any host.

Each file holds groups of lines; a line is a command and exactly the effects that it has, `opaque`
among them where not everything can be seen. `lines` expands them all.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from attrs import frozen

from remit.policy.vocabulary import EFFECTS

__all__ = ["Line", "lines"]


@frozen
class Line:
    """One line of the corpus.

    ``effects`` are exactly those that the command has. With ``open`` it may have more: only that
    it has these is fixed.
    """

    file: str
    group: str
    command: str
    effects: frozenset[str]
    opaque: bool
    why: str
    shell: str = "bash"
    open: bool = False

    def wrong(self, effects: frozenset[str], opaque: bool) -> str:
        """Say what is wrong with an answer, the empty text if nothing is."""
        missing = self.effects - effects
        more = frozenset[str]() if self.open else effects - self.effects
        said = []
        if missing:
            said.append(f"leaks {', '.join(sorted(missing))}")
        if more:
            said.append(f"falsely has {', '.join(sorted(more))}")
        if self.opaque and not opaque:
            said.append("is taken for understood")
        if opaque and not self.opaque and not self.open:
            said.append("is falsely opaque")
        return "; ".join(said)


def lines() -> Iterator[Line]:
    """Yield every line of the corpus, wrappers filled with their commands."""
    folder = files("remit.plugins.conformance")
    for file in sorted(folder.iterdir(), key=lambda f: f.name):
        if not file.name.endswith(".toml"):
            continue
        table = tomllib.loads(file.read_text("utf-8"))
        if "wrapper" in table:
            yield from _wrapped(file.name, table)
            continue
        for group in table["group"]:
            for command, said in group["lines"]:
                yield _line(file.name, group["of"], command, said, group["why"], table)


def _line(file: str, group: str, command: str, said: str, why: str, table: dict[str, Any]) -> Line:
    words = frozenset(said.split())
    unknown = words - EFFECTS.keys() - {"opaque"}
    if unknown:
        raise ValueError(f"{file}: `{command}` names {sorted(unknown)}")
    return Line(
        file, group, command, words - {"opaque"}, "opaque" in words, why, table.get("shell", "bash")
    )


def _wrapped(file: str, table: dict[str, Any]) -> Iterator[Line]:
    seen: set[str] = set()
    for wrapper in table["wrapper"]:
        adds = wrapper.get("adds", "")
        for row in wrapper["rows"].split():
            group = f"wrapper {wrapper.get('of', row) if ' ' in wrapper.get('of', '') else row}"
            runner = table["runner"].get(row, row)
            for form in wrapper["forms"]:
                form = form.replace("{row}", row).replace("{runner}", runner)
                for inner, said in table["inside"]:
                    if wrapper.get("elsewhere"):
                        said = _elsewhere(inner, said)
                    if wrapper.get("hides"):
                        said = "process.spawn opaque"
                    line = _line(
                        file,
                        group,
                        _filled(form, inner),
                        f"{said} {adds.strip('*')}",
                        wrapper["why"],
                        table,
                    )
                    yield Line(
                        line.file,
                        group,
                        line.command,
                        line.effects,
                        line.opaque,
                        line.why,
                        open=adds == "*",
                    )
                if not adds:
                    for inner in table["harmless"]:
                        yield _line(file, group, _filled(form, inner), "", wrapper["why"], table)
            if row in seen:
                continue
            seen.add(row)
            for form in table["lookalikes"]:
                why = "the name of a wrapper is a word like any other"
                yield _line(file, group, form.replace("{}", row), "", why, table)


def _filled(form: str, inner: str) -> str:
    return form.replace("{{}}", "\0").replace("{}", inner).replace("\0", "{}")


def _elsewhere(inner: str, said: str) -> str:
    """What a command has on another machine: its files are outside, its secrets are not ours."""
    said = said.replace("worktree.write", "file.write_outside").replace("secret.read", "")
    return said
