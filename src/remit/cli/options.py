"""Options that commands share, and what they lead to: workspace, engine, store, operator."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from attrs import define, evolve, field

from remit.cli.output import show_problems
from remit.policy.escape import quoted
from remit.policy.problems import InputError, Problem, RemitError, Severity
from remit.policy.projection import Host
from remit.policy.vocabulary import Dial

if TYPE_CHECKING:
    from remit.harness.engine import Engine
    from remit.harness.location import Location
    from remit.harness.store import Space, Store
    from remit.policy.profile import Profile
    from remit.policy.projection import Projection
    from remit.policy.tools import Call, CallEffects, Catalog, Facts, Tool

#: What the engine calls the side that is a space's overlay.
OVERLAY = "overlay"

__all__ = [
    "DIALS",
    "Place",
    "as_json",
    "dial",
    "in_place",
    "in_workspace",
    "now",
    "with_catalogs",
    "with_narrowing",
]

Command = TypeVar("Command", bound=Callable[..., Any])

#: By value: click would name the members of an enumeration as code does.
DIALS = click.Choice([d.value for d in Dial])

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
with_catalogs = click.option(
    "--catalog",
    "catalogs",
    multiple=True,
    metavar="CATALOG",
    help="The tools: a shipped name, a catalogue file, or tools/list JSON. Repeatable.",
)


def dial(*names: str, help: str, default: str | None = None) -> Callable[[Command], Command]:
    """An option that takes a dial."""
    return click.option(*names, type=DIALS, default=default, help=help)


@define
class Place:
    """Where a command works; each part is found or opened when it is first asked for."""

    db: str | None = None
    config: str | None = None
    environ: Mapping[str, str] = field(factory=lambda: os.environ)

    @cached_property
    def workspace(self) -> Location:
        """The workspace, whether it was made or not; raises `InputError`."""
        from remit.harness.location import locate

        if self.config is not None and not os.path.isdir(self.config):
            # Taken for an empty one, it would leave out modes and plugins without a word.
            raise InputError(
                Problem(
                    "config-missing",
                    f"there is no folder {quoted(self.config, 200)}",
                    "`--config` names the folder that holds remit.toml and modes/",
                )
            )
        return locate(self.environ, db=self.db, config=self.config)

    @cached_property
    def engine(self) -> Engine:
        """Profiles, catalogues and plugins: the built-in ones and this operator's."""
        from remit.harness.engine import Engine

        found = self.workspace
        try:
            return Engine.load(
                self.mode_files,
                found.catalogs,
                found.plugins,
                overlay=found.overlay,
                redact=found.redact,
            )
        except RemitError as error:
            # Everything that is loaded here was named by one file, so that is where to look.
            named = f"`{found.file}` names it"
            raise type(error)(
                evolve(p, hint=f"{p.hint}; {named}" if p.hint else named) for p in error.problems
            ) from error

    @property
    def mode_files(self) -> list[Path]:
        """The user's profiles; raises `InputError` if nobody can say which there are."""
        from remit.harness.location import mode_files

        return mode_files(self.workspace.modes)

    def passed_over(self) -> tuple[Problem, ...]:
        """Return a warning for each file among the modes that is not taken for one."""
        files = self.mode_files
        taken = {*files, *(f.parent for f in files if f.parent != self.workspace.modes)}
        try:
            others = sorted(p for p in self.workspace.modes.iterdir() if p not in taken)
        except FileNotFoundError:
            return ()
        return tuple(
            Problem(
                "mode-passed-over",
                f"`{path}` is not read: a mode is a file that ends in `.toml`, or a folder "
                "with a `mode.md`",
                "rename it, or put it elsewhere",
                severity=Severity.WARNING,
            )
            for path in others
            if not path.name.startswith(".")
        )

    def store(self) -> Store:
        """Open the database; raises `StoreError` if it is missing or cannot be used."""
        from remit.cli.elsewhere import elsewhere
        from remit.harness.store import Store, StoreError

        try:
            store = Store.open(self.workspace.db, data=self.workspace.data)
        except StoreError as error:
            (problem,) = error.problems
            if problem.code != "store-missing":
                raise
            hint = elsewhere(self.workspace, self.environ)
            raise StoreError(evolve(problem, hint=hint)) from error
        # Modes are read only if a run ends.
        store.runs.home = lambda mode: self.engine.library.home(mode)
        return store

    def operator(self) -> None:
        """Raise `InputError` unless whoever runs this is the operator (design section 6)."""
        from remit.harness.operators import check_operator, operator_token

        path = self.workspace.token_file
        check_operator(path, operator_token(path, self.environ, terminal=sys.stdin.isatty()))

    def tools(self, catalogs: Iterable[str]) -> Catalog:
        """Return the tools of the catalogues named, else of the operator's; natives come last."""
        engine, names = self.engine, tuple(catalogs)
        if not names and not engine.operators.tools:
            raise InputError(
                Problem(
                    "no-catalog",
                    "no catalogue was named",
                    f"`--catalog NAME` says which tools there are; shipped are "
                    f"{', '.join(engine.shipped)}",
                )
            )
        return engine.with_natives(engine.catalogs(names) if names else engine.operators)

    def host(self, worktree: str | None = None) -> Host:
        """Return the command line as a host: it enforces what a gateway does, in no sandbox."""
        from remit.harness.location import protected

        found = self.workspace
        return Host(
            "cli",
            worktree=worktree,
            protected=protected(found, worktree),
            secret=(str(found.token_file),),
        )

    def look(
        self, call: Call, tool: Tool | None, host: Host, cwd: str | None = None
    ) -> tuple[Facts, CallEffects | None]:
        """Return what there is to know of the machine for one call, and what is seen of it."""
        from remit.harness.facts import gather, start
        from remit.harness.touched import seen

        bases = [p for p in (host.worktree, cwd) if p]
        facts = gather(
            call,
            tool,
            start(host.worktree, cwd or host.worktree, host),
            self.engine.registry.programs,
        )
        return facts, seen(call, tool, host, self.engine.admitted, bases)

    def project(
        self,
        mode: str,
        catalogs: Iterable[str],
        *parents: str,
        overlay: str | None = None,
        space: Space | None = None,
        unfit: bool = False,
    ) -> Projection:
        """Return a mode over catalogues, narrowed by its parents' ceilings and an overlay's file.

        A space adds its own overlay, and its settings. Shows the warnings of holding one against
        the other; raises `InputError` for the errors, or shows those too where ``unfit`` is true.
        """
        from remit.harness.engine import WORKSPACE
        from remit.policy.profile import Profile
        from remit.profiles.source import Source

        tools, engine = self.tools(catalogs), self.engine
        profile = engine.profile(mode)
        problems = self.fit(profile, tools)
        whole = self.narrowed(profile, *parents, overlay=overlay)
        if engine.overlaid is not None:
            whole = whole.under(engine.overlaid)
        if space is not None and space.overlay is not None:
            whole = whole.under(engine.overlay(Source(space.overlay.text, space.overlay.file)))
        for side in whole.sides:
            if side.name in (OVERLAY, WORKSPACE):
                problems += self.fit(Profile(side.name, sides=(side,)), tools)
        if not unfit and any(p.severity is Severity.ERROR for p in problems):
            raise InputError(problems)
        show_problems(problems)
        settings = space.effects if space else ()
        host = self.host(space.worktree if space else None)
        made = engine.project(whole, tools, host, settings)
        # The engine keeps one of all that decide alike, and here it matters who says what.
        return evolve(made, compiled=evolve(made.compiled, profile=whole))

    def narrowed(self, profile: Profile, *parents: str, overlay: str | None = None) -> Profile:
        """Return a profile under an overlay's file and the ceilings of a child's parents.

        Each side that comes from a parent is called after it; what is a side already is not added.
        """
        from remit.profiles.source import read_source

        sides = []
        for name in parents:
            parent = self.engine.profile(name)
            of = f"child of {parent.name}"
            sides += [
                evolve(side, name=of if side.name == parent.name else f"{of}: {side.name}")
                for side in parent.sides
                if side not in profile.sides
            ]
        if overlay is not None:
            sides.append(self.engine.overlay(read_source(overlay)))
        return profile.under(*sides)

    def fit(self, profile: Profile, tools: Catalog) -> tuple[Problem, ...]:
        """Return what is wrong with a profile under a catalogue."""
        return self.engine.fit(profile, tools, self.host())


_child_of = click.option(
    "--child-of", "parents", multiple=True, metavar="MODE",
    help="Of a child: this mode's ceiling narrows too. Repeatable.",
)  # fmt: skip
_overlay = click.option(
    "--overlay", metavar="FILE",
    help="In a space with an overlay: the [ceiling] of this file narrows too.",
)  # fmt: skip


def with_narrowing(command: Command) -> Command:
    """Give a command `parents` and `overlay`, which narrow its mode."""
    return _child_of(_overlay(command))


def now() -> datetime:
    """Return the time; the one clock of the command line."""
    return datetime.now(UTC)


_config = click.option(
    "--config", metavar="DIR", help="The folder of remit.toml and of your modes."
)
_db = click.option("--db", metavar="PATH|URL", help="The workspace's database.")


def in_place(command: Command) -> Callable[..., Any]:
    """Give a command `place` with the configuration, but no database."""

    @_config
    @wraps(command)
    def run(*args: Any, config: str | None, **options: Any) -> Any:
        return command(*args, place=Place(None, config), **options)

    return run


def in_workspace(command: Command) -> Callable[..., Any]:
    """Give a command `place` with configuration and database."""

    @_db
    @_config
    @wraps(command)
    def run(*args: Any, config: str | None, db: str | None, **options: Any) -> Any:
        return command(*args, place=Place(db, config), **options)

    return run
