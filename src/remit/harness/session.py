"""A session: one conversation in one space on one host, and the one way that its calls take.

Every call, pinned or not, goes through `Session.call`: judged by its frame and by what is in force
now, recorded, and answered or handed on. A switch or a lock is before it, and then it bites, or
after it: the record says after which other one it was judged. What asks, uses something up or is
served here is in the log before anything runs, in one transaction with that; of the rest a host
with turns may have the record made a moment later.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attrs import frozen

from remit.harness.engine import Engine
from remit.harness.facts import gather, start
from remit.harness.frames import Frame, Judged, judge
from remit.harness.inforce import InForce, Modes, in_force
from remit.harness.natives import NATIVES, Answer, Desk, NativeTool, left_since, undone
from remit.harness.recorder import Recorder
from remit.harness.store import (
    Approval,
    ApprovalKind,
    ApprovalState,
    GrantRecord,
    Store,
    StoreConflict,
)
from remit.harness.store.log import Writer
from remit.harness.store.names import check_conversation
from remit.harness.touched import seen
from remit.policy.digest import call_digest
from remit.policy.escape import escape
from remit.policy.grants import covering
from remit.policy.profile import ASK_USER, MODE
from remit.policy.projection import Host, Judgement
from remit.policy.redact import redact
from remit.policy.tools import Call, CallEffects, Catalog, Facts, Tool
from remit.policy.vocabulary import Layer, Verdict, in_order

__all__ = ["Answer", "Frame", "Run", "Session"]

_log = logging.getLogger("remit")


@frozen
class Run:
    """Forward the call, once.

    ``approval`` is the id of the approval that it used up, if any; ``grants`` are those of the
    grants by which it was not asked for.
    """

    tool: Tool
    approval: str | None = None
    grants: tuple[str, ...] = ()


@frozen
class _Leave:
    """Who said yes to a call that asks, or what it waits for.

    Where nobody was asked yet, ``digest`` is what an approval of the call would be bound to.
    """

    approval: Approval | None = None
    grants: tuple[GrantRecord, ...] = ()
    digest: str = ""

    @property
    def given(self) -> bool:
        """May the call run."""
        # As it was found: what was approved is used up by then.
        found = self.approval is not None and self.approval.state is ApprovalState.APPROVED
        return found or bool(self.grants)


class _Moved(Exception):
    """Something else is in force than what a call was judged by."""

    def __init__(self, force: InForce) -> None:
        super().__init__()
        self.force = force


class Session:
    """Frames and judges the calls of one conversation. Blocking; one thread at a time gets in."""

    def __init__(
        self,
        engine: Engine,
        store: Store,
        space: str,
        conversation: str,
        host: Host,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        read: Callable[[], InForce] | None = None,
        *,
        cwd: str | None = None,
        scratch: str | None = None,
        actor: str | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        """``cwd`` is where relative paths of calls start, the process's own folder unless said.

        Whoever runs the calls must start there too. ``scratch`` is a folder of the space's own, in
        which writing counts for nothing. With a ``recorder`` decisions on which nothing else
        depends are recorded beside the path of the call.
        """
        check_conversation(conversation)
        self.store = store
        self.space = space
        self.conversation = conversation
        self.host = host
        self.clock = clock
        self.modes = Modes(engine, store, host)
        self._agent = actor or f"agent:{conversation}"
        self._cwd = cwd
        self._scratch = scratch
        self._recorder = recorder
        self._read = read or (lambda: in_force(store, space))
        self._lock = threading.RLock()
        self._last: Frame | None = None

    @property
    def engine(self) -> Engine:
        """What profiles, catalogues and plugins come from."""
        return self.modes.engine

    @property
    def cwd(self) -> str:
        """Where relative paths of calls start."""
        return self._cwd or str(Path.cwd())

    @property
    def catalog(self) -> Catalog:
        """The tools that there are, native verbs included."""
        return self.modes.catalog

    def set_catalog(self, catalog: Catalog) -> None:
        """Say which tools there are besides the native verbs."""
        self.modes.set_catalog(catalog)

    def version(self) -> int:
        """Return a number that changes when any process changed the workspace."""
        return self.store.data_version()

    def frame(self) -> Frame:
        """Read the space and project its mode as it is now; raises if there is no such space."""
        with self._lock:
            # In this order: a grant that comes between the two is none of this step's.
            seq = self.store.log.head()
            frame = self.framed(self._read(), seq)
            self.seen(frame)
            return frame

    def seen(self, frame: Frame) -> None:
        """Keep what a mode is, for when its file is gone, and tell plugins of switches."""
        self.modes.keep(frame.mode, self.clock())
        self._tell_switches(frame)

    def _tell_switches(self, frame: Frame) -> None:
        """Let plugins hear of the switches since the last frame, whichever process made them."""
        last, self._last = self._last, frame
        if last is None or last.space.revision == frame.space.revision:
            return
        for event in self.store.log.read(self.space, after=last.seq, kinds=("mode.set",)):
            mode, by = event.body["mode"], event.actor
            self.engine.observe("mode_switched", space=self.space, mode=mode, by=by)

    def framed(self, force: InForce, seq: int, floors: tuple[InForce, ...] = ()) -> Frame:
        """Project what rows come to, no wider than what they came to when a turn began."""
        profile = self.modes.profile(force)
        for floor in floors:
            sides = self.modes.profile(floor).sides
            profile = profile.under(*(s for s in sides if s not in profile.sides))
        projection = self.engine.project(profile, self.catalog, self.host, force.space.effects)
        return Frame(force, projection, seq, floors)

    def native_tools(self, frame: Frame) -> tuple[NativeTool, ...]:
        """Return the native verbs of a frame as the model sees them."""
        profile = frame.profile
        return tuple(
            NATIVES[t.name].tool(t.name, profile)
            for t in frame.projection.tools
            if t.native and t.name in NATIVES
        )

    def look(self, frame: Frame, call: Call) -> Judgement:
        """Judge a call by a frame alone, for a list of what there is; nothing is recorded."""
        with self._lock:
            judged = judge(
                self.engine,
                frame,
                frame,
                lambda projection, dial: projection.judge(
                    call, dial, self._facts(frame, call), self._seen(frame, call)
                ),
            )
            return judged.judgement

    def call(self, frame: Frame, call: Call, tool_hash: str = "") -> Run | Answer:
        """Judge one call of a step, record the decision, and answer it or hand it on.

        The call is judged by the frame and by what is in force now, whichever is stricter.
        ``tool_hash`` stands for the tool as the model saw it; approvals and grants are bound to it.
        """
        with self._lock:
            # What held for the step most likely holds still; the record of it proves that.
            force = frame.force
            while True:
                now = self.framed(force, frame.seq)
                judged = judge(
                    self.engine,
                    frame,
                    now,
                    lambda projection, dial: projection.judge(
                        call, dial, self._facts(frame, call), self._seen(frame, call)
                    ),
                )
                try:
                    return self._step(frame, now, judged, tool_hash)
                except _Moved as moved:
                    force = moved.force

    def _step(self, frame: Frame, now: Frame, judged: Judged, tool_hash: str) -> Run | Answer:
        decision, tool, at = judged.judgement.decision, judged.judgement.tool, self.clock()
        asked, leave = decision.verdict is Verdict.ASK, _Leave()
        served = tool is not None and tool.native and decision.layer is Layer.PIN
        if self._recorder is not None and not asked and not served:
            # Read before what is in force, so whatever came up to it was seen.
            seq = self.store.log.head()
            self._unmoved(now)
            self._recorder.put(**self._told(now, judged, tool_hash, leave, seq))
        else:
            if self._recorder is not None:
                self._recorder.flush()
            with self.store.log.writing(at) as writer:
                self._unmoved(now)
                if asked:
                    leave = self._leave(writer, frame, now, judged, tool_hash, at)
                told = self._told(now, judged, tool_hash, leave, writer.head.seq)
                writer.record("decision", **told)
                if leave.digest:
                    leave = _Leave(self._ask(writer, judged.judgement, leave.digest, at))
        self.engine.observe(
            "decision_made",
            space=now.space.id,
            mode=judged.projection.mode,
            judgement=judged.judgement,
        )
        if decision.verdict is Verdict.DENY:
            return self._refused(judged)
        assert tool is not None, "only a known tool is not refused"
        if served:
            return self._serve(frame, now, judged.judgement, tool, at)
        if asked and not leave.given:
            return self._waiting(judged, tool, leave.approval)
        used = leave.approval.id if leave.approval else None
        return Run(tool, used, tuple(g.id for g in leave.grants))

    def _unmoved(self, now: Frame) -> None:
        if (force := self._read()) != now.force:
            raise _Moved(force)

    def _facts(self, frame: Frame, call: Call) -> Facts | None:
        """Look at what a call names, where somebody asks."""
        tool = frame.projection.compiled.catalog.get(call.tool)
        if (tool is None or tool.classify is None) and not self.engine.registry.guards:
            return None
        facts = start(frame.space.worktree, self.cwd, self.host, self._scratch)
        return gather(call, tool, facts, self.engine.registry.programs)

    def _seen(self, frame: Frame, call: Call) -> CallEffects | None:
        tool = frame.projection.compiled.catalog.get(call.tool)
        bases = dict.fromkeys(p for p in (frame.space.worktree, self.cwd) if p)
        return seen(call, tool, self.host, self.engine.admitted, bases)

    def _serve(
        self, frame: Frame, now: Frame, judged: Judgement, tool: Tool, at: datetime
    ) -> Answer:
        anywhere = tool.key in (MODE, ASK_USER)
        desk = Desk(self.store, now if anywhere else frame, self.conversation, at)
        if not anywhere and now.space.revision != frame.space.revision:
            return left_since(desk, tool.name, judged.call.args)
        try:
            return NATIVES[tool.name].answer(desk, tool.name, judged.call.args)
        except StoreConflict as error:
            return undone(desk, error)

    def _leave(
        self,
        writer: Writer,
        frame: Frame,
        now: Frame,
        judged: Judged,
        tool_hash: str,
        at: datetime,
    ) -> _Leave:
        """Find who said yes to a call that asks, and use it up; within a transaction."""
        judgement, space, approvals = judged.judgement, now.space, self.store.approvals
        tool, found = judgement.tool, judgement.found
        assert tool is not None, "only a known tool is asked for"
        if grants := self._granted(frame, now, judged, tool_hash):
            for grant in grants:
                self.store.grants.bind(writer, grant, tool_hash)
            return _Leave(grants=grants)
        bound = call_digest(
            source=tool.source,
            tool=tool.name,
            tool_hash=tool_hash,
            args=judgement.call.args,
            cwd=self.cwd,
            effects=found.effects,
            revision=space.revision,
        )
        kind, conversation = ApprovalKind.CALL, self.conversation
        there = approvals.find(space.id, conversation, kind, now=at, digest=bound)
        if there is not None:
            there = approvals.settle(writer, there.id, at)
        if there is not None and there.state is ApprovalState.APPROVED:
            approvals.consume(writer, there)
            return _Leave(there)
        if there is None or not (there.state.open or there.state is ApprovalState.REJECTED):
            return _Leave(digest=bound)
        return _Leave(there)

    def _ask(self, writer: Writer, judgement: Judgement, bound: str, at: datetime) -> Approval:
        return self.store.approvals.ask(
            writer,
            ApprovalKind.CALL,
            space=self.space,
            conversation=self.conversation,
            requested_by=self._agent,
            digest=bound,
            shown=_shown(judgement, self.cwd),
            now=at,
        )

    def _granted(
        self, frame: Frame, now: Frame, judged: Judged, tool_hash: str
    ) -> tuple[GrantRecord, ...]:
        """Return the grants by which a call runs: of this mode, this tool, and before the step."""
        judgement, space = judged.judgement, now.space
        if judgement.tool is None or frame.mode != now.mode:
            return ()
        standing = {
            g.grant: g
            for g in self.store.grants.standing(space.id, judgement.tool.key, now.mode)
            if g.seq <= frame.seq and g.tool_hash in (None, tool_hash)
        }
        shape = judged.projection.compiled.catalog.shape(judgement.tool)
        args, found = judgement.call.args, judgement.found
        return tuple(standing[g] for g in covering(standing, shape, args, found, judged.asked))

    def _waiting(self, judged: Judged, tool: Tool, approval: Approval | None) -> Answer:
        assert approval is not None, "what is not granted was asked for"
        if approval.state is ApprovalState.REJECTED:
            why = f": {approval.feedback}" if approval.feedback else ""
            return Answer(f"the operator rejected `{tool.name}` as called{why}", True)
        text = judged.projection.text(judged.judgement)
        hint = f" {text.hint}." if text.hint else ""
        return Answer(
            f"{text.reason}. It did not run: approval `{approval.id}` is pending.{hint} The "
            f"operator decides with `remit approvals approve {approval.id}`; then call again in "
            "the same way.",
            True,
            {"approval": approval.id, "kind": "call", "state": "pending"},
        )

    def _refused(self, judged: Judged) -> Answer:
        text = judged.projection.text(judged.judgement)
        hint = text.hint[:1].upper() + text.hint[1:]
        return Answer(f"{text.reason}. {hint}".rstrip(" ."), True)

    def _told(
        self, now: Frame, judged: Judged, tool_hash: str, leave: _Leave, seq: int
    ) -> dict[str, Any]:
        """Return the record of a decision that was made after record ``seq``."""
        judgement, space = judged.judgement, now.space
        decision, tool = judgement.decision, judgement.tool
        return {
            "body": {
                "as_of": seq,
                "mode": now.mode,
                "revision": space.revision,
                "dial": space.dial.value,
                "tool": tool.key if tool else escape(judgement.call.tool),
                "tool_hash": tool_hash,
                "verdict": decision.verdict.value,
                "layer": decision.layer.value,
                "cause": decision.cause.value,
                "effects": list(in_order(judgement.found.effects)),
                "opaque": judgement.found.opaque,
                "reason": escape(judged.projection.text(judgement).reason),
                "approval": leave.approval.id if leave.approval else None,
                "grants": [g.id for g in leave.grants],
                "forwarded": _forwarded(judgement, leave),
                "args": redact(judgement.call.args, self.engine.redact),
                "projection": judged.projection.hash,
            },
            "space": space.id,
            "conversation": self.conversation,
            "actor": self._agent,
        }


def _shown(judged: Judgement, cwd: str) -> str:
    """All that is approved, so that the operator decides on what will run and nothing else."""
    assert judged.tool is not None, "only a known tool is asked for"
    effects = ", ".join(in_order(judged.found.effects)) or "undeclared"
    args = json.dumps(judged.call.args, ensure_ascii=False, indent=2, sort_keys=True)
    return escape(f"{judged.tool.key} ({effects})\nin {cwd}\n{args}", lines=True)


def _forwarded(judged: Judgement, leave: _Leave) -> bool:
    """Say whether a call is handed to its tool; what remit serves itself never is."""
    decision, tool = judged.decision, judged.tool
    if decision.verdict is Verdict.ALLOW:
        return not (tool is not None and tool.native and decision.layer is Layer.PIN)
    return leave.given
