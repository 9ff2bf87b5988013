"""The tables. ``event`` is the log; the others are indexes of it, which a rebuild reproduces.

Models are bound to no database: a store passes its own to each query, so that several can be open.
An index is named after its model's class, so class names are unique in here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import peewee
from peewee import BigIntegerField, BooleanField, IntegerField, Model, TextField

__all__ = [
    "APPLICATION_ID",
    "CHANNEL",
    "INDEXES",
    "MIGRATIONS",
    "VERSION",
    "ApprovalRow",
    "ConversationRow",
    "EventRow",
    "GateRow",
    "GrantRow",
    "ItemRow",
    "ModeRow",
    "OrchestrationActionRow",
    "OrchestrationRow",
    "PipelineRow",
    "PipelineStepRow",
    "PlanRow",
    "ProfileRow",
    "ReviewNodeRow",
    "ReviewRow",
    "RunRow",
    "SpaceRow",
    "create",
    "spelt",
    "sql",
]

#: ``Rmit``: tells a database of ours from that of another program.
APPLICATION_ID = 0x526D6974
#: Where a server tells those who listen that records were committed.
CHANNEL = "remit_event"


class EventRow(Model):
    """One record of the log. ``seq`` has no gaps; ``hash`` covers all other columns."""

    seq = IntegerField(primary_key=True)
    at = TextField()
    kind = TextField()
    space = TextField(null=True)
    conversation = TextField(null=True)
    actor = TextField()
    body = TextField()
    prev = TextField()
    hash = TextField()

    class Meta:
        table_name = "event"
        indexes = ((("space", "seq"), False), (("conversation", "seq"), False))


class SpaceRow(Model):
    """A space and the mode that it has; ``revision`` counts the modes it has had."""

    id = TextField(primary_key=True)
    mode = TextField()
    kind = TextField()
    worktree = TextField(null=True)
    dial = TextField()
    remote = BooleanField()
    revision = IntegerField()
    created = TextField()
    effects = TextField()
    overlay = TextField(null=True)
    locked = BooleanField()
    left_by = TextField(null=True)

    class Meta:
        table_name = "space"


class ConversationRow(Model):
    """A thread in a space: the mode that it took, its open turn, and what it was last told.

    ``mode`` and ``revision`` are what was in force when a boundary was last crossed; ``told`` is
    what the last request that came back said of the mode, ``telling`` what one under way says.
    ``turn`` and ``step`` count from 1; ``owner`` is the process that has the turn.
    """

    id = TextField(primary_key=True)
    seq = IntegerField(unique=True)
    space = TextField()
    parent = TextField(null=True)
    child = BooleanField()
    depth = IntegerField()
    mode = TextField()
    revision = IntegerField()
    turn = IntegerField()
    step = IntegerField()
    open = BooleanField()
    owner = TextField(null=True)
    told = TextField(null=True)
    telling = TextField(null=True)
    overlay = TextField(null=True)
    turn_overlay = TextField(null=True)
    plan = TextField(null=True)

    class Meta:
        table_name = "conversation"
        indexes = ((("space", "open"), False),)


class ProfileRow(Model):
    """The last profile that a mode was seen with, whole."""

    mode = TextField(primary_key=True)
    hash = TextField()
    profile = TextField()

    class Meta:
        table_name = "profile"


class ApprovalRow(Model):
    """Something that an operator decides; ``seq`` is the record that opened it."""

    id = TextField(primary_key=True)
    seq = IntegerField(unique=True)
    kind = TextField()
    space = TextField(index=True)
    conversation = TextField()
    requested_by = TextField()
    state = TextField(index=True)
    digest = TextField()
    revision = IntegerField()
    shown = TextField()
    expires_at = TextField(null=True)
    decided_by = TextField(null=True)
    feedback = TextField(null=True)
    opened_at = TextField()
    decided_at = TextField(null=True)
    used_at = TextField(null=True)

    class Meta:
        table_name = "approval"


# At most one is pending: the last guard of a rule that the transaction already keeps.
ApprovalRow.add_index(
    ApprovalRow.index(
        ApprovalRow.space,
        ApprovalRow.conversation,
        ApprovalRow.kind,
        ApprovalRow.digest,
        unique=True,
        where=(ApprovalRow.state == "pending"),
        name="approval_pending",
    )
)


class GrantRow(Model):
    """Calls that an operator allowed for good; ``seq`` is the record that added it."""

    id = TextField(primary_key=True)
    seq = IntegerField(unique=True)
    space = TextField()
    tool = TextField()
    tool_hash = TextField(null=True)
    mode = TextField()
    args = TextField(null=True)
    effect = TextField(null=True)
    target = TextField(null=True)
    added_by = TextField()
    added_at = TextField()
    revoked_by = TextField(null=True)
    revoked_at = TextField(null=True)

    class Meta:
        table_name = "grant"
        indexes = ((("space", "tool"), False),)


class PlanRow(Model):
    """A submitted plan; ``revision`` counts those of its conversation in its space.

    ``goal`` is also the title of one in words, which has no nodes. ``text`` is what an operator is
    shown, ``leave_to`` the mode that an approval leads to from ``mode``.
    """

    id = TextField(primary_key=True)
    seq = IntegerField(unique=True)
    space = TextField()
    conversation = TextField()
    author = TextField()
    goal = TextField()
    nodes = TextField()
    revision = IntegerField()
    state = TextField()
    path = TextField(null=True)
    digest = TextField()
    submitted_at = TextField()
    text = TextField(null=True)
    mode = TextField(null=True)
    leave_to = TextField(null=True)
    approval = TextField(null=True)

    class Meta:
        table_name = "plan"
        indexes = ((("space", "conversation", "revision"), True),)


class ModeRow(Model):
    """A staged mode as a run began with it, by its hash; never changed (S000-94)."""

    hash = TextField(primary_key=True)
    mode = TextField()
    snapshot = TextField()

    class Meta:
        table_name = "mode_snapshot"


class RunRow(Model):
    """A run of a staged mode (S000-95); ``revision`` counts its changes.

    ``elapsed`` and ``since`` are milliseconds (S000-96). ``owner`` is the process that took it
    last, ``said`` what the user is to have said when it is taken next, ``last`` what happened last.
    """

    id = TextField(primary_key=True)
    seq = IntegerField(unique=True)
    space = TextField()
    conversation = TextField()
    mode = TextField()
    hash = TextField()
    input = TextField()
    stage = TextField()
    state = TextField()
    why = TextField(null=True)
    budget = TextField()
    turns = IntegerField()
    tokens = BigIntegerField()
    rounds = IntegerField()
    failures = IntegerField()
    judging = IntegerField(null=True)
    fresh = BooleanField()
    entered = TextField()
    claim = TextField(null=True)
    settled = TextField()
    revision = IntegerField()
    elapsed = BigIntegerField()
    since = BigIntegerField(null=True)
    owner = TextField(null=True)
    said = TextField(null=True)
    report = TextField(null=True)
    approval = TextField(null=True)
    last = TextField()
    started_by = TextField()
    started_at = TextField()

    class Meta:
        table_name = "run"
        indexes = ((("space", "state"), False),)


# A space has one open run: the last guard of a rule that the transaction already keeps.
RunRow.add_index(
    RunRow.index(
        RunRow.space,
        unique=True,
        where=RunRow.state.not_in(("finished", "stopped")),
        name="run_open",
    )
)


class GateRow(Model):
    """What an exit gate gave last, by run, stage and position; the host alone says (S000-98)."""

    id = TextField(primary_key=True)
    run = TextField()
    stage = TextField()
    gate = IntegerField()
    action = TextField()
    outcome = TextField()
    evidence = TextField()
    at = TextField()

    class Meta:
        table_name = "gate_result"
        indexes = ((("run", "stage", "gate"), True),)


class ReviewNodeRow(Model):
    """A finding of a review; ``node`` is all that its author said, ``confirmed`` its peers."""

    id = TextField(primary_key=True)
    seq = IntegerField(unique=True)
    space = TextField(index=True)
    conversation = TextField(null=True)
    author = TextField()
    node = TextField()
    status = TextField()
    confirmed = TextField()
    added_at = TextField()

    class Meta:
        table_name = "review_node"


class ReviewRow(Model):
    """How the review of a space was finalised last."""

    space = TextField(primary_key=True)
    verdict = TextField()
    axes = TextField()
    by = TextField()
    at = TextField()

    class Meta:
        table_name = "review_verdict"


class OrchestrationRow(Model):
    """A proposal of how work is shared, and what became of it."""

    id = TextField(primary_key=True)
    seq = IntegerField(unique=True)
    space = TextField(index=True)
    conversation = TextField()
    author = TextField()
    proposal = TextField()
    revision = IntegerField()
    state = TextField()
    digest = TextField()
    proposed_at = TextField()
    approval = TextField(unique=True)
    decided_at = TextField(null=True)
    decided_by = TextField(null=True)
    why = TextField(null=True)

    class Meta:
        table_name = "orchestration"


class OrchestrationActionRow(Model):
    """An action of an orchestration that a platform did, and what it came to."""

    action = TextField(primary_key=True)
    orchestration = TextField(index=True)
    result = TextField()
    at = TextField()

    class Meta:
        table_name = "orchestration_action"


class ItemRow(Model):
    """Something on the embedded platform; ``key`` is that of the action that made it."""

    key = TextField(primary_key=True)
    id = TextField(unique=True)
    seq = IntegerField(unique=True)
    act = TextField()
    body = TextField()
    made_at = TextField()

    class Meta:
        table_name = "item"


class PipelineRow(Model):
    """A pipeline as it was started, how it stands, and the process that drives it."""

    id = TextField(primary_key=True)
    seq = IntegerField(unique=True)
    space = TextField(index=True)
    value = TextField()
    state = TextField()
    owner = TextField(null=True)
    started_by = TextField()
    started_at = TextField()

    class Meta:
        table_name = "pipeline"


class PipelineStepRow(Model):
    """A step that has begun, by pipeline and key; ``conversation`` is where it is worked on."""

    id = TextField(primary_key=True)
    pipeline = TextField(index=True)
    key = TextField()
    state = TextField()
    attempt = IntegerField()
    conversation = TextField()
    output = TextField()
    error = TextField()
    at = TextField()

    class Meta:
        table_name = "pipeline_step"


#: The tables that are folded from the log, in an order in which they can be filled.
INDEXES: tuple[type[Model], ...] = (
    SpaceRow,
    ConversationRow,
    ProfileRow,
    ApprovalRow,
    GrantRow,
    PlanRow,
    ModeRow,
    RunRow,
    GateRow,
    ReviewNodeRow,
    ReviewRow,
    OrchestrationRow,
    OrchestrationActionRow,
    ItemRow,
    PipelineRow,
    PipelineStepRow,
)

# The log only grows: not even a mistake in here can rewrite it unseen.
_SQLITE = (
    "CREATE TRIGGER event_update BEFORE UPDATE ON event"
    " BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END",
    "CREATE TRIGGER event_delete BEFORE DELETE ON event"
    " BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END",
)
_POSTGRES = (
    "CREATE FUNCTION event_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    " RAISE integrity_constraint_violation USING MESSAGE = 'the log is append-only'; END $$",
    "CREATE TRIGGER event_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON event"
    " EXECUTE FUNCTION event_append_only()",
    "CREATE FUNCTION event_told() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    f" PERFORM pg_notify('{CHANNEL}', ''); RETURN NULL; END $$",
    "CREATE TRIGGER event_told AFTER INSERT ON event EXECUTE FUNCTION event_told()",
    # What SQLite has: the text of one value by its path, such as `$.tool`. PostgreSQL cannot read
    # a NUL or half a surrogate pair, which models write, so every `\u` comes out as no name has it.
    "CREATE FUNCTION json_extract(body text, path text) RETURNS text LANGUAGE sql IMMUTABLE"
    r" AS $$ SELECT replace(replace(body, '\\', '!!'), '\u', '!u')::json"
    " #>> string_to_array(substr(path, 3), '.') $$",
)


def _second(db: peewee.Database) -> None:
    """Spaces have settings, an overlay and a lock, and there are grants."""
    for statement in (
        """ALTER TABLE "space" ADD COLUMN "effects" TEXT NOT NULL DEFAULT '[]'""",
        'ALTER TABLE "space" ADD COLUMN "overlay" TEXT',
        'ALTER TABLE "space" ADD COLUMN "locked" INTEGER NOT NULL DEFAULT 0',
        'CREATE TABLE "grant" ("id" TEXT NOT NULL PRIMARY KEY, "seq" INTEGER NOT NULL,'
        ' "space" TEXT NOT NULL, "tool" TEXT NOT NULL, "tool_hash" TEXT, "mode" TEXT NOT NULL,'
        ' "args" TEXT, "effect" TEXT, "target" TEXT, "added_by" TEXT NOT NULL,'
        ' "added_at" TEXT NOT NULL, "revoked_by" TEXT, "revoked_at" TEXT)',
        'CREATE UNIQUE INDEX "grantrow_seq" ON "grant" ("seq")',
        'CREATE INDEX "grantrow_space_tool" ON "grant" ("space", "tool")',
    ):
        sql(db, statement)


def _third(db: peewee.Database) -> None:
    """There are conversations, and what modes were last seen as."""
    for statement in (
        'ALTER TABLE "space" ADD COLUMN "left_by" TEXT',
        'CREATE INDEX "eventrow_conversation_seq" ON "event" ("conversation", "seq")',
        'CREATE TABLE "conversation" ("id" TEXT NOT NULL PRIMARY KEY, "seq" INTEGER NOT NULL,'
        ' "space" TEXT NOT NULL, "parent" TEXT, "child" INTEGER NOT NULL,'
        ' "depth" INTEGER NOT NULL, "mode" TEXT NOT NULL, "revision" INTEGER NOT NULL,'
        ' "turn" INTEGER NOT NULL, "step" INTEGER NOT NULL, "open" INTEGER NOT NULL,'
        ' "owner" TEXT, "told" TEXT, "telling" TEXT, "overlay" TEXT, "turn_overlay" TEXT,'
        ' "plan" TEXT)',
        'CREATE UNIQUE INDEX "conversationrow_seq" ON "conversation" ("seq")',
        'CREATE INDEX "conversationrow_space_open" ON "conversation" ("space", "open")',
        'CREATE TABLE "profile" ("mode" TEXT NOT NULL PRIMARY KEY, "hash" TEXT NOT NULL,'
        ' "profile" TEXT NOT NULL)',
    ):
        sql(db, statement)


def _fourth(db: peewee.Database) -> None:
    """Plans are decided on, by what an operator saw."""
    for column in ("text", "mode", "leave_to", "approval"):
        sql(db, f'ALTER TABLE "plan" ADD COLUMN "{column}" TEXT')


def _fifth(db: peewee.Database) -> None:
    """There are runs of staged modes."""
    for statement in (
        'CREATE TABLE "mode_snapshot" ("hash" TEXT NOT NULL PRIMARY KEY, "mode" TEXT NOT NULL,'
        ' "snapshot" TEXT NOT NULL)',
        'CREATE TABLE "run" ("id" TEXT NOT NULL PRIMARY KEY, "seq" INTEGER NOT NULL,'
        ' "space" TEXT NOT NULL, "conversation" TEXT NOT NULL, "mode" TEXT NOT NULL,'
        ' "hash" TEXT NOT NULL, "input" TEXT NOT NULL, "stage" TEXT NOT NULL,'
        ' "state" TEXT NOT NULL, "why" TEXT, "budget" TEXT NOT NULL, "turns" INTEGER NOT NULL,'
        ' "tokens" BIGINT NOT NULL, "rounds" INTEGER NOT NULL, "failures" INTEGER NOT NULL,'
        ' "judging" INTEGER, "fresh" BOOLEAN NOT NULL, "entered" TEXT NOT NULL, "claim" TEXT,'
        ' "settled" TEXT NOT NULL, "revision" INTEGER NOT NULL, "elapsed" BIGINT NOT NULL,'
        ' "since" BIGINT, "owner" TEXT, "said" TEXT, "report" TEXT, "approval" TEXT,'
        ' "last" TEXT NOT NULL, "started_by" TEXT NOT NULL, "started_at" TEXT NOT NULL)',
        'CREATE UNIQUE INDEX "runrow_seq" ON "run" ("seq")',
        'CREATE INDEX "runrow_space_state" ON "run" ("space", "state")',
        'CREATE UNIQUE INDEX "run_open" ON "run" ("space")'
        " WHERE (\"state\" NOT IN ('finished', 'stopped'))",
        'CREATE TABLE "gate_result" ("id" TEXT NOT NULL PRIMARY KEY, "run" TEXT NOT NULL,'
        ' "stage" TEXT NOT NULL, "gate" INTEGER NOT NULL, "action" TEXT NOT NULL,'
        ' "outcome" TEXT NOT NULL, "evidence" TEXT NOT NULL, "at" TEXT NOT NULL)',
        'CREATE UNIQUE INDEX "gaterow_run_stage_gate" ON "gate_result" ("run", "stage", "gate")',
    ):
        big, yes = ("BIGINT", "BOOLEAN") if _server(db) else ("INTEGER", "INTEGER")
        sql(db, statement.replace("BIGINT", big).replace("BOOLEAN", yes))


def _sixth(db: peewee.Database) -> None:
    """There are reviews: findings, and how they were weighed last."""
    for statement in (
        'CREATE TABLE "review_node" ("id" TEXT NOT NULL PRIMARY KEY, "seq" INTEGER NOT NULL,'
        ' "space" TEXT NOT NULL, "conversation" TEXT, "author" TEXT NOT NULL,'
        ' "node" TEXT NOT NULL, "status" TEXT NOT NULL, "confirmed" TEXT NOT NULL,'
        ' "added_at" TEXT NOT NULL)',
        'CREATE UNIQUE INDEX "reviewnoderow_seq" ON "review_node" ("seq")',
        'CREATE INDEX "reviewnoderow_space" ON "review_node" ("space")',
        'CREATE TABLE "review_verdict" ("space" TEXT NOT NULL PRIMARY KEY, "verdict" TEXT NOT NULL,'
        ' "axes" TEXT NOT NULL, "by" TEXT NOT NULL, "at" TEXT NOT NULL)',
    ):
        sql(db, statement)


def _seventh(db: peewee.Database) -> None:
    """There are orchestrations, how far they were carried out, and what that made."""
    for statement in (
        'CREATE TABLE "orchestration" ("id" TEXT NOT NULL PRIMARY KEY, "seq" INTEGER NOT NULL,'
        ' "space" TEXT NOT NULL, "conversation" TEXT NOT NULL, "author" TEXT NOT NULL,'
        ' "proposal" TEXT NOT NULL, "revision" INTEGER NOT NULL, "state" TEXT NOT NULL,'
        ' "digest" TEXT NOT NULL, "proposed_at" TEXT NOT NULL, "approval" TEXT NOT NULL,'
        ' "decided_at" TEXT, "decided_by" TEXT, "why" TEXT)',
        'CREATE UNIQUE INDEX "orchestrationrow_seq" ON "orchestration" ("seq")',
        'CREATE INDEX "orchestrationrow_space" ON "orchestration" ("space")',
        'CREATE UNIQUE INDEX "orchestrationrow_approval" ON "orchestration" ("approval")',
        'CREATE TABLE "orchestration_action" ("action" TEXT NOT NULL PRIMARY KEY,'
        ' "orchestration" TEXT NOT NULL, "result" TEXT NOT NULL, "at" TEXT NOT NULL)',
        'CREATE INDEX "orchestrationactionrow_orchestration"'
        ' ON "orchestration_action" ("orchestration")',
        'CREATE TABLE "item" ("key" TEXT NOT NULL PRIMARY KEY, "id" TEXT NOT NULL,'
        ' "seq" INTEGER NOT NULL, "act" TEXT NOT NULL, "body" TEXT NOT NULL,'
        ' "made_at" TEXT NOT NULL)',
        'CREATE UNIQUE INDEX "itemrow_id" ON "item" ("id")',
        'CREATE UNIQUE INDEX "itemrow_seq" ON "item" ("seq")',
    ):
        sql(db, statement)


def _eighth(db: peewee.Database) -> None:
    """There are pipelines under way."""
    for statement in (
        'CREATE TABLE "pipeline" ("id" TEXT NOT NULL PRIMARY KEY, "seq" INTEGER NOT NULL,'
        ' "space" TEXT NOT NULL, "value" TEXT NOT NULL, "state" TEXT NOT NULL, "owner" TEXT,'
        ' "started_by" TEXT NOT NULL, "started_at" TEXT NOT NULL)',
        'CREATE UNIQUE INDEX "pipelinerow_seq" ON "pipeline" ("seq")',
        'CREATE INDEX "pipelinerow_space" ON "pipeline" ("space")',
        'CREATE TABLE "pipeline_step" ("id" TEXT NOT NULL PRIMARY KEY, "pipeline" TEXT NOT NULL,'
        ' "key" TEXT NOT NULL, "state" TEXT NOT NULL, "attempt" INTEGER NOT NULL,'
        ' "conversation" TEXT NOT NULL, "output" TEXT NOT NULL, "error" TEXT NOT NULL,'
        ' "at" TEXT NOT NULL)',
        'CREATE INDEX "pipelinesteprow_pipeline" ON "pipeline_step" ("pipeline")',
    ):
        sql(db, statement)


#: What takes a database from version 1 to 2, from 2 to 3, and so on, each within one transaction.
#: A fresh one is made from the models as they are, so a step here and a change there go together.
MIGRATIONS: tuple[Callable[[peewee.Database], None], ...] = (
    _second, _third, _fourth, _fifth, _sixth, _seventh, _eighth,
)  # fmt: skip

#: The version of the schema that this remit reads and writes.
VERSION = 1 + len(MIGRATIONS)


def create(db: peewee.Database, tables: tuple[type[Model], ...] = (EventRow, *INDEXES)) -> None:
    """Make tables and their indexes in an empty database; the log is made append-only."""
    for table in tables:
        peewee.SchemaManager(table, db).create_all(safe=False)
    if EventRow in tables:
        for statement in _POSTGRES if _server(db) else _SQLITE:
            sql(db, statement)


def sql(db: peewee.Database, statement: str, params: Sequence[object] = ()) -> Any:
    """Run a statement as it is written, which costs a twentieth of a built query."""
    run: Any = db.execute_sql
    return run(spelt(statement) if _server(db) else statement, params)


@lru_cache(maxsize=256)
def spelt(statement: str) -> str:
    """Return a statement as PostgreSQL's driver wants it: ours never write a ``?`` in a text."""
    return statement.replace("%", "%%").replace("?", "%s")


def _server(db: peewee.Database) -> bool:
    return not isinstance(db, peewee.SqliteDatabase)
