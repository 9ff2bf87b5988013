"""Pipelines from TOML and YAML files: the same strictness as for profiles, the same places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePath

from attrs import field, frozen

from remit.policy.pipeline import (
    PIN,
    ModeFrom,
    Pipeline,
    PipelineNode,
    StepMode,
    looks_like_pin,
    pipeline_findings,
)
from remit.policy.problems import InputError, Position, Problem
from remit.profiles.document import Document, Findings, parse_toml
from remit.profiles.names import STEP_MODE
from remit.profiles.shapes import PipelineFile
from remit.profiles.source import PIPELINE_BYTES, Source
from remit.profiles.structure import salvage
from remit.profiles.yaml_positions import parse_yaml_values

__all__ = ["PipelineReading", "Step", "parse_pipeline"]


@frozen
class Step:
    """A node's mode, where it comes from, and the place that says so."""

    node: PipelineNode
    mode: StepMode
    where: Position


@frozen
class PipelineReading:
    """What a file says: a pipeline and its steps, or no pipeline and every problem."""

    pipeline: Pipeline | None
    problems: tuple[Problem, ...]
    _document: Document = field(repr=False)
    _default_said: bool = False

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return each step with its mode, in the order of the file; none of a broken one."""
        if self.pipeline is None:
            return ()
        return tuple(self._step(i, n, self.pipeline) for i, n in enumerate(self.pipeline.nodes))

    def _step(self, index: int, node: PipelineNode, pipeline: Pipeline) -> Step:
        if PIN in node.extras:
            at = self._document.at(("nodes", index, "extras", PIN))
            return Step(node, StepMode(node.extras[PIN], ModeFrom.PINNED), at)
        # Nobody said it, so there is no place in the file.
        said = self._default_said
        at = self._document.at(("default",)) if said else Position(self._document.source.file)
        return Step(node, StepMode(pipeline.default, ModeFrom.DEFAULT), at)


def parse_pipeline(
    source: Source, modes: Iterable[str], aliases: Mapping[str, str] | None = None
) -> PipelineReading:
    """Read a pipeline; ``modes`` are those that there are, ``aliases`` other names of some.

    Never raises for what is wrong in it: all of that is in ``problems``, in the order of the file.
    """
    try:
        document = _parsed(source)
    except InputError as error:
        return PipelineReading(None, error.problems, Document(source, {}))
    shape, left, problems = salvage(document, PipelineFile, {"name": "", "nodes": []})
    found = Findings(left)
    found.problems.extend(_hinted(p, document) for p in problems)
    if shape is None:
        return PipelineReading(None, tuple(found.problems), document)
    names = aliases or {}
    nodes = tuple(
        PipelineNode(n.key, n.title, n.prompt, n.depends_on, n.role, _resolved(n.extras, names))
        for n in shape.nodes
    )
    default = STEP_MODE if shape.default is None else names.get(shape.default, shape.default)
    allowed = None if shape.allowed is None else tuple(names.get(m, m) for m in shape.allowed)
    pipeline = Pipeline(shape.name, nodes, default, allowed)
    if not shape.name.strip() and not left.lacks("name"):
        found.report("missing-key", "the key `name` is empty", ("name",), "name the pipeline")
    for one in pipeline_findings(pipeline, modes):
        # What was lost with its shape is told already, and what waits for it is no second problem.
        lost = one.code in ("step-none", "step-unknown", "step-cycle") and left.lacks("nodes")
        if not lost and not left.lacks(*one.path):
            found.report(one.code, one.message, one.path, one.hint, key=one.key)
    ordered = sorted(found.problems, key=lambda p: (p.where.line, p.where.column))
    made = None if ordered else pipeline
    return PipelineReading(made, tuple(ordered), document, shape.default is not None)


def _parsed(source: Source) -> Document:
    if PurePath(source.file).suffix in (".yaml", ".yml"):
        values = parse_yaml_values(source)
        document = Document(source, values if isinstance(values, dict) else {}, yaml=True)
        if not isinstance(values, dict):
            message = "a pipeline is a table with `name` and `nodes`"
            raise InputError(document.problem("wrong-type", message))
        return document
    return parse_toml(source, PIPELINE_BYTES)


def _resolved(extras: Mapping[str, object], aliases: Mapping[str, str]) -> Mapping[str, object]:
    pinned = extras.get(PIN)
    named = isinstance(pinned, str) and pinned in aliases
    return {**extras, PIN: aliases[str(pinned)]} if named else extras


def _hinted(problem: Problem, document: Document) -> Problem:
    """Tell the author of a mode outside `extras` where it belongs."""
    from attrs import evolve

    last = problem.path.rpartition(".")[2].strip('"')
    if problem.code == "unknown-key" and (last == PIN or looks_like_pin(last)):
        return evolve(problem, hint="a step's mode is pinned in its `extras`, by the key `mode`")
    return problem
