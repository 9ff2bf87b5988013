"""`remit log`: the one log, and whether it is whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from remit.cli.app import Family
from remit.cli.failures import FINE, NO
from remit.cli.options import Place, as_json, in_workspace
from remit.cli.output import emit, line, problem_value, say, show_problems, verdict
from remit.policy.problems import InputError, Problem
from remit.policy.tasks import ACTIVATED, CLEARED, TICKED
from remit.policy.vocabulary import Verdict

if TYPE_CHECKING:
    from remit.harness.store import Event
    from remit.harness.store.log import Verified

__all__ = ["event_line", "gaps", "log"]

#: Seconds that one wait for records lasts at the most.
_WHILE = 60.0


@click.group(
    cls=Family, invoke_without_command=True, meant="`remit log --space {}` prints those of a space"
)
@click.option("--space", "space", metavar="ID", help="Records of one space.")
@click.option("--after", type=int, default=0, metavar="SEQ", help="Records after this one.")
@click.option("--follow", is_flag=True, help="Go on as records come; with --json, one a line.")
@as_json
@in_workspace
@click.pass_context
def log(
    ctx: click.Context, place: Place, space: str | None, after: int, follow: bool, as_json: bool
) -> None:
    """Print the log: every decision, switch and approval, oldest first."""
    ctx.obj = place
    if ctx.invoked_subcommand is not None:
        if space is not None or after or follow:
            raise InputError(
                Problem(
                    "usage",
                    f"`log {ctx.invoked_subcommand}` reads the whole log",
                    "leave out --space, --after and --follow",
                )
            )
        return
    with place.store() as store:
        if space is not None:
            store.spaces.get(space)
        last = store.log.head()
        events = store.log.read(space, after)
        if not follow:
            if as_json:
                emit([event_value(e) for e in events])
            else:
                _print(events)
            return
        while True:
            for event in events:
                after = event.seq
                if as_json:
                    line(event_value(event))
            if not as_json:
                _print(events)
            last = store.wait(last, _WHILE)
            events = store.log.read(space, after)


def event_value(event: Event) -> dict[str, Any]:
    """Return a record as JSON, whole."""
    return {
        "seq": event.seq,
        "at": event.at,
        "kind": event.kind,
        "space": event.space,
        "conversation": event.conversation,
        "actor": event.actor,
        "body": dict(event.body),
        "prev": event.prev,
        "hash": event.hash,
    }


def _print(events: Iterable[Event]) -> None:
    for event in events:
        say(event_line(event))


def event_line(event: Event) -> str:
    """Return a record as one line for people."""
    body = dict(event.body)
    if event.kind == "decision":
        told = f"{body.get('verdict')} by {body.get('layer')}{_came(body)}: {body.get('reason')}"
    elif (sentence := _SENTENCES.get(event.kind)) is not None:
        said = {k: _short(v) for k, v in {**body, "conversation": event.conversation}.items()}
        told = sentence.format_map(defaultdict(lambda: "?", said))
    else:
        # What is empty tells nothing, unless that is all there is: something was taken away.
        said = {k: v for k, v in body.items() if v not in (None, "", [], {})} or body
        told = " ".join(f"{k}={_short(v)}" for k, v in said.items())
    where = event.space or "-"
    return f"{event.seq:>5}  {event.at[:19]}Z  {where:<12}  {event.kind:<19}  {told}"


#: How the records of a conversation read; all else of them is in the JSON.
_SENTENCES: Mapping[str, str] = {
    "conversation.made": "{conversation} begins in {mode} mode",
    "turn.opened": "{conversation}: turn {turn} begins, by {origin}",
    "mode.flushed": "{conversation}: {previous} mode became {mode} mode, at a {boundary}",
    "step.framed": "{conversation}: turn {turn}, step {step} in {mode} mode",
    "notice": "{conversation} was told ({what}): {text}",
    "conversation.overlay": "{conversation} has this overlay: {overlay}",
    "conversation.compacted": "{conversation} was shortened by its host",
    "branch.moved": "{conversation} goes on from record {to}, in {mode} mode",
    "profile.kept": "what {mode} mode is was kept",
    "mode.kept": "{mode} mode was kept as a run begins with it",
    "run.started": "{conversation}: run {run} of {mode} mode begins",
    "gate.judged": "run {run}, stage {stage}: gate {gate} {outcome}",
    ACTIVATED: "{conversation}: plan {plan} is the active one",
    TICKED: "{conversation}: task {task} is done",
    CLEARED: "{conversation}: no plan is active any more",
    "turn.closed": "{conversation}: turn {turn} {outcome} after {decisions} decisions",
}


def _came(body: Mapping[str, Any]) -> str:
    """Say what came of a call that asks: by what it ran, or what it waits for."""
    if body.get("verdict") != Verdict.ASK or "forwarded" not in body:
        return ""
    approval, grants = body.get("approval"), body.get("grants") or ()
    by = f"approval {approval}" if approval else f"grant {', '.join(grants)}" if grants else ""
    if body["forwarded"]:
        return f", ran by {by}"
    return f", did not run ({by})" if by else ", did not run"


def _short(value: object) -> str:
    text = " ".join(_words(value).split())
    return text if len(text) <= 60 else f"{text[:59]}…"


def _words(value: object) -> str:
    """Return a value of JSON in words."""
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(map(_words, value)) or "none"
        case dict():
            said = ", ".join(f"{key}: {_words(one)}" for key, one in value.items())
            return f"({said})" if said else "none"
    return str(value)


@log.command()
@as_json
@click.pass_obj
def verify(place: Place, as_json: bool) -> int:
    """Recompute the chain of hashes, and hold its end against the anchor."""
    with place.store() as store:
        found = store.log.verify()
    if as_json:
        emit(
            {
                "ok": found.ok,
                "records": found.records,
                "anchored": found.anchored,
                "ahead": found.ahead,
                "missing": found.missing,
                "cut": found.cut,
                "problem": problem_value(found.problem) if found.problem else None,
            }
        )
    elif found.problem:
        show_problems([found.problem], err=False)
    else:
        click.echo(f"{verdict('ok')}: {found.records} records, anchored at {found.anchored}")
        for gap in gaps(found):
            say(gap)
    return FINE if found.ok else NO


def gaps(found: Verified) -> list[str]:
    """Return what is to be told of decisions that are not in the log, or may not be."""
    told = []
    if found.missing:
        told.append(f"decisions that were made and not recorded: {found.missing}")
    if found.cut:
        told.append(f"turns whose process ended, perhaps with a decision unrecorded: {found.cut}")
    return told


@log.command()
@click.option("--check", is_flag=True, required=True, help="Compare, and change nothing.")
@as_json
@click.pass_obj
def rebuild(place: Place, check: bool, as_json: bool) -> int:
    """Fold the log into fresh tables and compare them with those that are there."""
    if not check:
        raise InputError(Problem("usage", "a rebuild only compares", "`--check` says so"))
    with place.store() as store:
        found = store.log.rebuild(check=True)
    if as_json:
        emit(
            {
                "equal": found.equal,
                "records": found.records,
                "problems": [problem_value(p) for p in found.problems],
            }
        )
    else:
        show_problems(found.problems, err=False)
        state = "equal" if found.equal else "different"
        say(f"tables and log are {state}: {found.records} records folded")
    return FINE if found.equal else NO
