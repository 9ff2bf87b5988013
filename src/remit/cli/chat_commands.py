"""What a person says to remit in a chat, and never to the model: lines that begin with a slash."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from attrs import define

from remit.cli.options import Place
from remit.harness.loop.loop import Loop
from remit.harness.store import OPERATOR, Approval, ApprovalKind, ApprovalState
from remit.policy.problems import InputError, Problem, RemitError, near
from remit.policy.vocabulary import Dial, Verdict

__all__ = ["Commands"]

#: Records that are looked through for the last refusal.
_RECENT = 2_000


@define
class Commands:
    """The commands of one chat; each returns the lines to show."""

    place: Place
    loop: Loop

    def run(self, line: str) -> list[str]:
        """Do what a line says; whatever is wrong with it is told in the lines."""
        name, _, words = line[1:].strip().partition(" ")
        try:
            act = _COMMANDS.get(name)
            if act is None:
                known = ", ".join(f"/{c}" for c in _COMMANDS)
                hint = near(name, _COMMANDS) or f"there are {known}, and /quit"
                raise InputError(Problem("usage", f"no command `/{name}`", hint))
            return list(act(self, words.strip()))
        except RemitError as error:
            return [text for p in error.problems for text in str(p).splitlines()]

    def mode(self, words: str) -> Iterator[str]:
        """Print the mode, or switch."""
        talk = self.loop.conversation
        if words:
            self.place.operator()
            switch = talk.switch(words, by=OPERATOR, why="/mode")
            yield f"{switch.space.mode}: {switch.answer}"
            return
        space = talk.workspace.space(talk.space)
        yield f"{talk.mode} mode" + (
            f"; the space has {space.mode}" if space.mode != talk.mode else ""
        )
        yield "there are " + ", ".join(
            e.name for e in self.place.engine.library.entries if e.selectable
        )

    def dial(self, words: str) -> Iterator[str]:
        """Print the dial, or set it."""
        talk = self.loop.conversation
        space = talk.workspace.space(talk.space)
        if words:
            if words not in list(Dial):
                hint = near(words, list(Dial)) or f"it is one of {', '.join(Dial)}"
                raise InputError(Problem("unknown-value", f"no dial `{words}`", hint))
            self.place.operator()
            yield f"dial {space.set_dial(Dial(words), by=OPERATOR).dial}"
        else:
            yield f"dial {space.state.dial}"

    def approve(self, words: str) -> Iterator[str]:
        """Approve what waits; a dial is set with it, other words are told or are the answer."""
        yield from self._decide(True, words)

    def reject(self, words: str) -> Iterator[str]:
        """Reject what waits; the words are why."""
        yield from self._decide(False, words)

    def plan(self, words: str) -> Iterator[str]:
        """Show the last plan."""
        talk = self.loop.conversation
        record = talk.workspace.store.plans.newest(talk.space, talk.id)
        if record is None:
            yield "there is no plan"
            return
        yield from record.text.splitlines()
        yield f"{record.id}, revision {record.revision}, {record.state}" + (
            f", filed as {record.path}" if record.path else ""
        )

    def why(self, words: str) -> Iterator[str]:
        """Explain the last refusal."""
        talk, log = self.loop.conversation, self.loop.conversation.workspace.store.log
        recent = log.read(talk.space, max(0, log.head() - _RECENT), kinds=("decision",))
        own = (e.body for e in reversed(recent) if (e.conversation or "").startswith(talk.id))
        said = next((b for b in own if b["verdict"] == Verdict.DENY.value), None)
        if said is None:
            yield "nothing was refused here"
            return
        yield f"{said['reason']}"
        yield f"decided by the {said['layer']} ({said['cause']}), under the dial {said['dial']}"
        effects = ", ".join(said["effects"]) or "none"
        yield f"effects: {effects}" + ("; not all of it could be seen" if said["opaque"] else "")
        tool = str(said["tool"]).rpartition(":")[2]
        yield f"`remit explain {said['mode']} {tool} --catalog harness` shows the line behind it"

    def tools(self, words: str) -> Iterator[str]:
        """List the tools that the model has, and those that it has not."""
        talk = self.loop.conversation
        at = talk.workspace
        tools = at.engine.with_natives(self.loop.belt.catalog)
        space = at.store.spaces.get(talk.space)
        made = at.engine.project(talk.profile, tools, at.host, space.effects)
        yield "there: " + ", ".join(t.name for t in made.tools)
        hidden = [t.name for t, _ in made.hidden if not t.native]
        if hidden:
            yield "not in this mode: " + ", ".join(hidden)

    def help(self, words: str) -> Iterator[str]:
        """List the commands."""
        yield from (
            f"/{name}  {(act.__doc__ or '').rstrip('.')}" for name, act in _COMMANDS.items()
        )
        yield "Ctrl-C interrupts the turn, Ctrl-D leaves"

    def _decide(self, approve: bool, words: str) -> Iterator[str]:
        self.place.operator()
        at = self.loop.conversation.workspace
        waiting = self.pending
        if not waiting:
            yield "nothing waits for you"
            return
        approval = waiting[0]
        dial = Dial(words) if words in list(Dial) and approve else None
        asked = approval.kind is ApprovalKind.QUESTION
        said = words if words and (asked or dial is None) else None
        decided = at.store.approvals.decide(
            approval.id, approve, by=OPERATOR, now=at.clock(), feedback=said,
            dial=None if asked else dial,
        )  # fmt: skip
        yield f"{decided.kind} `{decided.id}` is {decided.state}"
        if len(waiting) > 1:
            yield f"{len(waiting) - 1} more wait"

    @property
    def pending(self) -> list[Approval]:
        """What waits for the operator in this conversation and its children, oldest first."""
        talk = self.loop.conversation
        at = talk.workspace
        found = at.store.approvals.list(
            now=at.clock(), space=talk.space, state=ApprovalState.PENDING
        )
        return [a for a in reversed(found) if a.conversation.startswith(talk.id)]


_COMMANDS: Mapping[str, Callable[[Commands, str], Iterator[str]]] = MappingProxyType(
    {
        "mode": Commands.mode,
        "dial": Commands.dial,
        "approve": Commands.approve,
        "reject": Commands.reject,
        "plan": Commands.plan,
        "why": Commands.why,
        "tools": Commands.tools,
        "help": Commands.help,
    }
)
