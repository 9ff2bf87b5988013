"""Changes of a space within a transaction: another mode, another dial, and what forbids them."""

from __future__ import annotations

from remit.harness.store.database import Database
from remit.harness.store.errors import StoreConflict
from remit.harness.store.events import SYSTEM
from remit.harness.store.history import Answer
from remit.harness.store.log import Writer
from remit.harness.store.run_rows import open_run, switched
from remit.harness.store.space import Space
from remit.policy.problems import InputError, Problem
from remit.policy.vocabulary import Dial

__all__ = ["expected", "flip", "no_runs", "takes_runs", "turn", "unlocked"]

#: What is bound to the mode that it was asked for in, so that no return to the mode revives it.
_BOUND = (
    "SELECT id, conversation, expires_at FROM approval WHERE space = ?"
    " AND kind IN ('call', 'plan_exit') AND state IN ('pending', 'approved') ORDER BY seq"
)


def expected(space: Space, revision: int | None) -> None:
    """Raise `StoreConflict` if a space was given another mode since the caller looked."""
    if revision is not None and revision != space.revision:
        raise StoreConflict(
            Problem(
                "space-changed",
                f"space `{space.id}` was changed meanwhile: it is in {space.mode} mode "
                f"(revision {space.revision}, expected {revision})",
                "look again, then decide",
            ),
            space,
        )


def unlocked(space: Space) -> None:
    """Raise `StoreConflict` if a space is locked: then nobody but an operator changes its mode."""
    if space.locked:
        raise StoreConflict(
            Problem(
                "space-locked",
                f"space `{space.id}` is locked",
                f"an operator unlocks it with `remit space unlock {space.id}`",
            ),
            space,
        )


def no_runs(space: str) -> InputError:
    """Return why a space that is remote takes no mode with stages (S000-65)."""
    message = f"space `{space}` is remote, and runs are not for such spaces"
    return InputError(Problem("run-remote", message, "give it a mode without stages"))


def takes_runs(database: Database, space: Space, mode: str) -> None:
    """Raise where a space cannot be given a mode with stages: it is remote, or a run is open."""
    if space.remote:
        raise no_runs(space.id)
    there = open_run(database, space.id)
    if there is not None and there.mode.workflow.name != mode:
        message = f"space `{space.id}` has an open run of {there.mode.workflow.name} mode"
        hint = f"stop it first: `remit run stop {there.id}`"
        raise StoreConflict(Problem("run-open", message, hint), there)


def flip(
    writer: Writer,
    database: Database,
    space: Space,
    mode: str,
    *,
    by: str,
    why: str,
    approval: str | None = None,
    conversation: str | None = None,
    answer: Answer = Answer.COMMITTED,
) -> None:
    """Record another mode, and that what was asked for in the old one has ended.

    ``conversation`` is the one whose own approved exit or plan it is, if it is one.
    """
    writer.record(
        "mode.set",
        {
            "mode": mode,
            "previous": space.mode,
            "why": why,
            "answer": answer.value,
            "revision": space.revision + 1,
            "approval": approval,
        },
        actor=by,
        space=space.id,
        conversation=conversation,
    )
    switched(writer, database, space.id, mode)
    for id, asked_in, expires_at in database.rows(_BOUND, (space.id,)):
        # One whose time was over is expired already, whether or not that was recorded by now.
        over = expires_at is not None and expires_at <= writer.at
        writer.record(
            "approval.expired" if over else "approval.superseded",
            {"approval": id}
            if over
            else {"approval": id, "why": f"the space left {space.mode} mode"},
            actor=SYSTEM,
            space=space.id,
            conversation=asked_in,
        )


def turn(writer: Writer, space: Space, dial: Dial, *, by: str) -> None:
    """Record another dial; the one that a space has is no news."""
    if dial is not space.dial:
        body = {"dial": dial.value, "previous": space.dial.value}
        writer.record("dial.set", body, actor=by, space=space.id)
