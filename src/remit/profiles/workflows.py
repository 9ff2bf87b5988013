"""Workflows: the stages, artifacts and budget of a mode's file, with every entry checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

from remit.policy.problems import Severity, near
from remit.policy.stages import idle_circles, unreachable
from remit.policy.workflow import (
    VARIABLES,
    Action,
    Artifact,
    Budget,
    Gate,
    Inject,
    Stage,
    Workflow,
    variables,
)
from remit.profiles.document import Findings
from remit.profiles.mode_shapes import (
    GATES,
    HEADINGS,
    ID_PATTERN,
    STAGES,
    ArtifactFile,
    GateFile,
    InjectFile,
    ModeFile,
    StageFile,
)
from remit.profiles.names import ALIASES, TOP_MODE
from remit.profiles.positions import KeyPath
from remit.profiles.source import Source
from remit.profiles.structure import quoted

__all__ = ["check_words", "read_workflow"]

_ID = re.compile(ID_PATTERN)
_ARTIFACT = "artifact:"
#: Parts of a path in the worktree that no call may touch, so that no run makes its files there.
_HELD = (".git", ".remit")

Named = TypeVar("Named")


def read_workflow(file: ModeFile, source: Source, found: Findings) -> Workflow:
    """Return what a file says of runs; what cannot be meant is reported."""
    stages = file.stages or {}
    if file.stages == {} and not found.document.lacks("stages"):
        hint = "name one, or leave the key out for a mode without runs"
        found.report("no-stages", "`stages` names none", ("stages",), hint, key=True)
    _few(len(stages), STAGES, "stages", ("stages",), found)
    for key, table in (("stages", stages), ("artifacts", file.artifacts)):
        for id in table:
            if not _ID.fullmatch(id):
                hint = "up to 64 letters, digits, dashes and underscores, a letter first"
                message = f"`{quoted(id)}` is no id"
                found.report("bad-id", message, (key, id), hint, key=True)
    artifacts = {id: _artifact(id, a, source, file, found) for id, a in file.artifacts.items()}
    _same_paths(artifacts, found)
    made = {id: _stage(id, s, file, found) for id, s in stages.items()}
    _graph(made, found)
    turns = file.budget.maxTurns
    return Workflow(
        "",
        made,
        artifacts,
        Budget(Budget().turns if turns is None else turns, file.budget.maxTokens),
        TOP_MODE if file.returnTo is None else ALIASES.get(file.returnTo, file.returnTo),
    )


def _few(count: int, most: int, what: str, path: KeyPath, found: Findings) -> None:
    if count > most:
        message = f"{count} {what} are more than the limit of {most}"
        found.report("over-limit", message, path, key=True)


def _known(name: str, known: Iterable[str], what: str, path: KeyPath, found: Findings) -> bool:
    names = list(known)
    if name in names:
        return True
    if not found.document.lacks(f"{what}s", name):
        hint = near(name, names) or (
            f"there are {', '.join(f'`{n}`' for n in names)}" if names else "none is declared"
        )
        found.report(f"unknown-{what}", f"unknown {what} `{quoted(name)}`", path, hint)
    return False


def check_words(text: str, artifacts: Mapping[str, Named], path: KeyPath, found: Findings) -> None:
    """Report what lays claim to being a variable and is none."""
    if "{{" not in text:
        return
    known = {*VARIABLES, *(f"artifacts.{id}.path" for id in artifacts)}
    for name in variables(text):
        lost = name.startswith("artifacts.") and found.document.lacks(*name.split(".")[:2])
        if name not in known and not lost:
            message = f"unknown variable `{{{{{quoted(name)}}}}}`"
            hint = near(name, known) or f"there are {', '.join(sorted(f'`{k}`' for k in known))}"
            found.report("unknown-variable", message, path, hint)


def _artifact(
    id: str, file: ArtifactFile, source: Source, whole: ModeFile, found: Findings
) -> Artifact:
    at = ("artifacts", id)
    _check_path(file.path, (*at, "path"), found)
    template = None
    if file.template is not None:
        there = dict(source.templates)
        template = there.get(file.template)
        if template is None:
            message = f"the mode has no template `{quoted(file.template)}`"
            hint = near(file.template, there) or "write `templates/NAME`, a file beside the mode's"
            found.report("no-template", message, (*at, "template"), hint)
        else:
            check_words(template, whole.artifacts, (*at, "template"), found)
    _few(len(file.requiredHeadings), HEADINGS, "headings", (*at, "requiredHeadings"), found)
    for i, heading in enumerate(file.requiredHeadings):
        if not (heading.strip() == heading != "" and heading.isprintable() and len(heading) <= 200):
            message = f"`{quoted(heading)}` is no heading"
            where = (*at, "requiredHeadings", i)
            found.report("bad-text", message, where, "write the words alone, on one line")
    return Artifact(file.path, template, file.requiredHeadings)


def _check_path(path: str, at: KeyPath, found: Findings) -> None:
    """Report a path that could lead out of the worktree, whatever its variables stand for."""
    if others := [v for v in variables(path) if v != "run.id"]:
        message = f"a path may not hold `{{{{{quoted(others[0])}}}}}`"
        found.report("artifact-path", message, at, "only `{{run.id}}` is safe in a path")
    parts = path.split("/")
    bad = (
        not path.isprintable()
        or len(path) > 400
        or "\\" in path
        or path[:1] in ("/", "~")
        or path[1:2] == ":"
        or any(part in ("", ".", "..") or part != part.strip() for part in parts)
    )
    if bad:
        message = f"`{quoted(path)}` is no path of a file within the worktree"
        found.report("artifact-path", message, at, "write it from the worktree, without `..`")
    elif parts[0].lower() in _HELD:
        message = f"`{quoted(path)}` is in a folder that is protected"
        found.report("artifact-path", message, at, "choose another folder of the worktree")


def _same_paths(artifacts: Mapping[str, Artifact], found: Findings) -> None:
    first: dict[str, str] = {}
    for id, artifact in artifacts.items():
        other = first.setdefault(artifact.path, id)
        if other != id:
            message = f"the artifact `{other}` has the same path"
            found.report("artifact-path", message, ("artifacts", id, "path"), "give it its own")


def _stage(id: str, file: StageFile, whole: ModeFile, found: Findings) -> Stage:
    at = ("stages", id)
    check_words(file.prompt, whole.artifacts, (*at, "prompt"), found)
    _few(len(file.exit), GATES, "exit gates", (*at, "exit"), found)
    stages = whole.stages or {}
    gates = []
    for i, gate in enumerate(file.exit):
        last = i + 1 == len(file.exit)
        if gate.ask is not None and not last and not found.document.lacks(*at, "exit"):
            message = "`ask` is not the last gate"
            found.report("ask-not-last", message, (*at, "exit", i, "ask"), "move it to the end")
        gates.append(_gate(gate, (*at, "exit", i), whole, stages, found))
    if file.next is not None:
        _known(file.next, stages, "stage", (*at, "next"), found)
    told = {
        event: tuple(
            _inject(inject, (*at, "on", event, i, "inject"), whole, found)
            for i, inject in enumerate(getattr(file.on, event))
        )
        for event in ("enter", "compaction")
    }
    return Stage(
        file.prompt,
        "" if file.permission is None else ALIASES.get(file.permission, file.permission),
        file.loop,
        told["enter"],
        told["compaction"],
        tuple(g for g in gates if g is not None),
        file.next,
    )


def _gate(
    file: GateFile, at: KeyPath, whole: ModeFile, stages: Iterable[str], found: Findings
) -> Gate | None:
    given = [a for a in Action if getattr(file, a) is not None]
    if len(given) != 1:
        if not any(found.document.lacks(*at, a) for a in Action):
            said = " and ".join(f"`{a}`" for a in given) or "none"
            message = f"an exit gate has one of `require`, `run` and `ask`, got {said}"
            found.report("gate-actions", message, at, "make a gate of each")
        return None
    retries, goto = None, None
    if file.onFail is not None:
        retries, goto = file.onFail.retries, file.onFail.goto
        if file.ask is not None:
            message = "`onFail` means nothing with `ask`: a rejection keeps the stage"
            found.report("gate-actions", message, (*at, "onFail"), "leave it out", key=True)
        if goto is not None:
            _known(goto, stages, "stage", (*at, "onFail", "goto"), found)
    if retries is None:
        retries = 2 if goto is None else 1
    (action,) = given
    what, minutes = "", 10
    if file.require is not None:
        what = _required(file.require, (*at, "require"), whole, found)
    elif file.run is not None:
        what, minutes = file.run.command, file.run.timeoutMinutes
        if "\0" in what or len(what) > 8192:
            found.report("bad-text", "the command is no text of a shell", (*at, "run"))
        check_words(what, {}, (*at, "run"), found)
        if "{{run.input}}" in what.replace(" ", ""):
            # The input is anybody's words; in a command they would be code.
            message = "a command may not hold `{{run.input}}`"
            found.report("unknown-variable", message, (*at, "run"), "put it into an artifact")
    else:
        what = str(file.ask)
    return Gate(action, what, minutes, max(retries, 1), goto)


def _required(text: str, at: KeyPath, whole: ModeFile, found: Findings) -> str:
    if not text.startswith(_ARTIFACT):
        message = f"expected `artifact:ID`, got `{quoted(text)}`"
        found.report("unknown-artifact", message, at, near(text, _refs(whole)))
        return ""
    id = text.removeprefix(_ARTIFACT)
    _known(id, whole.artifacts, "artifact", at, found)
    return id


def _refs(whole: ModeFile) -> list[str]:
    return [_ARTIFACT + id for id in whole.artifacts]


def _inject(file: InjectFile, at: KeyPath, whole: ModeFile, found: Findings) -> Inject:
    text = file.inject
    if text.startswith(_ARTIFACT):
        return Inject(artifact=_required(text, at, whole, found))
    if not text.strip():
        found.report("over-limit", "expected a text that says something, got an empty one", at)
    check_words(text, whole.artifacts, at, found)
    return Inject(text)


def _graph(stages: Mapping[str, Stage], found: Findings) -> None:
    for edge in idle_circles(stages):
        at: KeyPath = ("stages", edge.start, "next")
        if edge.gate is not None:
            at = ("stages", edge.start, "exit", edge.gate, "onFail", "goto")
        message = (
            f"`{edge.start}` leads back to `{edge.end}`, and no stage on the way loops or asks"
        )
        hint = "give one of them `loop: true` or a last gate `ask: user`"
        found.report("stage-circle", message, at, hint)
    for id in unreachable(stages):
        message = f"no stage leads to `{quoted(id)}`"
        path = ("stages", id)
        found.report("stage-unreached", message, path, "", Severity.WARNING, key=True)
