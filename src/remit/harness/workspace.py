"""A workspace, for a platform's own loop: its spaces, their conversations, and what holds there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from remit.harness.conversation import Conversation
from remit.harness.engine import Engine
from remit.harness.inforce import Modes
from remit.harness.location import locate, mode_files, protected
from remit.harness.owners import gone
from remit.harness.recorder import Recorder
from remit.harness.store import Change, Space, Store, Switch
from remit.harness.store.events import is_operator
from remit.harness.store.switch import no_runs
from remit.harness.turns import Turn
from remit.policy.problems import InputError
from remit.policy.profile import Profile
from remit.policy.projection import Host
from remit.policy.vocabulary import Dial, SpaceKind
from remit.profiles.names import PULL_REQUEST_MODE, TOP_MODE

__all__ = ["OpenSpace", "Workspace"]


def _utc() -> datetime:
    return datetime.now(UTC)


class Workspace:
    """An engine and a store, and how a host sees them. Threads and processes may share one store.

    Made by `Workspace.open`; close it, or use it as a context manager.
    """

    def __init__(
        self, engine: Engine, store: Store, host: Host, clock: Callable[[], datetime] = _utc
    ) -> None:
        self.engine = engine
        self.store = store
        self.host = host
        self.clock = clock
        self.recorder = Recorder(store, clock)
        self.modes = Modes(engine, store, host)
        self.modes.set_catalog(engine.operators)
        #: The turns that are open here, by conversation: a child's are under its parent's.
        self.running: dict[str, Turn] = {}
        store.runs.home = engine.library.home
        # A turn of a process that was killed is over, whoever opens the workspace next; and its run
        # is paused.
        store.conversations.sweep(now=clock(), gone=gone)
        store.runs.restart(now=clock(), gone=gone)

    @classmethod
    def open(
        cls,
        url: str | Path | None = None,
        *,
        create: bool = False,
        config: str | None = None,
        engine: Engine | None = None,
        host: str = "library",
        offers: tuple[str, ...] = (),
        environ: Mapping[str, str] | None = None,
        clock: Callable[[], datetime] = _utc,
    ) -> Self:
        """Open a database by path or URL, with the modes and catalogues of a configuration folder.

        Folders are found as every command finds them; ``engine`` takes the place of what would be
        loaded from there. ``offers`` are native verbs that it serves in every mode besides those of
        the brief, such as ``remit:present_plan``. ``create`` makes a database that is missing.
        Raises `RemitError`.
        """
        found = locate(environ or {}, db=None if url is None else str(url), config=config)
        loaded = engine or Engine.load(
            mode_files(found.modes),
            found.catalogs,
            found.plugins,
            overlay=found.overlay,
            redact=found.redact,
        )
        store = Store.open(found.db, create=clock() if create else None)
        secret = (str(found.token_file),)
        return cls(
            loaded,
            store,
            Host(host, offers=offers, protected=protected(found), secret=secret),
            clock,
        )

    def space(self, id: str) -> OpenSpace:
        """Return a space; raise `InputError` with near misses where there is none (S003-23)."""
        self.store.spaces.get(id)
        return OpenSpace(self, id)

    def create_space(self, id: str, mode: str | None = None, *, by: str, **given: Any) -> OpenSpace:
        """Make a space in a mode, the top one unless given; see `Spaces.create` for the rest."""
        library = self.engine.library
        profile = library.default if mode is None else library.get(mode)
        if given.get("remote") and library.staged(profile.name) is not None:
            raise no_runs(id)
        self.modes.keep(profile.name, self.clock())
        self.store.spaces.create(id, profile.name, by=by, now=self.clock(), **given)
        return OpenSpace(self, id)

    def open_review(self, id: str, worktree: str, *, by: str) -> OpenSpace:
        """Make the space of a pull request that is checked out there, in its mode (S003-11).

        What agents find in it, and the verdict, are in ``store.reviews``.
        """
        return self.create_space(
            id, PULL_REQUEST_MODE, by=by, kind=SpaceKind.PULL_REQUEST, worktree=worktree
        )

    def spaces(self) -> Iterable[OpenSpace]:
        """Return every space, by id."""
        return tuple(OpenSpace(self, space.id) for space in self.store.spaces.list())

    def conversation(self, id: str) -> Conversation:
        """Return a conversation; raise `InputError` with near misses where there is none."""
        line = self.store.conversations.line(id)
        found: Conversation | None = None
        for record in reversed(line):
            found = Conversation(self, record, found)
        assert found is not None, "a line has at least the conversation itself"
        return found

    def resolve(self, space: str | None, foreign: str = "error") -> Profile:
        """Return the mode of a space: no space has the top one, an unknown id is an error.

        A caller that knows an id to be another system's says so by ``foreign="chat"``, and gets
        the top one (S003-23).
        """
        if space is None:
            return self.engine.library.default
        try:
            found = self.store.spaces.get(space)
        except InputError:
            if foreign == TOP_MODE:
                return self.engine.library.default
            raise
        return self.modes.usable(found.mode)

    def close(self) -> None:
        """Record what waits for it, and close the database."""
        try:
            self.recorder.close()
        finally:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class OpenSpace:
    """One space of an open workspace."""

    def __init__(self, workspace: Workspace, id: str) -> None:
        self.workspace = workspace
        self.id = id

    @property
    def state(self) -> Space:
        """The space as the store has it now."""
        return self.workspace.store.spaces.get(self.id)

    @property
    def mode(self) -> str:
        """The mode that it was given last; turns under way may have another still."""
        return self.state.mode

    def set(self, mode: str, *, by: str, why: str = "", expect: int | None = None) -> Switch:
        """Give it a mode; the answer says whether turns under way have still to take it.

        An unknown mode is an `InputError` that lists what there is, and so is one that an operator
        may not choose.
        """
        at, library = self.workspace, self.workspace.engine.library
        profile = library.choose(mode) if is_operator(by) else library.get(mode)
        at.modes.keep(profile.name, at.clock())
        return at.store.spaces.set_mode(
            self.id,
            profile.name,
            by=by,
            why=why,
            now=at.clock(),
            expect=expect,
            staged=library.staged(profile.name) is not None,
        )

    def set_dial(self, dial: Dial, *, by: str) -> Space:
        """Set its autonomy."""
        return self.workspace.store.spaces.set_dial(
            self.id, dial, by=by, now=self.workspace.clock()
        )

    def conversation(self, id: str) -> Conversation:
        """Return a conversation of this space, made in its mode if it is new."""
        at = self.workspace
        at.store.conversations.ensure(id, self.id, now=at.clock())
        return at.conversation(id)

    def step(self, id: str, mode: str) -> Conversation:
        """Return the conversation of a pipeline's step: its mode is pinned, under this space's."""
        at, profile = self.workspace, self.workspace.engine.library.get(mode)
        at.modes.keep(profile.name, at.clock())
        at.store.conversations.pin(id, self.id, profile.name, now=at.clock())
        return at.conversation(id)

    def history(self) -> tuple[Change, ...]:
        """Return all that it was given, oldest first: who, when and why."""
        return self.workspace.store.spaces.history(self.id)
