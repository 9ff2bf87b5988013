"""The native verbs: what remit itself serves on every host, so that a mode can deliver anywhere.

Each verb is a name, a description that carries the must-deliver line, a schema of its arguments
and a function that serves it. Serving is judged by the brief of the frame: if the mode has been
left since, the verb says so and does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from attrs import frozen

from remit.harness import orchestrating, reviewing
from remit.harness.store import (
    Approval,
    ApprovalKind,
    ApprovalState,
    ExitState,
    PlanRecord,
    PlanState,
    StoreConflict,
)
from remit.policy.digest import digest
from remit.policy.escape import escape
from remit.policy.plan import MAX_NODES, NodeType, Plan, TextPlan, read_plan, read_text_plan
from remit.policy.problems import InputError, RemitError
from remit.policy.profile import Brief, Profile
from remit.policy.run import Do, Effect, Event, Kind
from remit.policy.run_brief import standing_brief

if TYPE_CHECKING:
    from remit.harness.session import Frame
    from remit.harness.store import Store

__all__ = ["NATIVES", "Answer", "Desk", "NativeTool", "decided", "stage_said"]

#: Characters of an artifact that a model hands over.
MOST_OF_ARTIFACT = 512 * 1024


@frozen
class Answer:
    """The result of a call that is not forwarded; ``error`` says that it did not do its work."""

    text: str
    error: bool = False
    data: Mapping[str, Any] | None = None


@frozen
class NativeTool:
    """A native verb as the model sees it."""

    name: str
    description: str
    input_schema: Mapping[str, Any]


@frozen
class Desk:
    """What serving a verb needs: the store, the frame, who calls, and the time."""

    store: Store
    frame: Frame
    conversation: str
    now: datetime

    @property
    def agent(self) -> str:
        """Who asks; an approval is never decided by whoever asked."""
        return f"agent:{self.conversation}"

    @property
    def brief(self) -> Brief:
        """The brief in force; a verb that is served without one needs none of it."""
        return self.frame.projection.compiled.profile.brief or Brief()


@frozen
class Native:
    """How one verb is described and served."""

    describe: Callable[[Profile], str]
    properties: Mapping[str, Any]
    required: tuple[str, ...]
    serve: Callable[[Desk, Mapping[str, Any]], Answer]
    #: What it asks of the operator that a child has no say in: where the conversation goes on.
    opens: ApprovalKind | None = None
    #: False where serving reads the arguments itself, to tell all problems in one answer.
    checked: bool = True

    def tool(self, name: str, profile: Profile) -> NativeTool:
        """Return it as a tool of a mode."""
        schema = {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
            "additionalProperties": False,
        }
        return NativeTool(name, self.describe(profile), schema)

    def answer(self, desk: Desk, name: str, args: Mapping[str, Any]) -> Answer:
        """Serve a call whose arguments fit the schema; say what does not fit otherwise."""
        if not self.checked:
            return self.serve(desk, args)
        wrong = [f"unknown argument `{escape(a)}`" for a in args if a not in self.properties]
        wrong += [f"`{a}` is missing" for a in self.required if a not in args]
        for key, value in args.items():
            if key in self.properties and self.properties[key].get("type") == "string":
                if not isinstance(value, str):
                    wrong.append(f"`{key}` is to be text")
                elif key in self.required and not value.strip():
                    wrong.append(f"`{key}` is empty")
            elif self.properties.get(key, {}).get("type") == "object":
                wrong += [] if isinstance(value, Mapping) else [f"`{key}` is to be an object"]
        if wrong:
            known = ", ".join(f"`{p}`" for p in self.properties) or "none"
            return Answer(f"`{name}` did nothing: {'; '.join(wrong)} (arguments: {known})", True)
        return self.serve(desk, args)


def _mode(desk: Desk, args: Mapping[str, Any]) -> Answer:
    projection, space = desk.frame.projection, desk.frame.space
    profile = projection.compiled.profile
    data = {
        "mode": profile.name,
        "label": profile.label,
        "posture": profile.ceiling.posture.value,
        "dial": space.dial.value,
        "revision": space.revision,
        "tools": [t.name for t in projection.tools],
        "contract": projection.contract,
    }
    said = projection.preamble or (
        f"# Mode: {profile.label or profile.name}\nNothing is restricted beyond the space's dial."
    )
    if desk.frame.force.own_run is not None:
        run = desk.store.runs.get(desk.frame.force.own_run.run).run
        data |= {"run": run.id, "stage": run.stage}
        said = f"{said.rstrip()}\n\n{standing_brief(run)}"
    return Answer(f"{said.rstrip()}\n\nDial: {space.dial}.", data=data)


def _ask_user(desk: Desk, args: Mapping[str, Any]) -> Answer:
    question = args["question"].strip()
    options = args.get("options", [])
    if not isinstance(options, list) or not all(isinstance(o, str) for o in options):
        return Answer("`ask_user` did nothing: `options` is to be a list of texts", True)
    lines = [question, *(f"- {option}" for option in options)]
    bound = digest({"question": question, "options": options})
    kind, space, approvals = ApprovalKind.QUESTION, desk.frame.space.id, desk.store.approvals
    asked = approvals.find(space, desk.conversation, kind, now=desk.now, digest=bound)
    if asked is not None and asked.state is ApprovalState.APPROVED:
        used = approvals.use(asked.id, now=desk.now)
        return Answer(f"The operator answered: {used.feedback or 'yes'}", data=_about(used))
    if asked is not None and asked.state is ApprovalState.REJECTED:
        return Answer(f"The operator declined to answer{_why(asked)}.", data=_about(asked))
    asked = approvals.open(
        kind,
        space=space,
        conversation=desk.conversation,
        requested_by=desk.agent,
        digest=bound,
        shown="\n".join(lines),
        now=desk.now,
    )
    return Answer(
        f"The question waits for the operator as `{asked.id}`. Go on with what does not depend on "
        "it; ask again in the same words to read the answer.",
        data=_about(asked),
    )


def _submit_plan(desk: Desk, args: Mapping[str, Any]) -> Answer:
    return _planned(desk, read_plan, args)


def _present_plan(desk: Desk, args: Mapping[str, Any]) -> Answer:
    return _planned(desk, read_text_plan, args)


def _planned(
    desk: Desk, read: Callable[[Mapping[str, Any]], Plan | TextPlan], args: Mapping[str, Any]
) -> Answer:
    """Submit a plan, or say what became of it where it was submitted before."""
    try:
        plan = read(args)
    except InputError as error:
        listed = "\n".join(
            f"- {p.path or 'plan'}: {p.message}" + (f" ({p.hint})" if p.hint else "")
            for p in error.problems
        )
        return Answer(f"No plan was submitted; mend all of this and call again:\n{listed}", True)
    space = desk.frame.space
    known = desk.store.plans.newest(space.id, desk.conversation)
    if known is not None and known.digest == plan.digest and known.state in _DECIDED:
        return decided(desk, known)
    submitted = desk.store.plans.submit(
        space.id,
        desk.conversation,
        plan,
        by=desk.agent,
        now=desk.now,
        expect=space.revision,
        leave_to=desk.brief.exit_to if desk.brief.exit else None,
    )
    record, problem = submitted.plan, submitted.problem
    where = f" It is filed as `{record.path}`." if record.path else ""
    if problem is not None:
        where = f" It could not be filed: {problem.message}."
    size = f": {_nodes(len(plan.nodes))}" if isinstance(plan, Plan) else ""
    return Answer(
        f"Plan `{record.id}`, revision {record.revision}, is submitted{size}.{where} It waits for "
        f"the operator as `{record.approval}`; to change it, submit the whole of it again.",
        data=_about_plan(record, "pending"),
    )


def decided(desk: Desk, record: PlanRecord) -> Answer:
    """Say what an operator decided on a plan."""
    approval = desk.store.approvals.get(record.approval or "", now=desk.now)
    if record.state is PlanState.REJECTED:
        desk.store.plans.told(record, now=desk.now)
        return Answer(
            f"The operator rejected plan `{record.id}`{_why(approval)}. Nothing has changed; ask "
            "what should be different if that is not clear, then submit another.",
            data=_about_plan(record, "rejected"),
        )
    now = desk.store.spaces.get(record.space).mode
    left = f" The space is in {now} mode now." if now != record.mode else ""
    edited = f" They edited it; this is what counts:\n\n{record.text}" if record.edited else ""
    said = f" They say: {approval.feedback}." if approval.feedback else ""
    return Answer(
        f"The operator approved plan `{record.id}`.{left}{said} Carry it out.{edited}",
        data=_about_plan(record, "approved"),
    )


def _about_plan(record: PlanRecord, state: str) -> dict[str, Any]:
    return {
        "plan": record.id,
        "revision": record.revision,
        "path": record.path,
        "approval": record.approval,
        "kind": ApprovalKind.PLAN.value,
        "state": state,
    }


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


def _exit_plan_mode(desk: Desk, args: Mapping[str, Any]) -> Answer:
    """S003-10: pending stays pending; only a call after the grant leaves, and uses the grant up."""
    space, reason = desk.frame.space, (args.get("reason") or "").strip()
    if space.mode not in (desk.frame.mode, desk.brief.exit_to):
        # The turn goes on in a mode that an operator left: there is no way out of another one.
        return left_since(desk)
    before = desk.store.approvals.find(
        space.id, desk.conversation, ApprovalKind.PLAN_EXIT, now=desk.now
    )
    shown = f"leave {desk.frame.mode} mode for {desk.brief.exit_to} in space {space.id}"
    leave = desk.store.exits.request(
        space.id,
        desk.conversation,
        desk.brief.exit_to,
        by=desk.agent,
        now=desk.now,
        expect=space.revision,
        shown=f"{shown}: {reason}" if reason else shown,
    )
    data = {"mode": leave.space.mode, **(_about(leave.approval) if leave.approval else {})}
    if leave.approval is None or leave.state is not ExitState.PENDING:
        return Answer(
            f"The space is in {leave.space.mode} mode now: the operator approved. Its tools differ "
            "from those listed before.",
            data=data,
        )
    rejected = (
        f" The request before it was rejected{_why(before)}."
        if before is not None
        and before.state is ApprovalState.REJECTED
        and before.id != leave.approval.id
        else ""
    )
    return Answer(
        f"Leaving waits for the operator as `{leave.approval.id}`; nothing has changed.{rejected} "
        f"Call again after `remit approvals approve {leave.approval.id}`.",
        data=data,
    )


def _nothing_to_deliver(desk: Desk, args: Mapping[str, Any]) -> Answer:
    reason = args["reason"].strip()
    desk.store.log.record(
        "contract",
        {
            "contract": desk.brief.contract,
            "mode": desk.frame.mode,
            "outcome": "declined",
            "reason": escape(reason, lines=True),
        },
        space=desk.frame.space.id,
        conversation=desk.conversation,
        actor=desk.agent,
        now=desk.now,
    )
    return Answer(
        f"Recorded: no {desk.brief.noun} is needed, because {reason}",
        data={"contract": desk.brief.contract, "outcome": "declined"},
    )


def _complete_stage(desk: Desk, args: Mapping[str, Any]) -> Answer:
    """Hand the claim of the model's to the run; a host judges the exit gates after it (S000-23)."""
    run, given = desk.frame.force.own_run, dict(args.get("artifacts") or {})
    report = args.get("report")
    # Another host may have it: what it claimed is not completed from here (S000-35).
    if run is None or run.turn is None or not run.turn.startswith(f"{desk.conversation}#"):
        return Answer("Nothing was done: no turn of a run is under way here.", True)
    if desk.frame.space.locked:
        return Answer("Nothing was done: the space is locked.", True)
    if not all(isinstance(text, str) for text in given.values()):
        return Answer("`complete_stage` did nothing: every artifact is to be text", True)
    if long := next((id for id, text in given.items() if len(text) > MOST_OF_ARTIFACT), None):
        most = MOST_OF_ARTIFACT // 1024
        return Answer(f"Nothing was done: `{escape(long)}` is longer than {most} KiB.", True)
    event = Event(Kind.COMPLETE, turn=run.turn, artifacts=given, report=report)
    _, effects = desk.store.runs.step(
        run.run, event, by=desk.agent, now=desk.now, note=escape(args["summary"], lines=True)
    )
    over = any(e.do is Do.END_TURN for e in effects)
    data = {"run": run.run, "turn": run.turn, "over": over}
    for effect in effects:
        if effect.do is Do.REFUSE:
            return Answer(f"Nothing was done: {effect.text}.", True, data)
        if effect.do is Do.RESULT:
            return Answer(stage_said(effect), effect.what == "failed", data)
    return Answer("The exit gates are to be judged.", data={**data, "judging": True})


def stage_said(effect: Effect) -> str:
    """Return what the model is told of a stage that it completed, or could not."""
    if effect.what == "failed":
        return f"The stage is not done.\n{effect.text}"
    return {
        "passed": "The stage is done; this turn ends here.",
        "waiting": "The stage waits for the user's approval; this turn ends here.",
        "blocked": "Reported as blocked: the run waits for the user, and this turn ends here.",
    }[effect.what]


def _whole(
    act: Callable[[Desk, Mapping[str, Any]], tuple[str, Mapping[str, Any]]],
) -> Callable[[Desk, Mapping[str, Any]], Answer]:
    """Return a verb that tells every problem in one answer."""

    def serve(desk: Desk, args: Mapping[str, Any]) -> Answer:
        try:
            said, data = act(desk, args)
        except RemitError as error:
            listed = "\n".join(
                f"- {p.path + ': ' if p.path else ''}{p.message}"
                + (f" ({p.hint})" if p.hint else "")
                for p in error.problems
            )
            return Answer(f"Nothing was recorded; mend all of this and call again:\n{listed}", True)
        return Answer(said, data=data)

    return serve


def _about(approval: Approval) -> dict[str, Any]:
    return {
        "approval": approval.id,
        "kind": approval.kind.value,
        "state": approval.state.value,
    }


def _why(approval: Approval) -> str:
    return f": {approval.feedback}" if approval.feedback else ""


def _text(description: str) -> dict[str, str]:
    return {"type": "string", "description": description}


def _must(profile: Profile) -> str:
    brief = profile.brief
    if brief is None or not brief.required:
        return ""
    return f" The {brief.noun} exists only once this call has succeeded."


_PLAN_NODE = {
    "type": "object",
    "properties": {
        "key": _text("Short name of the node, unique in the plan."),
        "title": _text("One line: what is done."),
        "description": _text("How, and how it is known to be done."),
        "type": {**_text("What kind of work it is."), "enum": [t.value for t in NodeType]},
        "role": _text("Who should do it, where that matters."),
        "depends_on": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Keys of the nodes that must be done before.",
        },
    },
    "required": ["key", "title", "description"],
}

_REPORT = {
    "type": "object",
    "description": "How it stands, as far as you know; it passes no exit gate. `blocked` is for "
    "what only the user can remove, never while other permitted work is left.",
    "properties": {
        "status": {"type": "string", "enum": ["completed", "blocked"]},
        "outcomes": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "criterion": _text("What was to be true."),
                    "state": {"type": "string", "enum": ["met", "unmet", "unverified"]},
                    "evidence": _text("What shows it."),
                },
                "required": ["criterion", "state"],
            },
        },
        "remaining": {"type": "array", "items": {"type": "string"}},
        "blocker": _text("With `blocked`: what keeps you, and what would help."),
    },
    "required": ["status"],
}

#: The verbs that are served, by name. Those of the native catalogue that are not here yet are no
#: mode's, so the filter refuses them.
NATIVES: Mapping[str, Native] = MappingProxyType(
    {
        "mode": Native(
            lambda profile: (
                "Read the mode in force: what it is for, which tools there are, what "
                "it refuses and how it delivers. Changes nothing."
            ),
            {},
            (),
            _mode,
        ),
        "ask_user": Native(
            lambda profile: (
                "Ask the operator a question. It waits for an answer without blocking; "
                "ask again in the same words to read it."
            ),
            {
                "question": _text("The question, whole in itself."),
                "options": {"type": "array", "items": {"type": "string"}},
            },
            ("question",),
            _ask_user,
        ),
        "submit_plan": Native(
            lambda profile: (
                "Submit the plan: a goal and the nodes that reach it, each with the "
                f"keys it depends on.{_must(profile)}"
            ),
            {
                "goal": _text("What is true once the plan is carried out."),
                "nodes": {"type": "array", "items": _PLAN_NODE, "maxItems": MAX_NODES},
            },
            ("goal", "nodes"),
            _submit_plan,
            opens=ApprovalKind.PLAN,
            checked=False,
        ),
        "present_plan": Native(
            lambda profile: (
                "Present a plan in words for the operator to approve, edit or reject; nothing is "
                f"carried out before that.{_must(profile)}"
            ),
            {
                "title": _text("A short name of the plan."),
                "plan": _text("The whole plan, in Markdown."),
            },
            ("title", "plan"),
            _present_plan,
            opens=ApprovalKind.PLAN,
            checked=False,
        ),
        "exit_plan_mode": Native(
            lambda profile: (
                "Ask the operator to leave this mode. It delivers nothing, and nothing "
                "changes until the operator approves and you call again."
            ),
            {"reason": _text("Why it should be left now.")},
            (),
            _exit_plan_mode,
            opens=ApprovalKind.PLAN_EXIT,
        ),
        "complete_stage": Native(
            lambda profile: (
                "Say that the stage is done. Artifacts are written to their paths, then the exit "
                "gates are judged; one that fails is the result, and you go on."
            ),
            {
                "summary": _text("What was done, for the user."),
                "artifacts": {
                    "type": "object",
                    "additionalProperties": {"type": "string"},
                    "description": "By id, the whole text of each artifact that is to be written.",
                },
                "report": _REPORT,
            },
            ("summary",),
            _complete_stage,
        ),
        "add_review_node": Native(
            lambda profile: "Note one finding of the review: what, where, how bad and how sure.",
            reviewing.FINDING,
            ("kind", "priority", "confidence", "text"),
            _whole(reviewing.add),
            checked=False,
        ),
        "confirm_review_node": Native(
            lambda profile: "Confirm a finding of somebody else, after you checked it yourself.",
            {"id": _text("The finding's id.")},
            ("id",),
            _whole(reviewing.confirm),
        ),
        "dismiss_review_node": Native(
            lambda profile: "Dismiss a finding of somebody else that is none.",
            {"id": _text("The finding's id."), "reason": _text("Why it is none.")},
            ("id", "reason"),
            _whole(reviewing.dismiss),
        ),
        "finalize_review": Native(
            lambda profile: (
                "Weigh the findings together with what else was looked at, and record the "
                "verdict: ship, hold or block."
            ),
            reviewing.AXES,
            (),
            _whole(reviewing.finalize),
        ),
        "propose_orchestration": Native(
            lambda profile: (
                "Propose how several agents share the work: roles, tickets, one synthesis, a "
                f"budget. The operator decides; nothing runs before.{_must(profile)}"
            ),
            orchestrating.PROPOSAL,
            ("goal", "roles", "tickets", "synthesis", "budget"),
            _whole(orchestrating.propose),
            opens=ApprovalKind.ORCHESTRATION,
            checked=False,
        ),
        "nothing_to_deliver": Native(
            lambda profile: (
                "Say honestly that nothing needs to be delivered here"
                + (f": no {profile.brief.noun}." if profile.brief else ".")
            ),
            {"reason": _text("Why nothing is needed.")},
            ("reason",),
            _nothing_to_deliver,
        ),
    }
)


#: What an operator has said yes or no to.
_DECIDED = (PlanState.APPROVED, PlanState.REJECTED)


def left_since(desk: Desk, name: str = "", args: Mapping[str, Any] | None = None) -> Answer:
    """Answer a verb whose mode was left between frame and call: by its own approval, or not."""
    native = NATIVES.get(name)
    known = desk.store.plans.newest(desk.frame.space.id, desk.conversation)
    if native and native.opens is ApprovalKind.PLAN and known and known.state in _DECIDED:
        with suppress(InputError):
            read = read_plan if name == "submit_plan" else read_text_plan
            if read(args or {}).digest == known.digest:
                return decided(desk, known)
    return Answer(
        f"Nothing was done: mode `{desk.frame.mode}` was left since this step began. "
        "`mode` tells what holds now.",
        True,
    )


def undone(desk: Desk, error: StoreConflict) -> Answer:
    """Answer a verb whose space was changed before it could be served."""
    problem = error.problems[0]
    if problem.code == "space-changed":
        return left_since(desk)
    hint = f" ({problem.hint})" if problem.hint else ""
    return Answer(f"Nothing was done: {problem.message}{hint}.", True)
