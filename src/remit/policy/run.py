"""Runs: one walk through the stages of a workflow, as a value that a store keeps whole."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from attrs import field, frozen

from remit.policy.workflow import Budget, Stage, Workflow

__all__ = ["OPEN", "WRITING", "Claim", "Do", "Effect", "Event", "Kind", "Run", "State", "Why"]

#: What `Run.judging` is while the artifacts of a completion are written, before the first gate.
WRITING = -1


class State(StrEnum):
    """Where a run stands; the last two are final."""

    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    EXHAUSTED = "budget_exhausted"
    FINISHED = "finished"
    STOPPED = "stopped"


#: The states of a run that is not over.
OPEN = (State.RUNNING, State.WAITING, State.PAUSED, State.EXHAUSTED)


class Why(StrEnum):
    """What a waiting run waits for."""

    APPROVAL = "approval"
    RETRIES = "retries"
    STAGE = "stage"
    BLOCKED = "blocked"
    ERROR = "error"


class Kind(StrEnum):
    """What can happen to a run."""

    CLAIM = "claim"  # a turn wants to work on it
    COMPLETE = "complete"  # the model says that the stage is done
    WROTE = "wrote"  # the host wrote the artifacts, or could not
    GATE = "gate"  # the host judged an exit gate
    SETTLE = "settle"  # a turn is over
    DECIDE = "decide"  # a person approves or rejects
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    REMOVE = "remove"
    INTERRUPT = "interrupt"  # the stop button beside the message
    SWITCH = "switch"  # the space is to have another mode
    EDIT = "edit"
    COMPACT = "compact"  # the conversation was shortened
    CHECKPOINT = "checkpoint"  # the clock is written down
    RESTART = "restart"  # the host died and is back


class Do(StrEnum):
    """What a host has to do, in the order given."""

    TEMPLATE = "template"  # write `what` from its template if it is missing
    NOTICE = "notice"  # tell the model, as the system: a text, or what an artifact holds
    WRITE = "write"  # write an artifact
    JUDGE = "judge"  # judge the exit gate of this number
    RECORD = "record"  # keep what a gate gave
    RESULT = "result"  # answer the model's call
    END_TURN = "end turn"
    START_TURN = "start turn"  # claim a turn of the host's own
    TAKE_MESSAGE = "take message"  # claim a turn for the user's next message
    SAY = "say"  # put a message of the user's into the queue
    OPEN_APPROVAL = "open approval"
    SUPERSEDE_APPROVAL = "supersede approval"
    CLOSE_OUT = "close out"  # ask for a handoff, and end the turn after `number` requests
    INTERRUPT = "interrupt"
    RELEASE = "release"  # let the turn end as one of the mode returned to
    RETURN = "return"  # put the space into the mode `what`
    REFUSE = "refuse"  # nothing happened; `what` is the code of why


@frozen
class Effect:
    """One thing that a host has to do; ``turn`` is the claim that it is done under."""

    do: Do
    turn: str | None = None
    what: str = ""
    text: str = ""
    number: int = 0


@frozen
class Event:
    """Something that happened at ``now`` (milliseconds, any origin).

    ``revision`` is what whoever sends it believes to be the run's, None where that is nothing to
    them. The other fields are for the kinds that name them.
    """

    kind: Kind
    now: int = 0
    revision: int | None = None
    #: Of claim, complete, wrote, gate, settle.
    turn: str = ""
    #: Of claim: does the host start it by itself.
    host: bool = False
    #: Of complete: artifacts by id, and the model's report.
    artifacts: Mapping[str, str] = field(factory=dict)
    report: Mapping[str, object] | None = None
    #: Of gate: its number. Of gate, wrote and decide: did it pass. Of all three: words.
    gate: int = 0
    passed: bool = False
    text: str = ""
    #: Of settle: ``ok``, ``error`` or ``interrupted``, tokens used, messages of the user's waiting.
    outcome: str = "ok"
    tokens: int = 0
    queued: int = 0
    #: Of switch: has the other mode stages. Of edit: what is to be new.
    staged: bool = False
    input: str | None = None
    budget: Budget | None = None


@frozen
class Claim:
    """A turn at work on a run: the input it froze, and whether it may still complete the stage."""

    turn: str
    host: bool
    input: str
    done: bool = False


@frozen
class Run:
    """A run. ``turns`` counts those that the host started, ``tokens`` all that were used.

    ``judging`` is the number of the exit gate that the host is at, None where it is at none.
    ``settled`` keeps how each turn ended. ``since`` is when the clock was last read while running.
    """

    id: str
    workflow: Workflow = field(repr=False)
    input: str
    stage: str
    budget: Budget
    state: State = State.RUNNING
    why: Why | None = None
    turns: int = 0
    tokens: int = 0
    rounds: int = 0
    failures: int = 0
    judging: int | None = None
    fresh: bool = True
    entered: tuple[str, ...] = ()
    claim: Claim | None = None
    settled: Mapping[str, str] = field(factory=dict)
    revision: int = 0
    elapsed: int = 0
    since: int | None = None

    @classmethod
    def start(
        cls, id: str, workflow: Workflow, input: str, now: int, budget: Budget | None = None
    ) -> Run:
        """Return a run in the first stage, which the message that started it is to claim."""
        limits = workflow.budget if budget is None else budget
        return cls(id, workflow, input, workflow.first, limits, since=now)

    @property
    def at(self) -> Stage:
        """The stage that is in force."""
        return self.workflow.stages[self.stage]

    @property
    def spent(self) -> bool:
        """May the host start no further turn (S000-50, S000-53)."""
        limit = self.budget.tokens
        return self.turns >= self.budget.turns or (limit is not None and self.tokens >= limit)
