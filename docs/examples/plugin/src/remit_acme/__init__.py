"""Deploys, as a plugin of remit: what they are, which tools make them, which are refused."""

from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable

from attrs import frozen

from remit import Call, CallEffects, Compiled, EffectClass, Host, hookimpl

DEPLOY = "acme.deploy"


@hookimpl
def register_effects() -> Iterable[EffectClass]:
    """One class of change; not said to be admitted in read-only modes, so refused there."""
    return [EffectClass(DEPLOY, "puts a build in front of users")]


@hookimpl
def register_catalogues() -> Iterable[Traversable]:
    """What the tools of our deploy server can do."""
    return [files(__name__) / "acme-deploy.toml"]


@hookimpl
def register_profiles() -> Iterable[Traversable]:
    """The mode in which builds are shipped."""
    return [files(__name__) / "release.toml"]


@hookimpl
def register_programs() -> Iterable[Traversable]:
    """What our deploy program does, so that a shell that runs it can be judged."""
    return [files(__name__) / "programs.toml"]


@hookimpl
def guard_action(call: Call, found: CallEffects) -> str | None:
    """Refuse to deploy what nobody can build again, in every mode and under every dial."""
    if DEPLOY not in found.effects:
        return None
    build = call.args.get("build")
    if not isinstance(build, str) or not build:
        return "the call names no build"
    if build.endswith("-dirty"):
        return f"build `{build}` has changes that nobody committed"
    return None


@frozen
class Badge:
    """What a dashboard shows of a space."""

    text: str
    colour: str


@hookimpl
def project_layer(compiled: Compiled, host: Host) -> Badge:
    """Say whether users can be reached from here; `projection.layers["acme"]` holds it."""
    reaches = any(DEPLOY in tool.effects for tool in compiled.surface)
    text = compiled.profile.label or compiled.profile.name
    return Badge(f"{text} on {host.name}", "red" if reaches else "green")
