"""`remit gateway`: an MCP server in front of another, which holds a space's mode."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click
from attrs import evolve

from remit.cli.failures import MachineError
from remit.cli.options import Place, in_workspace
from remit.cli.output import note, show_problems
from remit.policy.backend import Backend
from remit.policy.escape import quoted
from remit.policy.places import Ground
from remit.policy.problems import InputError, Problem, Severity, near

if TYPE_CHECKING:
    from remit.harness.gateway.servers import ServerSpec

__all__ = ["gateway"]


@click.command()
@click.option("--space", "space", required=True, metavar="ID", help="The space whose mode holds.")
@click.option(
    "--server", metavar="NAME=CATALOG",
    help="The server's name, and the catalogue that declares its tools.",
)  # fmt: skip
@click.option(
    "--servers", metavar="FILE",
    help="A file that names several servers, in place of CMD.",
)  # fmt: skip
@click.option(
    "--elicit", is_flag=True,
    help="Let the client's user answer questions and decide approvals.",
)  # fmt: skip
@click.option(
    "--sandbox", default="none", show_default=True, metavar="BACKEND",
    help="What holds the server itself: auto, bubblewrap, landlock, seatbelt or none.",
)  # fmt: skip
@click.option(
    "--keep-env", "keep", multiple=True, metavar="NAME",
    help="In a sandbox, let a variable of the environment through. Repeatable.",
)  # fmt: skip
@click.argument("command", nargs=-1, metavar="-- SERVER CMD...")
@in_workspace
def gateway(
    place: Place,
    space: str,
    server: str | None,
    servers: str | None,
    elicit: bool,
    sandbox: str,
    keep: tuple[str, ...],
    command: tuple[str, ...],
) -> int:
    """Serve MCP on standard input and output, in front of the server that CMD starts.

    Its client is an agent's, so no variable of the environment is heeded: say --db and --config.
    """
    if importlib.util.find_spec("mcp") is None:
        raise MachineError(
            Problem("mcp-missing", "the gateway needs `mcp`", "`pip install 'remit[mcp]'`")
        )
    from remit.harness.gateway.run import run_gateway
    from remit.harness.location import protected
    from remit.harness.sandbox.box import choose
    from remit.harness.sandbox.survey import ground

    # Whoever started the client could lead us elsewhere by its environment, HOME included.
    place = evolve(place, environ={})
    specs = _servers(command, server, servers, place.workspace.servers)
    backend = choose(sandbox, place.engine.registry.backends)
    _tell(backend)
    _tell_missing(specs)
    with place.store() as store, TemporaryDirectory(prefix="remit-") as scratch:
        worktree = store.spaces.get(space).worktree
        _tell_ground(backend, worktree)
        others = [s.worktree for s in store.spaces.list() if s.worktree]

        def survey(command: Sequence[str], environment: Mapping[str, str]) -> Ground:
            # What git must not run is said in its environment.
            git = [name for name in environment if name.startswith("GIT_CONFIG_")]
            return ground(
                place.workspace, worktree, tuple(command), environment,
                others=others,
                keep=(*keep, *git, "GIT_OPTIONAL_LOCKS"),
                scratch=None if backend.namespaces else scratch,
            )  # fmt: skip

        return run_gateway(
            store,
            place.engine,
            space,
            specs,
            elicit=elicit,
            protected=(*protected(place.workspace, worktree), *_files(servers)),
            secret=(str(place.workspace.token_file),),
            backend=backend,
            survey=survey,
        )


def _tell(backend: Backend) -> None:
    """Say once, where no protocol is disturbed, what holds the server."""
    if backend.holds:
        note(
            f"remit gateway: the server runs in the sandbox `{backend.name}` of the mode in force; "
            "`remit sandbox MODE` says what that does not hold"
        )
    else:
        note(
            "remit gateway: no sandbox holds the server; "
            "its own doings are judged by its calls alone"
        )


def _tell_missing(specs: Sequence[ServerSpec]) -> None:
    """Say at once which program is not there: a server is started when a client greets."""
    show_problems(
        Problem(
            "server-down",
            f"the server `{spec.name}` cannot be started: there is no program "
            f"{quoted(spec.command[0])} that may be run",
            "give its whole path; `command -v` prints it where the program is found",
            severity=Severity.WARNING,
        )
        for spec in specs
        if shutil.which(spec.command[0]) is None
    )


def _tell_ground(backend: Backend, worktree: str | None) -> None:
    """Say once what the worktree adds: what git runs in it, or that there is none to write in."""
    from remit.harness.git_programs import git_programs

    if backend.holds and worktree is None:
        note(
            "remit gateway: the space has no worktree, so in the sandbox the server can write "
            "nowhere but in its own scratch folder; `remit space create --worktree DIR` gives one"
        )
    if not backend.holds and worktree is not None:
        show_problems(git_programs(worktree))


def _files(servers: str | None) -> tuple[str, ...]:
    return () if servers is None else (os.path.abspath(servers),)


def _servers(
    command: tuple[str, ...], server: str | None, file: str | None, bound: Mapping[str, str]
) -> tuple[ServerSpec, ...]:
    """Return the servers of a file, or the one that a command starts."""
    from remit.harness.gateway.servers import ServerSpec, load_servers

    if file is not None and (command or server):
        what = "--server" if server else "a command"
        raise InputError(
            Problem(
                "server-binding",
                f"`--servers` and {what} both say which server is started",
                "write the one into the file of the others",
            )
        )
    if file is not None:
        return load_servers(file, bound)
    if not command:
        raise InputError(
            Problem(
                "server-binding",
                "nothing says which server is to be started",
                "end with `-- SERVER CMD...`, or name several in a file with `--servers`",
            )
        )
    if server is None:
        return (ServerSpec("server", command),)
    name, catalog = _server(server, bound)
    return (ServerSpec(name, command, catalog),)


def _server(given: str, bound: Mapping[str, str]) -> tuple[str, str]:
    """Return name and catalogue; a name alone means what remit.toml binds it to."""
    name, separator, catalog = given.partition("=")
    if not separator and name in bound:
        return name, bound[name]
    if not (name and catalog):
        raise InputError(
            Problem(
                "server-binding",
                f"`--server` is to be NAME=CATALOG, got `{given}`",
                near(name, bound) or "such as `--server git=mcp-git`",
            )
        )
    return name, catalog
