"""A second opinion on modes in Markdown: the shipped JSON Schema and a page of rules.

It shares no code with the loader, and says less: what it rejects must never load. Texts are made
from those that are shipped, cut, spliced, strewn and changed value by value; `tools/fuzz mode` goes
on for as long as it is told to.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import jsonschema
import yaml

from remit.profiles.library import Library
from remit.profiles.schema import shipped_schema
from remit.profiles.shipped import built_in_modes, sample, samples
from remit.profiles.source import Source

__all__ = ["corpus", "faults", "made", "trouble"]

TEMPLATES = tuple(
    (f"templates/{name}.md", "# Goal\n") for name in ("spec", "goal", "cause", "findings")
)
#: Seconds within which any text is judged.
SOON = 2.0
_TAKEN = ("chat", "read-only", "plan", "review", "orchestrate", "explore", "goal", "agent",
          "default", "build", "off", "none", "contract")  # fmt: skip
_PERMISSIONS = set(_TAKEN) - {"goal"}
#: The one that the loader has: PyYAML's own takes a tab for another thing than libyaml does.
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_VARIABLE = re.compile(r"\{\{([^{}]*)\}\}")


def faults(text: str) -> list[str]:
    """Return what is wrong with a mode's file by these rules, empty where nothing is."""
    lines = text.replace("\r\n", "\n").split("\n")
    ends = [i for i, line in enumerate(lines) if re.fullmatch(r"---[ \t]*", line)]
    if len(text.encode(errors="replace")) > 64 * 1024 or "\0" in text or ends[:1] != [0]:
        return ["no file of a mode"]
    if len(ends) < 2:
        return ["no frontmatter"]
    try:
        data, wrong = _plain("\n".join((*lines[1 : ends[1]], "")))
    except yaml.YAMLError:
        return ["no yaml"]
    if not isinstance(data, dict):
        return ["no map"]
    wrong += [e.message for e in _schema().iter_errors(data)]
    return wrong or [*_rules(data, "\n".join(lines[ends[1] + 1 :]))]


@cache
def _schema() -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(json.loads(shipped_schema("mode")))


def _plain(text: str) -> tuple[Any, list[str]]:
    """Return the value of a text in YAML of maps, lists and scalars, and what is not of these."""
    forbidden = (yaml.AnchorToken, yaml.AliasToken, yaml.TagToken, yaml.DirectiveToken)
    wrong = [type(t).__name__ for t in yaml.scan(text, _LOADER) if isinstance(t, forbidden)]
    node = yaml.compose(text, _LOADER)
    return ({} if node is None else _value(node, wrong)), wrong


def _value(node: yaml.Node, wrong: list[str]) -> Any:
    if isinstance(node, yaml.SequenceNode):
        return [_value(n, wrong) for n in node.value]
    if isinstance(node, yaml.MappingNode):
        keys = [k.value if isinstance(k, yaml.ScalarNode) else None for k, _ in node.value]
        if None in keys or len(set(keys)) < len(keys):
            wrong.append("keys that are twice there, or are no words")
            return {}
        return {k: _value(v, wrong) for k, (_, v) in zip(keys, node.value, strict=True)}
    assert isinstance(node, yaml.ScalarNode)
    if node.style:
        return node.value
    if node.value in ("true", "false"):
        return node.value == "true"
    if node.value in ("null", "~", ""):
        return None
    if re.fullmatch(r"-?(0|[1-9][0-9]*)", node.value):
        return int(node.value[:18])
    if re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", node.value):
        return float(node.value)
    return node.value


def _rules(data: Mapping[str, Any], body: str) -> Iterator[str]:
    stages, artifacts = data.get("stages"), data.get("artifacts") or {}
    if data.get("name") in _TAKEN:
        yield "a name that is taken"
    if data.get("permission") not in (None, *_PERMISSIONS):
        yield "a permission that nothing has"
    paths = [a["path"] for a in artifacts.values()]
    if len(set(paths)) < len(paths):
        yield "two artifacts at one path"
    for artifact in artifacts.values():
        parts = artifact["path"].split("/")
        if parts[0].lower() in (".git", ".remit") or {"", ".", ".."} & set(parts):
            yield "a path that leads elsewhere"
        if re.search(r"\{\{\s*(run\.input|artifacts\.)", artifact["path"]):
            yield "a path made of anybody's words"
        if artifact.get("template") not in (None, *(name for name, _ in TEMPLATES)):
            yield "no such template"
    if stages == {}:
        yield "no stages"
    stages = stages or {}
    words = [body]
    for id, stage in stages.items():
        yield from _stage(id, stage or {}, stages, artifacts)
        words.append((stage or {}).get("prompt") or "")
    known = {"run.id", "run.input", *(f"artifacts.{id}.path" for id in artifacts)}
    for name in (n.strip() for text in words for n in _VARIABLE.findall(text)):
        if name.partition(".")[0] in ("run", "artifacts") and name not in known:
            yield f"no variable {name}"
    yield from _circles(stages)


def _stage(
    id: str, stage: Mapping[str, Any], stages: Mapping[str, Any], artifacts: Mapping[str, Any]
) -> Iterator[str]:
    gates = stage.get("exit") or []
    if stage.get("next") not in (None, *stages):
        yield "a next that is no stage"
    if stage.get("permission") not in (None, *_PERMISSIONS):
        yield "a permission that nothing has"
    for i, gate in enumerate(gates):
        actions = [a for a in ("require", "run", "ask") if gate.get(a) is not None]
        if len(actions) != 1:
            yield "a gate with none or several actions"
        if gate.get("ask") is not None and (i + 1 < len(gates) or gate.get("onFail")):
            yield "an ask that is not last, or that fails somewhere"
        if gate.get("require") not in (None, *(f"artifact:{a}" for a in artifacts)):
            yield "an artifact that is not declared"
        if (gate.get("onFail") or {}).get("goto") not in (None, *stages):
            yield "a goto that is no stage"
        run = gate.get("run")
        command = run.get("command") if isinstance(run, dict) else run
        if isinstance(command, str) and re.search(r"\{\{\s*run\.input\s*\}\}", command):
            yield "a command made of anybody's words"
    for told in (stage.get("on") or {}).values():
        for inject in told or []:
            text = inject["inject"]
            if text.startswith("artifact:") and text.partition(":")[2] not in artifacts:
                yield "an artifact that is not declared"


def _circles(stages: Mapping[str, Any]) -> Iterator[str]:
    """Take away what leads nowhere, again and again; what is left goes round for ever."""
    ways: dict[str, set[str]] = {}
    for id, stage in stages.items():
        gates = (stage or {}).get("exit") or []
        if (stage or {}).get("loop") or any(g.get("ask") is not None for g in gates):
            continue
        gotos = [(g.get("onFail") or {}).get("goto") for g in gates]
        ways[id] = {to for to in ((stage or {}).get("next"), *gotos) if to is not None}
    while idle := [id for id, to in ways.items() if not to & set(ways)]:
        for id in idle:
            del ways[id]
    if ways:
        yield f"a circle of {sorted(ways)}"


def corpus() -> list[str]:
    """Return the texts of the modes that are shipped, under names of their own."""
    sources = (*built_in_modes(), *map(sample, samples()))
    return [
        re.sub("^name: .*\n", "", s.text, flags=re.M) for s in sources if s.file.endswith(".md")
    ]


_PIECES = [
    "stages", "exit", "next: a", "loop: true", "ask: user", "run: x", "goto: design", "&a ", "*a",
    "!!str ", "<<: ", "{", "}", "[", "]", ": ", "- ", "\n", "  ", "'", '"', "#", "---\n", "../x",
    "{{run.input}}", "{{artifacts.x.path}}", "artifact:spec", "yes", "0", "-1", "1e9", "99", "null",
    "\t", "\u2028", "\ufeff", "{}", "[]", "permission: chat", "name: plan",
]  # fmt: skip


def _spliced(rng: random.Random, texts: list[str]) -> str:
    one, other = rng.choice(texts), rng.choice(texts)
    return one[: rng.randrange(len(one) + 1)] + other[rng.randrange(len(other) + 1) :]


def _strewn(rng: random.Random, texts: list[str]) -> str:
    text = rng.choice(texts)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(_PIECES) + text[at + rng.randint(0, 3) :]
    return text


def _lines(rng: random.Random, texts: list[str]) -> str:
    lines = rng.choice(texts).split("\n")
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(1, len(lines))
        lines[at : at + rng.randint(0, 2)] = rng.sample(rng.choice(texts).split("\n"), 1)
    return "\n".join(lines)


def _changed(rng: random.Random, texts: list[str]) -> str:
    """Change values and keys of a text that is right."""
    _, yaml_text, body = rng.choice(texts).split("---\n", 2)
    data = yaml.load(yaml_text, yaml.BaseLoader)
    for _ in range(rng.randint(1, 3)):
        at: Any = data
        while isinstance(at, dict | list) and at:
            key: Any = rng.choice(list(at) if isinstance(at, dict) else range(len(at)))
            if not isinstance(at[key], dict | list) or not at[key] or rng.random() < 0.3:
                values: list[Any] = [*_PIECES, {}, [], None, 3, "design", "implement", "spec"]
                keys = ["next", "loop", "goto", key] if isinstance(at, dict) else [key]
                at[rng.choice(keys)] = rng.choice(values)
                break
            at = at[key]
    return f"---\n{yaml.safe_dump(data, sort_keys=False)}---\n{body}"


def _nested(rng: random.Random, texts: list[str]) -> str:
    depth = rng.choice([10, 200, 5_000])
    return f"---\nstages: {rng.choice(['[', '{a: ', '- ']) * depth}\n---\n"


_MAKERS: list[Callable[[random.Random, list[str]], str]] = [
    _changed, _changed, _lines, _spliced, _strewn, _nested,
]  # fmt: skip


def made(rng: random.Random, texts: list[str]) -> str:
    """Return a text that may be no mode any more."""
    return rng.choice(_MAKERS)(rng, texts)


def trouble(library: Library, text: str) -> tuple[str, bool]:
    """Return what is wrong with how a text is judged, empty if nothing is; and if it loads."""
    begun = time.process_time()
    try:
        entry = library.examine(Source(text, "modes/fuzzed/mode.md", templates=TEMPLATES))
    except BaseException as error:
        return f"raised {type(error).__name__}: {error}", False
    took = time.process_time() - begun
    if took > SOON:
        return f"took {took:.2f} s", False
    if entry.profile is None:
        return ("" if entry.problems else "rejected without a problem"), False
    found = faults(text)
    return (f"accepted, and yet: {found}" if found else ""), True
