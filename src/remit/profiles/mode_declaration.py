"""Modes in Markdown: one `mode.md` read and checked by itself, as `declaration` does profiles.

What comes out is a declaration like any other, whose parent is the profile that ``permission``
names: a mode stands under its ceiling and has the body for its words. Stages meet their own
permissions in `staging`, once every profile is known.
"""

from __future__ import annotations

from pathlib import PurePath

from attrs import evolve

from remit.policy.ceiling import Ceiling
from remit.policy.problems import InputError
from remit.policy.profile import Brief
from remit.profiles.declaration import Declaration, check_line, check_name, declare
from remit.profiles.document import Findings
from remit.profiles.frontmatter import ModeDocument, parse_mode
from remit.profiles.mode_shapes import ModeFile
from remit.profiles.names import AGENT_ONLY, DEFAULT_CHILDREN, TOP_MODE
from remit.profiles.shapes import BriefFile, CeilingFile, ProfileFile
from remit.profiles.source import MODE_FILE, Source
from remit.profiles.structure import Misshapen, salvage, structure
from remit.profiles.terms import Terms
from remit.profiles.workflows import check_words, read_workflow

__all__ = ["declare_all", "folder_name", "is_mode"]


def is_mode(file: str) -> bool:
    """Say whether a file is a mode in Markdown, by its ending."""
    return file.endswith(".md")


def folder_name(file: str) -> str:
    """Return the name that a mode's file has by itself: its folder's (S000-13)."""
    path = PurePath(file)
    return path.parent.name if path.name == MODE_FILE else path.stem


def declare_all(*sources: Source, terms: Terms) -> list[Declaration]:
    """Read profile and mode files in order; never raises, whatever the texts."""
    told = [(source, is_mode(source.file)) for source in sources]
    profiles = iter(declare(*(source for source, mode in told if not mode), terms=terms))
    return [_declare(source) if mode else next(profiles) for source, mode in told]


def _declare(source: Source) -> Declaration:
    name = folder_name(source.file)
    try:
        document, problems = parse_mode(source)
    except InputError as error:
        return Declaration(source, name, problems=error.problems)
    file, found = _shape(document)
    found.problems[:0] = problems
    if file is None:
        return Declaration(source, name, problems=tuple(found.problems))
    return _check(source, document, file, found, name)


def _shape(document: ModeDocument) -> tuple[ModeFile | None, Findings]:
    """Return the file, as far as it can be checked, and what is wrong in shape."""
    try:
        return structure(document, ModeFile), Findings(document)
    except Misshapen:
        file, left, problems = salvage(document, ModeFile)
        found = Findings(left)
        found.problems += problems
        return file, found


def _check(
    source: Source, document: ModeDocument, file: ModeFile, found: Findings, folder: str
) -> Declaration:
    name = folder if file.name is None else file.name
    check_name(name, source.built_in, found)
    if file.label is not None:
        check_line(file.label, ("label",), found)
    intent = " ".join(file.description.split())
    if intent:
        check_line(intent, ("description",), found)
    body = document.body.strip()
    workflow = read_workflow(file, source, found)
    check_words(body, file.artifacts, (), found)
    profile = ProfileFile(
        name=name,
        label=file.label,
        extends=file.permission,
        intent=intent,
        ceiling=CeilingFile(deny=(AGENT_ONLY,)),
        brief=BriefFile(guidance=body),
    )
    return Declaration(
        source,
        name,
        name if file.label is None else file.label,
        evolve(document, data={}, lost=found.document.lost, body=""),
        profile,
        Ceiling(deny=frozenset({AGENT_ONLY})),
        Brief(exit_to=TOP_MODE, children=DEFAULT_CHILDREN, guidance=body),
        problems=tuple(found.problems),
        named=True,
        parent_key="permission",
        workflow=evolve(workflow, name=name, body=body) if file.stages is not None else None,
    )
