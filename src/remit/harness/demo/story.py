"""The story: what the demo does, in order, and what must come of each act.

Nothing is staged. The tools are those of `mcp-server-git`, the client is that of the MCP SDK, the
operator's acts are commands in processes of their own, and what changed is asked of git.
"""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import textwrap
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import anyio
from attrs import define, field

from remit.harness.demo.disks import Span, tell_changes
from remit.harness.demo.scene import DemoError, Disk, Scene, build
from remit.harness.demo.talks import SPACE, Talks
from remit.harness.demo.teller import Teller, expect
from remit.harness.demo.visitor import Result, Visitor, visiting
from remit.harness.sandbox.bubblewrap import BUBBLEWRAP
from remit.harness.store import ApprovalState, Event, Store
from remit.policy.problems import Problem
from remit.policy.profile import Profile, shown
from remit.policy.vocabulary import SpaceKind, Verdict
from remit.profiles.library import Library
from remit.profiles.names import PULL_REQUEST_MODE, TOP_MODE

__all__ = ["play", "require"]

_COMMIT, _ADD, _LOG = "git_commit", "git_add", "git_log"
_PLAN = {
    "goal": "The timetable says which boats do not run on Sundays.",
    "nodes": [
        {
            "key": "ask",
            "title": "Learn which boats run on Sundays",
            "description": "Read the history of timetable.txt; ask for what it does not say.",
            "type": "research",
        },
        {
            "key": "mark",
            "title": "Mark those that do not",
            "description": "Add `weekdays` to their lines in timetable.txt.",
            "depends_on": ["ask"],
        },
    ],
}


def require(environ: Mapping[str, str]) -> None:
    """Raise `DemoError` if a program that the demo stands on is missing."""
    missing = []
    if shutil.which("git", path=environ.get("PATH")) is None:
        missing.append(Problem("git-missing", "the demo needs git", "install git"))
    if importlib.util.find_spec("mcp_server_git") is None:
        message = "the demo needs `mcp-server-git`, the server that it stands in front of"
        hint = "`pip install 'remit[demo]'`"
        missing.append(Problem("demo-server-missing", message, hint))
    if missing:
        raise DemoError(missing)


def play(folder: Path, tell: Teller, environ: Mapping[str, str]) -> Scene:
    """Play the whole story in an empty folder and leave everything there.

    Raises `Unmet` at the first promise that is not kept, `DemoError` where it cannot be played.
    """
    # Each space bears the name of its mode, but that of the built-in harness.
    free, review = TOP_MODE, PULL_REQUEST_MODE
    plan = _delivering()
    spaces = {
        free: (free, SpaceKind.NORMAL),
        plan.name: (plan.name, SpaceKind.NORMAL),
        review: (review, SpaceKind.PULL_REQUEST),
        SPACE: (free, SpaceKind.NORMAL),
    }
    scene = build(folder, spaces, environ)
    with Store.open(scene.workspace.db) as store:
        anyio.run(_Story(scene, tell, store, free, plan, review).play)
    return scene


def _delivering() -> Profile:
    """Return the built-in mode that must deliver through a verb and is left by another."""
    profiles = (e.profile for e in Library.load().entries)
    return next(p for p in profiles if p and p.brief and p.brief.required and p.brief.exit)


@define
class _Story:
    scene: Scene
    tell: Teller
    store: Store
    free: str
    planning: Profile
    review: str
    _told: int = field(default=0, init=False)
    _began: dict[str, Disk] = field(factory=dict, init=False)

    @property
    def plan(self) -> str:
        """The space that plans, which bears the name of its mode."""
        return self.planning.name

    async def play(self) -> None:
        self._began = {space: self.scene.disk(space) for space in self.scene.spaces}
        async with visiting(self.scene) as visits:
            await self._set_out()
            free, plan, review = [await visits.of(s) for s in (self.free, self.plan, self.review)]
            await self._list(free, plan, review)
            await self._read(free, plan, review)
            await self._refuse(plan, review)
            await self._approve(free)
            await self._deliver(plan)
            left = await self._leave(plan)
            await self._switch_back(plan)
            await self._confine(plan)
        talks = Talks(
            self.scene, self.tell, self.store, self._operator, self.free, self.planning.name
        )
        await talks.play()
        await self._look_at_disks(left)

    async def _set_out(self) -> None:
        self.tell.act("A repository, its remote, and spaces that work in clones of it")
        self.tell.say(f"Everything is in {self.scene.folder}")
        for line in self.scene.commits(self.scene.remote, self.scene.base + "~2"):
            self.tell.say(f"  {line}")
        await self._operator("space", "list")
        self.tell.act("What each mode makes of each tool of mcp-server-git")
        await self._operator("matrix")

    async def _confine(self, plan: Visitor) -> None:
        """Have a shell try what the server's tools could not, where the system can hold it."""
        self.tell.act(f"The operating system holds the same for a shell in {self.plan} mode")
        found = BUBBLEWRAP.probe()
        if not found.works:
            self.tell.say(
                f"sandbox: none, for {found.why}: surface and guard hold alone here, and a shell "
                f"that is not behind remit could write; {found.hint}"
            )
            return
        self.tell.say(f"sandbox: {BUBBLEWRAP.name} {found.version}")
        before = self.scene.disk(plan.space)
        script = "{ echo 23:59 north >> timetable.txt; git commit -qam x; } 2>&1 || true"
        said = await self._operator(
            "exec", "--space", plan.space, "--backend", BUBBLEWRAP.name, "--", "sh", "-c", script
        )
        expect("Read-only file system" in said, f"the kernel refuses a shell's write: {said}")
        expect(self.scene.disk(plan.space) == before, "a shell changes nothing")

    async def _list(self, free: Visitor, plan: Visitor, review: Visitor) -> None:
        self.tell.act("A client lists the tools of each space")
        listed = {v.space: await v.tools() for v in (free, plan, review)}
        self.tell.table(
            ("space", "tools", "there is"),
            [row for space, names in listed.items() for row in _rows(space, names)],
        )
        for space, names in listed.items():
            only = (_COMMIT in names) == (space == self.free)
            expect(only, f"`{_COMMIT}` is listed in {self.free} alone, in {space} are {names}")
            expect(_LOG in names, f"`{_LOG}` is listed in {space}, there are {names}")
        verbs = {shown(pin) for pin in self.planning.brief.pins} if self.planning.brief else set()
        expect(verbs <= set(listed[self.plan]), f"{self.plan} lists its verbs {sorted(verbs)}")
        expect(not verbs & set(listed[self.free]), f"{self.free} lists none of {sorted(verbs)}")

    async def _read(self, *visitors: Visitor) -> None:
        self.tell.act("Reading is free in every mode")
        for visitor in visitors:
            result = await self._call(visitor, _LOG)
            found = "Add the evening boat" in result.text
            expect(not result.error and found, f"the history can be read in {visitor.space}")

    async def _refuse(self, *visitors: Visitor) -> None:
        self.tell.act("A commit in a read-only mode is refused, though the client never listed it")
        for visitor in visitors:
            await self._refused(visitor)

    async def _refused(self, visitor: Visitor) -> None:
        before = self.scene.disk(visitor.space)
        result = await self._call(visitor, _COMMIT, message="Slip one in")
        expect(
            result.error and "refused" in result.text and "git.commit" in result.text,
            f"a commit is refused in {visitor.space}, and the refusal says why: {result.text}",
        )
        expect(self.scene.disk(visitor.space) == before, "a refused commit changes nothing")

    async def _approve(self, free: Visitor) -> None:
        self.tell.act(f"In {self.free} mode a commit asks first, and runs once it is approved")
        await self._operator("space", "dial", free.space, "accept-edits")
        self._edit(free.space, "18:30 south")
        await self._call(free, _ADD, files=["timetable.txt"])
        asked = await self._call(free, _COMMIT, message="Add the last boat")
        expect(asked.error and "approval" in asked.data, "the commit asks for an approval")
        expect(
            not self.scene.commits(self.scene.worktree(free.space), self.scene.base),
            "nothing is committed before the approval",
        )
        id = str(asked.data["approval"])
        await self._operator("approvals", "approve", id)
        done = await self._call(free, _COMMIT, message="Add the last boat")
        expect(not done.error, f"the approved commit runs: {done.text}")
        state = self.store.approvals.get(id, now=datetime.now(UTC)).state
        expect(state is ApprovalState.USED, f"the approval is used up, got {state}")

    async def _deliver(self, plan: Visitor) -> None:
        self.tell.act(f"The {self.plan} mode delivers through its verb")
        result = await self._call(plan, "submit_plan", **_PLAN)
        expect(not result.error, f"the plan is taken: {result.text}")
        await self._operator("plans", "list")
        filed = self.scene.worktree(plan.space) / str(result.data.get("path") or "missing")
        expect(filed.is_file(), f"the plan is filed at {filed}")

    async def _leave(self, plan: Visitor) -> Disk:
        """Leave plan mode by approval, and commit; return what the disk was before it was left."""
        self.tell.act("It asks to leave, is approved, and commits in the same conversation")
        asked = await self._call(plan, "exit_plan_mode", reason="the plan is small; let me do it")
        again = await self._call(plan, "exit_plan_mode")
        expect(
            "approval" in asked.data and asked.data["approval"] == again.data.get("approval"),
            "a second request opens no second approval",
        )
        mode = self.store.spaces.get(plan.space).mode
        expect(mode == self.plan, f"until it is approved the mode stays, got {mode}")
        before = self.scene.disk(plan.space)
        await self._operator("approvals", "approve", str(asked.data["approval"]), "--dial", "auto")
        left = await self._call(plan, "exit_plan_mode")
        mode = self.store.spaces.get(plan.space).mode
        expect(mode == TOP_MODE, f"the approved exit leads to {TOP_MODE}, got {mode}")
        self.tell.say(f"  {left.text}")
        self._edit(plan.space, "Sundays: no boat before 10:00")
        await self._call(plan, _ADD, files=["timetable.txt"])
        done = await self._call(plan, _COMMIT, message="Say what runs on Sundays")
        expect(not done.error, f"after leaving, the commit runs: {done.text}")
        return before

    async def _switch_back(self, plan: Visitor) -> None:
        self.tell.act("Another process switches the space back: the very next call is refused")
        await self._operator("space", "set", plan.space, self.plan, "--why", "enough for today")
        await self._refused(plan)

    async def _look_at_disks(self, left: Disk) -> None:
        self.tell.act("What changed on disk, asked of git")
        began, now = self._began, {space: self.scene.disk(space) for space in self._began}
        spans = (
            Span(self.free, f"in {self.free} mode", began[self.free], now[self.free], 1),
            Span(self.plan, f"in {self.plan} mode", began[self.plan], left, 0),
            Span(self.plan, f"after leaving for {self.free}", left, now[self.plan], 1),
            Span(self.review, f"in {self.review} mode", began[self.review], now[self.review], 0),
        )
        tell_changes(self.scene, spans, self.tell)
        await self._operator("log", "verify")

    async def _call(self, visitor: Visitor, tool: str, **args: object) -> Result:
        """Call a tool of the space's repository, and tell each decision that the log then has."""
        if tool.startswith("git_"):
            args = {"repo_path": str(self.scene.worktree(visitor.space)), **args}
        result = await visitor.call(tool, **args)
        for event in self.store.log.read(visitor.space, self._told, kinds=("decision",)):
            self._told = event.seq
            self.tell.decision(visitor.space, event, _outcome(event, result))
        return result

    async def _operator(self, *args: str) -> str:
        said = await anyio.to_thread.run_sync(self.scene.operator, *args)
        self.tell.command(shlex.join(("remit", *args)), said)
        return said

    def _edit(self, space: str, line: str) -> None:
        """Change a file as an editor would: the git server itself writes none."""
        with (self.scene.worktree(space) / "timetable.txt").open("a") as file:
            file.write(f"{line}\n")


def _outcome(event: Event, result: Result) -> str:
    """Say what became of a call that had to ask."""
    if event.body["verdict"] != Verdict.ASK:
        return ""
    if result.error:
        return f"it did not run; approval {result.data.get('approval')} waits for the operator"
    return f"it ran: approval {event.body['approval']} is used up"


def _rows(space: str, names: list[str]) -> list[tuple[str, str, str]]:
    lines = textwrap.wrap(", ".join(names), 72, break_on_hyphens=False)
    first, *rest = [(space, str(len(names)), line) for line in lines]
    return [first, *(("", "", line) for _, _, line in rest)]
