"""`remit gateway`: an MCP server in front of another, which holds a space's mode."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from tempfile import TemporaryDirectory

import click
from attrs import evolve

from remit.cli.failures import MachineError
from remit.cli.options import Place, in_workspace
from remit.cli.output import note
from remit.policy.backend import Backend
from remit.policy.places import Ground
from remit.policy.problems import InputError, Problem, near

__all__ = ["gateway"]


@click.command()
@click.option("--space", "space", required=True, metavar="ID", help="The space whose mode holds.")
@click.option(
    "--server", metavar="NAME=CATALOG",
    help="The server's name, and the catalogue that declares its tools.",
)  # fmt: skip
@click.option(
    "--sandbox", default="none", show_default=True, metavar="BACKEND",
    help="What holds the server itself: auto, bubblewrap, landlock, seatbelt or none.",
)  # fmt: skip
@click.option(
    "--keep-env", "keep", multiple=True, metavar="NAME",
    help="In a sandbox, let a variable of the environment through. Repeatable.",
)  # fmt: skip
@click.argument("command", nargs=-1, required=True, metavar="-- SERVER CMD...")
@in_workspace
def gateway(
    place: Place,
    space: str,
    server: str | None,
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
    from remit.harness.sandbox.box import choose
    from remit.harness.sandbox.survey import ground
    from remit.harness.workspace import protected

    # Whoever started the client could lead us elsewhere by its environment, HOME included.
    place = evolve(place, environ={})
    backend = choose(sandbox, place.engine.registry.backends)
    _tell(backend)
    with place.store() as store, TemporaryDirectory(prefix="remit-") as scratch:
        worktree = store.spaces.get(space).worktree
        others = [s.worktree for s in store.spaces.list() if s.worktree]

        def survey(environment: Mapping[str, str]) -> Ground:
            # What git must not run is said in its environment.
            git = [name for name in environment if name.startswith("GIT_CONFIG_")]
            return ground(
                place.workspace, worktree, command, environment,
                others=others,
                keep=(*keep, *git, "GIT_OPTIONAL_LOCKS"),
                scratch=None if backend.namespaces else scratch,
            )  # fmt: skip

        return run_gateway(
            store,
            place.engine,
            space,
            command,
            server=_server(server, place.workspace.servers) if server else None,
            protected=protected(place.workspace, worktree),
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
