"""The policy engine for agent modes: re-exports only, each name imported on first use.

What is not in `__all__` may change.
"""

from importlib import import_module

TYPE_CHECKING = False  # as type checkers know it: a Ctrl-C while `typing` loads would leave a trace
if TYPE_CHECKING:  # for type checkers, which do not read the table; a test holds the two together
    from remit.harness.awaited import AsyncWorkspace as AsyncWorkspace
    from remit.harness.carrying import carry_out as carry_out
    from remit.harness.conversation import Conversation as Conversation
    from remit.harness.engine import Engine as Engine
    from remit.harness.natives import Answer as Answer
    from remit.harness.platform import Platform as Platform
    from remit.harness.session import Frame as Frame
    from remit.harness.session import Run as Run
    from remit.harness.session import Session as Session
    from remit.harness.store import Overlay as Overlay
    from remit.harness.store import Store as Store
    from remit.harness.turns import Step as Step
    from remit.harness.turns import Turn as Turn
    from remit.harness.workspace import OpenSpace as OpenSpace
    from remit.harness.workspace import Workspace as Workspace
    from remit.plugins.hookspecs import hookimpl as hookimpl
    from remit.policy.announce import Message as Message
    from remit.policy.ceiling import Ceiling as Ceiling
    from remit.policy.ceiling import narrow as narrow
    from remit.policy.compile import Compiled as Compiled
    from remit.policy.decision import Decision as Decision
    from remit.policy.gate import Setting as Setting
    from remit.policy.grants import Grant as Grant
    from remit.policy.pipeline import Pipeline as Pipeline
    from remit.policy.pipeline import PipelineNode as PipelineNode
    from remit.policy.pipeline import StepMode as StepMode
    from remit.policy.pipeline import resolve_step_mode as resolve_step_mode
    from remit.policy.pipeline import step_profile as step_profile
    from remit.policy.problems import InputError as InputError
    from remit.policy.problems import Problem as Problem
    from remit.policy.problems import RemitError as RemitError
    from remit.policy.problems import Severity as Severity
    from remit.policy.profile import Brief as Brief
    from remit.policy.profile import Profile as Profile
    from remit.policy.projection import Host as Host
    from remit.policy.projection import Judgement as Judgement
    from remit.policy.projection import Projection as Projection
    from remit.policy.tools import Call as Call
    from remit.policy.tools import CallEffects as CallEffects
    from remit.policy.tools import Catalog as Catalog
    from remit.policy.tools import Facts as Facts
    from remit.policy.tools import Tool as Tool
    from remit.policy.vocabulary import EFFECTS as EFFECTS
    from remit.policy.vocabulary import Dial as Dial
    from remit.policy.vocabulary import EffectClass as EffectClass
    from remit.policy.vocabulary import Layer as Layer
    from remit.policy.vocabulary import Posture as Posture
    from remit.policy.vocabulary import Tier as Tier
    from remit.policy.vocabulary import Unknown as Unknown
    from remit.policy.vocabulary import Verdict as Verdict

#: Each public name and the module it comes from.
_HOMES: dict[str, str] = {
    "Answer": "remit.harness.natives",
    "AsyncWorkspace": "remit.harness.awaited",
    "Brief": "remit.policy.profile",
    "Call": "remit.policy.tools",
    "CallEffects": "remit.policy.tools",
    "Catalog": "remit.policy.tools",
    "Ceiling": "remit.policy.ceiling",
    "Compiled": "remit.policy.compile",
    "Conversation": "remit.harness.conversation",
    "Decision": "remit.policy.decision",
    "Dial": "remit.policy.vocabulary",
    "EFFECTS": "remit.policy.vocabulary",
    "EffectClass": "remit.policy.vocabulary",
    "Engine": "remit.harness.engine",
    "Facts": "remit.policy.tools",
    "Frame": "remit.harness.session",
    "Grant": "remit.policy.grants",
    "Host": "remit.policy.projection",
    "InputError": "remit.policy.problems",
    "Judgement": "remit.policy.projection",
    "Layer": "remit.policy.vocabulary",
    "Message": "remit.policy.announce",
    "OpenSpace": "remit.harness.workspace",
    "Overlay": "remit.harness.store",
    "Pipeline": "remit.policy.pipeline",
    "PipelineNode": "remit.policy.pipeline",
    "Platform": "remit.harness.platform",
    "Posture": "remit.policy.vocabulary",
    "Problem": "remit.policy.problems",
    "Profile": "remit.policy.profile",
    "Projection": "remit.policy.projection",
    "RemitError": "remit.policy.problems",
    "Run": "remit.harness.session",
    "Session": "remit.harness.session",
    "Setting": "remit.policy.gate",
    "Severity": "remit.policy.problems",
    "Step": "remit.harness.turns",
    "StepMode": "remit.policy.pipeline",
    "Store": "remit.harness.store",
    "Tier": "remit.policy.vocabulary",
    "Tool": "remit.policy.tools",
    "Turn": "remit.harness.turns",
    "Unknown": "remit.policy.vocabulary",
    "Verdict": "remit.policy.vocabulary",
    "Workspace": "remit.harness.workspace",
    "carry_out": "remit.harness.carrying",
    "hookimpl": "remit.plugins.hookspecs",
    "narrow": "remit.policy.ceiling",
    "resolve_step_mode": "remit.policy.pipeline",
    "step_profile": "remit.policy.pipeline",
}

__all__ = sorted(_HOMES)

if not TYPE_CHECKING:  # else a type checker would take any misspelled name for an object

    def __getattr__(name: str) -> object:
        """Import a public name on first use (PEP 562): `import remit` costs next to nothing."""
        if name not in _HOMES:
            msg = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(msg)
        value = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return value

    def __dir__() -> list[str]:
        """The public names too, whether used yet or not."""
        return sorted({*globals(), *_HOMES})
