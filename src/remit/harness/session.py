"""A session: one conversation in one space on one host, and the one way that its calls take.

Every call, pinned or not, goes through `Session.call`: judged against the frame, recorded, and
answered or handed on. The decision is in the log before anything runs.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from attrs import frozen

from remit.harness.engine import Engine
from remit.harness.facts import gather, start
from remit.harness.natives import NATIVES, Answer, Desk, NativeTool, left_since
from remit.harness.store import ApprovalKind, ApprovalState, Space, Store, StoreConflict
from remit.harness.touched import seen
from remit.policy.digest import call_digest
from remit.policy.escape import escape
from remit.policy.projection import Host, Judgement, Projection
from remit.policy.tools import Call, CallEffects, Catalog, Facts, Tool
from remit.policy.vocabulary import Layer, Verdict, in_order

__all__ = ["Answer", "Frame", "Run", "Session"]


@frozen
class Frame:
    """What holds for one step: the space as it was read, and the projection of its mode."""

    space: Space
    projection: Projection


@frozen
class Run:
    """Forward the call, once. ``approval`` is the id of the approval that it used up, if any."""

    tool: Tool
    approval: str | None = None


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
    ) -> None:
        self.engine = engine
        self.store = store
        self.space = space
        self.conversation = conversation
        self.host = host
        self.clock = clock
        self.catalog = engine.with_natives(Catalog())
        self._lock = threading.RLock()

    def set_catalog(self, catalog: Catalog) -> None:
        """Say which tools there are besides the native verbs."""
        self.catalog = self.engine.with_natives(catalog)

    def version(self) -> int:
        """Return a number that changes when any process changed the workspace."""
        return self.store.data_version()

    def frame(self) -> Frame:
        """Read the space and project its mode as it is now; raises if there is no such space."""
        with self._lock:
            space = self.store.spaces.get(self.space)
            profile = self.engine.in_force(space.mode)
            return Frame(space, self.engine.project(profile, self.catalog, self.host))

    def native_tools(self, frame: Frame) -> tuple[NativeTool, ...]:
        """Return the native verbs of a frame as the model sees them."""
        profile = frame.projection.compiled.profile
        return tuple(
            NATIVES[t.name].tool(t.name, profile)
            for t in frame.projection.tools
            if t.native and t.name in NATIVES
        )

    def call(self, frame: Frame, call: Call, tool_hash: str = "") -> Run | Answer:
        """Judge one call against a frame, record the decision, and answer it or hand it on.

        ``tool_hash`` stands for the tool as the model saw it; an approval is bound to it.
        """
        with self._lock:
            now = self.clock()
            judged = frame.projection.judge(
                call, frame.space.dial, self._facts(frame, call), self._seen(frame, call)
            )
            native = judged.tool is not None and judged.tool.native
            if judged.tool is not None and native and judged.decision.layer is Layer.PIN:
                return self._serve(frame, judged, judged.tool, now)
            match judged.decision.verdict:
                case Verdict.DENY:
                    self._record(frame, judged, now)
                    return self._refused(frame, judged)
                case Verdict.ASK:
                    return self._ask(frame, judged, tool_hash, now)
            self._record(frame, judged, now)
            assert judged.tool is not None, "only a known tool is allowed"
            return Run(judged.tool)

    @property
    def _agent(self) -> str:
        return f"agent:{self.conversation}"

    def _facts(self, frame: Frame, call: Call) -> Facts:
        tool = frame.projection.compiled.catalog.get(call.tool)
        return gather(call, tool, start(frame.space.worktree, str(Path.cwd()), self.host))

    def _seen(self, frame: Frame, call: Call) -> CallEffects | None:
        tool = frame.projection.compiled.catalog.get(call.tool)
        bases = [p for p in (frame.space.worktree, str(Path.cwd())) if p]
        return seen(call, tool, self.host, self.engine.admitted, bases)

    def _serve(self, frame: Frame, judged: Judgement, tool: Tool, now: datetime) -> Answer:
        desk = Desk(self.store, frame, self.conversation, now)
        self._record(frame, judged, now)
        try:
            return NATIVES[tool.name].answer(desk, tool.name, judged.call.args)
        except StoreConflict as error:
            return left_since(desk, error)

    def _ask(self, frame: Frame, judged: Judgement, tool_hash: str, now: datetime) -> Run | Answer:
        assert judged.tool is not None, "only a known tool is asked for"
        space, approvals = frame.space, self.store.approvals
        bound = call_digest(
            source=judged.tool.source,
            tool=judged.tool.name,
            tool_hash=tool_hash,
            args=judged.call.args,
            cwd=str(Path.cwd()),
            effects=judged.found.effects,
            revision=space.revision,
        )
        kind, conversation = ApprovalKind.CALL, self.conversation
        found = approvals.find(space.id, conversation, kind, now=now, digest=bound)
        if found is not None and found.state is ApprovalState.APPROVED:
            try:
                approvals.use(found.id, now=now)
            except StoreConflict:
                return Answer(f"approval `{found.id}` was used or withdrawn meanwhile", True)
            self._record(frame, judged, now, approval=found.id)
            return Run(judged.tool, found.id)
        self._record(frame, judged, now, approval=found.id if found else None)
        text = frame.projection.text(judged)
        if found is not None and found.state is ApprovalState.REJECTED:
            why = f": {found.feedback}" if found.feedback else ""
            return Answer(f"the operator rejected `{judged.tool.name}` as called{why}", True)
        found = approvals.open(
            kind,
            space=space.id,
            conversation=conversation,
            requested_by=self._agent,
            digest=bound,
            shown=_shown(judged),
            now=now,
        )
        hint = f" {text.hint}." if text.hint else ""
        return Answer(
            f"{text.reason}. It did not run: approval `{found.id}` is pending.{hint} The operator "
            f"decides with `remit approvals approve {found.id}`; then call again in the same way.",
            True,
            {"approval": found.id, "kind": "call", "state": "pending"},
        )

    def _refused(self, frame: Frame, judged: Judgement) -> Answer:
        text = frame.projection.text(judged)
        hint = text.hint[:1].upper() + text.hint[1:]
        return Answer(f"{text.reason}. {hint}".rstrip(" ."), True)

    def _record(
        self, frame: Frame, judged: Judgement, now: datetime, approval: str | None = None
    ) -> None:
        decision = judged.decision
        self.store.log.record(
            "decision",
            {
                "mode": frame.space.mode,
                "revision": frame.space.revision,
                "dial": frame.space.dial.value,
                "tool": judged.tool.key if judged.tool else escape(judged.call.tool),
                "verdict": decision.verdict.value,
                "layer": decision.layer.value,
                "cause": decision.cause.value,
                "effects": list(in_order(judged.found.effects)),
                "opaque": judged.found.opaque,
                "reason": escape(frame.projection.text(judged).reason),
                "approval": approval,
                "projection": frame.projection.hash,
            },
            space=frame.space.id,
            conversation=self.conversation,
            actor=self._agent,
            now=now,
        )
        self.engine.observe(
            "decision_made", space=frame.space.id, mode=frame.space.mode, judgement=judged
        )


def _shown(judged: Judgement) -> str:
    """All that is approved, so that the operator decides on what will run and nothing else."""
    assert judged.tool is not None, "only a known tool is asked for"
    effects = ", ".join(in_order(judged.found.effects)) or "undeclared"
    args = json.dumps(judged.call.args, ensure_ascii=False, indent=2, sort_keys=True)
    return escape(f"{judged.tool.key} ({effects})\n{args}", lines=True)
