"""The run machine: what becomes of a run when something happens to it.

Rules of this file. It is pure: no clock, disk or process; the time comes with the event. `step` is
the one door: it looks the pair of state and event up in `TABLE`, refuses what is not there, and
holds what a handler makes to what the table says, so that table and code cannot tell two stories.
The diagram in the docs is drawn from the table.

How it goes. A run is worked on by one turn at a time, which holds the *claim*; whoever holds none
changes nothing but by a person's control. A turn that completes its stage has the host write the
artifacts, then judge the exit gates one by one; only the host says what a gate gave. A gate that
fails goes back to the model, which continues; at the cap the run goes elsewhere or waits. When all
have passed, the run moves on and the turn ends: its claim is *done*, and can complete nothing more.
Only when it is settled does the next turn begin, a waiting message of the user's before one of the
host's. Budgets are looked at in one place, where the host claims a turn of its own.

Everything that was stored happens once. A settlement is kept by its turn: the same again is the
same, another one is a conflict. An event that names an old revision, or a turn that holds no claim,
is refused. A host that died replays nothing: what was in flight is paused (S000-62, S000-102).

The clock runs while the state is running; each event reads it, and a restart forgets what was not
read (S000-96, S000-97).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from attrs import evolve

from remit.policy.run import WRITING, Claim, Do, Effect, Event, Kind, Run, State, Why
from remit.policy.run_report import report_fault
from remit.policy.workflow import Action, Inject

__all__ = ["TABLE", "step"]

Effects = tuple[Effect, ...]
Stepped = tuple[Run, Effects]

_R, _W, _P, _E, _F, _S = State

#: For each state and event the states that may follow; what is not there is refused.
TABLE: Mapping[State, Mapping[Kind, tuple[State, ...]]] = MappingProxyType(
    {
        _R: {
            Kind.CLAIM: (_R, _E),
            Kind.COMPLETE: (_R, _W, _F),
            Kind.WROTE: (_R, _W, _F),
            Kind.GATE: (_R, _W, _F),
            Kind.SETTLE: (_R, _W, _F),
            Kind.PAUSE: (_P,),
            Kind.STOP: (_S,),
            Kind.REMOVE: (_S,),
            Kind.INTERRUPT: (_P,),
            Kind.SWITCH: (_R, _P),
            Kind.EDIT: (_R,),
            Kind.COMPACT: (_R,),
            Kind.CHECKPOINT: (_R,),
            Kind.RESTART: (_R, _P),
        },
        _W: {
            Kind.CLAIM: (_R, _W),
            Kind.SETTLE: (_W,),
            Kind.DECIDE: (_W, _R, _F),
            Kind.PAUSE: (_P,),
            Kind.RESUME: (_R, _W, _E),
            Kind.STOP: (_S,),
            Kind.REMOVE: (_S,),
            Kind.INTERRUPT: (_P,),
            Kind.SWITCH: (_W, _P),
            Kind.EDIT: (_W,),
            Kind.RESTART: (_W,),
        },
        _P: {
            Kind.CLAIM: (_R, _P),
            Kind.SETTLE: (_P,),
            Kind.RESUME: (_R, _W, _E),
            Kind.STOP: (_S,),
            Kind.REMOVE: (_S,),
            Kind.SWITCH: (_P,),
            Kind.EDIT: (_P,),
            Kind.RESTART: (_P,),
        },
        _E: {
            Kind.CLAIM: (_R, _E),
            Kind.SETTLE: (_E,),
            Kind.RESUME: (_R, _E),
            Kind.STOP: (_S,),
            Kind.REMOVE: (_S,),
            Kind.SWITCH: (_E, _P),
            Kind.EDIT: (_E,),
            Kind.RESTART: (_E,),
        },
        _F: {Kind.SETTLE: (_F,), Kind.RESTART: (_F,)},
        _S: {Kind.SETTLE: (_S,), Kind.RESTART: (_S,)},
    }
)


def step(run: Run, event: Event) -> Stepped:
    """Return what a run becomes, and what the host has to do; a refusal leaves it as it is."""
    allowed = TABLE[run.state].get(event.kind)
    if allowed is None:
        return run, _refuse("run-state", f"a run that is {run.state} takes no {event.kind}")
    if event.revision is not None and event.revision != run.revision:
        return run, _refuse("run-stale", "the run has changed meanwhile")
    if event.kind in _CLAIMED and (run.claim is None or run.claim.turn != event.turn):
        return run, _refuse("run-claim", "the turn does not hold the run")
    made, effects = _HANDLERS[event.kind](run, event)
    assert made.state in allowed, f"{run.state} {event.kind} led to {made.state}"
    if made == run and event.kind is not Kind.CHECKPOINT:
        return run, effects
    return _read_clock(run, made, event), effects


def _read_clock(run: Run, made: Run, event: Event) -> Run:
    passed = 0
    if run.since is not None and event.kind is not Kind.RESTART:
        passed = max(0, event.now - run.since)
    return evolve(
        made,
        elapsed=run.elapsed + passed,
        since=event.now if made.state is State.RUNNING else None,
        revision=run.revision + 1,
    )


def _refuse(code: str, text: str) -> Effects:
    return (Effect(Do.REFUSE, what=code, text=text),)


def _claim(run: Run, event: Event) -> Stepped:
    if run.claim is not None:
        return run, _refuse("run-claim", "another turn holds the run")
    if event.turn in run.settled:
        return run, _refuse("run-claim", "the turn is over")
    if event.host and run.state is not State.RUNNING:
        return run, _refuse("run-state", f"the host starts no turn of a run that is {run.state}")
    if event.host and run.spent:
        return evolve(run, state=State.EXHAUSTED), _refuse("run-budget", "the budget is spent")
    claim = Claim(event.turn, event.host, run.input)
    effects: list[Effect] = []
    if run.why is Why.APPROVAL:
        effects.append(Effect(Do.SUPERSEDE_APPROVAL, event.turn))
    if run.fresh:
        if run.stage not in run.entered:
            effects += [
                Effect(
                    Do.TEMPLATE, event.turn, id, run.workflow.fill(a.template, run.id, run.input)
                )
                for id, a in run.workflow.artifacts.items()
                if a.template is not None
            ]
        effects += [_notice(run, event.turn, inject) for inject in run.at.enter]
    return (
        evolve(
            run,
            claim=claim,
            turns=run.turns + event.host,
            state=State.RUNNING,
            why=None,
            fresh=False,
            entered=tuple(dict.fromkeys((*run.entered, run.stage))),
        ),
        tuple(effects),
    )


def _notice(run: Run, turn: str, inject: Inject) -> Effect:
    text = run.workflow.fill(inject.text, run.id, run.input)
    return Effect(Do.NOTICE, turn, inject.artifact or "", text)


def _complete(run: Run, event: Event) -> Stepped:
    claim = run.claim
    assert claim is not None, "it was looked at before"
    if claim.done or run.judging is not None:
        return run, _refuse("run-claim", "the turn completes its stage already")
    if claim.input != run.input:
        ended = evolve(run, claim=evolve(claim, done=True))
        refusal = _refuse("run-input-changed", "the input was changed since the turn began")
        return ended, (*refusal, Effect(Do.END_TURN, event.turn))
    unknown = sorted(set(event.artifacts) - set(run.workflow.artifacts))
    if unknown:
        return run, _refuse("run-artifact", f"the mode declares no artifact `{unknown[0]}`")
    fault, blocked = report_fault(event.report)
    if fault:
        return run, _refuse("run-report", fault)
    if blocked:
        waits = _waits(run, Why.BLOCKED)
        return waits, (Effect(Do.RESULT, event.turn, "blocked"), Effect(Do.END_TURN, event.turn))
    writes = tuple(
        Effect(Do.WRITE, event.turn, id, event.artifacts[id]) for id in sorted(event.artifacts)
    )
    return (evolve(run, judging=WRITING), writes) if writes else _judge(run, event.turn, 0)


def _waits(run: Run, why: Why) -> Run:
    claim = run.claim and evolve(run.claim, done=True)
    return evolve(run, state=State.WAITING, why=why, judging=None, claim=claim)


def _wrote(run: Run, event: Event) -> Stepped:
    if run.judging != WRITING:
        return run, _refuse("run-gate", "no artifact is being written")
    if not event.passed:
        failed = Effect(Do.RESULT, event.turn, "failed", event.text)
        return evolve(run, judging=None), (failed,)
    return _judge(run, event.turn, 0)


def _judge(run: Run, turn: str, number: int) -> Stepped:
    """Go to an exit gate; past the last one the stage is passed."""
    if number == len(run.at.exit):
        passed, effects = _pass(run, turn)
        result = Effect(Do.RESULT, turn, "passed")
        return passed, (result, Effect(Do.END_TURN, turn), *effects)
    if run.at.exit[number].action is Action.ASK:
        result = Effect(Do.RESULT, turn, "waiting")
        opened = Effect(Do.OPEN_APPROVAL, turn, run.stage)
        return _waits(run, Why.APPROVAL), (opened, result, Effect(Do.END_TURN, turn))
    return evolve(run, judging=number), (Effect(Do.JUDGE, turn, run.stage, number=number),)


def _gate(run: Run, event: Event) -> Stepped:
    if run.judging is None or run.judging == WRITING or event.gate != run.judging:
        return run, _refuse("run-gate", f"the exit gate {event.gate} is not being judged")
    gate = run.at.exit[event.gate]
    word = "passed" if event.passed else "failed"
    record = Effect(Do.RECORD, event.turn, f"{run.stage} {event.gate} {word}", event.text)
    if event.passed:
        made, effects = _judge(run, event.turn, event.gate + 1)
        return made, (record, *effects)
    result = Effect(Do.RESULT, event.turn, "failed", event.text)
    counted = evolve(run, failures=run.failures + 1, judging=None)
    if counted.failures < gate.retries:
        return counted, (record, result)
    end = Effect(Do.END_TURN, event.turn)
    if gate.goto is None:
        return _waits(counted, Why.RETRIES), (record, result, end)
    return _enter(counted, gate.goto), (record, result, end)


def _enter(run: Run, stage: str) -> Run:
    """Go into a stage; the turn that led there has done its part."""
    claim = run.claim and evolve(run.claim, done=True)
    return evolve(
        run, stage=stage, state=State.RUNNING, why=None, failures=0, judging=None, fresh=True,
        claim=claim,
    )  # fmt: skip


def _pass(run: Run, turn: str | None) -> Stepped:
    """Leave a stage that is passed: for the next one, or for the end."""
    if run.at.next is not None:
        return _enter(run, run.at.next), ()
    claim = run.claim and evolve(run.claim, done=True)
    over = evolve(run, state=State.FINISHED, why=None, judging=None, claim=claim)
    return over, (Effect(Do.RETURN, turn, run.workflow.return_to),)


def _settle(run: Run, event: Event) -> Stepped:
    before = run.settled.get(event.turn)
    if before is not None:
        if before == event.outcome:
            return run, ()
        return run, _refuse("run-conflict", f"the turn ended with {before}")
    claim = run.claim
    if claim is None or claim.turn != event.turn:
        return run, _refuse("run-claim", "the turn does not hold the run")
    settled = evolve(
        run,
        claim=None,
        judging=None,
        settled={**run.settled, event.turn: event.outcome},
        tokens=run.tokens + max(0, event.tokens),
        rounds=run.rounds + 1,
    )
    if run.state is not State.RUNNING:
        return settled, ()
    if event.outcome == "error":
        return evolve(settled, state=State.WAITING, why=Why.ERROR), ()
    effects: Effects = ()
    if not claim.done:
        if run.at.ends_with_turn and event.outcome == "ok":
            settled, effects = _pass(settled, event.turn)
        elif not run.at.loop or event.outcome != "ok":
            return evolve(settled, state=State.WAITING, why=Why.STAGE), ()
    if settled.state is State.RUNNING:
        effects += (Effect(Do.TAKE_MESSAGE if event.queued else Do.START_TURN),)
    return settled, effects


def _decide(run: Run, event: Event) -> Stepped:
    if run.why is not Why.APPROVAL:
        return run, _refuse("run-state", f"the run waits for {run.why}, not for an approval")
    if not event.passed:
        said = (Effect(Do.SAY, text=event.text),) if event.text.strip() else ()
        return evolve(run, why=Why.STAGE), said
    record = Effect(Do.RECORD, what=f"{run.stage} {len(run.at.exit) - 1} passed", text=event.text)
    made, effects = _pass(run, None)
    # The turn that asked may not have ended yet; what settles it goes on then.
    go = made.state is State.RUNNING and made.claim is None
    return made, (record, *effects, *((Effect(Do.START_TURN),) if go else ()))


def _pause(run: Run, event: Event) -> Stepped:
    claim = run.claim
    # What is being judged is let go: nothing moves a run that is paused.
    made = evolve(run, state=State.PAUSED, judging=None, claim=claim and evolve(claim, done=True))
    return made, (Effect(Do.CLOSE_OUT, claim.turn, number=3),) if claim else ()


def _interrupt(run: Run, event: Event) -> Stepped:
    made, effects = _pause(run, event)
    return made, tuple(evolve(e, do=Do.INTERRUPT, number=0) for e in effects)


def _switch(run: Run, event: Event) -> Stepped:
    if event.staged:
        return run, _refuse("run-open", "a run is open: stop it first")
    return (run, ()) if run.state is State.PAUSED else _pause(run, event)


def _resume(run: Run, event: Event) -> Stepped:
    if run.why is Why.APPROVAL:
        if run.state is State.WAITING:
            return run, _refuse("run-state", "the run waits for an approval")
        return evolve(run, state=State.WAITING), ()
    if run.spent:
        return evolve(run, state=State.EXHAUSTED, why=None), _refuse("run-budget", "it is spent")
    made = evolve(run, state=State.RUNNING, why=None, failures=0)
    return made, (Effect(Do.START_TURN),) if run.claim is None else ()


def _over(do: Do) -> Callable[[Run, Event], Stepped]:
    def handler(run: Run, event: Event) -> Stepped:
        turn = run.claim.turn if run.claim else None
        effects: Effects = (Effect(do, turn),) if turn else ()
        if run.why is Why.APPROVAL:
            effects += (Effect(Do.SUPERSEDE_APPROVAL),)
        over = evolve(run, state=State.STOPPED, why=None, judging=None, claim=None)
        return over, (*effects, Effect(Do.RETURN, turn, run.workflow.return_to))

    return handler


def _edit(run: Run, event: Event) -> Stepped:
    if event.input is not None and not event.input.strip():
        return run, _refuse("run-input", "the input is empty")
    return (
        evolve(
            run,
            input=run.input if event.input is None else event.input,
            budget=run.budget if event.budget is None else event.budget,
        ),
        (),
    )


def _compact(run: Run, event: Event) -> Stepped:
    if run.claim is None:
        return run, ()
    return run, tuple(_notice(run, run.claim.turn, inject) for inject in run.at.compaction)


def _restart(run: Run, event: Event) -> Stepped:
    if run.claim is None:
        if run.state is not State.RUNNING:
            return run, ()
        # Nothing was in flight, so this is no replay: the next turn is due, and the clock is read
        # from now on.
        return evolve(run, since=event.now), (Effect(Do.START_TURN),)
    state = State.PAUSED if run.state is State.RUNNING else run.state
    settled = {**run.settled, run.claim.turn: "interrupted"}
    return evolve(run, state=state, claim=None, judging=None, settled=settled), ()


#: What only the turn that holds the claim may send.
_CLAIMED = (Kind.COMPLETE, Kind.WROTE, Kind.GATE)

_HANDLERS: Mapping[Kind, Callable[[Run, Event], Stepped]] = {
    Kind.CLAIM: _claim,
    Kind.COMPLETE: _complete,
    Kind.WROTE: _wrote,
    Kind.GATE: _gate,
    Kind.SETTLE: _settle,
    Kind.DECIDE: _decide,
    Kind.PAUSE: _pause,
    Kind.RESUME: _resume,
    Kind.STOP: _over(Do.INTERRUPT),
    Kind.REMOVE: _over(Do.RELEASE),
    Kind.INTERRUPT: _interrupt,
    Kind.SWITCH: _switch,
    Kind.EDIT: _edit,
    Kind.COMPACT: _compact,
    Kind.CHECKPOINT: lambda run, event: (run, ()),
    Kind.RESTART: _restart,
}
