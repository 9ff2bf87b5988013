"""Models by name: those of pydantic-ai, a scripted one, and whatever a base URL serves."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.providers import Provider, infer_provider_class

from remit.harness.loop.scripted import load_script, scripted
from remit.policy.escape import quoted
from remit.policy.problems import InputError, Problem

__all__ = ["SCRIPTED", "model_of"]

#: What the name of a scripted model begins with; its file follows.
SCRIPTED = "scripted:"
#: How a server that speaks the wire format of many is called, where a base URL says where it is.
_COMPATIBLE = "openai-chat"
_VARIABLE = re.compile(r"`([A-Z][A-Z0-9_]*)`")


def model_of(name: str, base_url: str = "", environ: Mapping[str, str] = os.environ) -> Model:
    """Return the model of a name; raises `InputError` that says what is missing.

    ``scripted:FILE`` follows a script; ``PROVIDER:MODEL`` is as pydantic-ai takes it. A name
    without a provider is one that ``base_url`` serves as OpenAI would.
    """
    if name.startswith(SCRIPTED):
        return scripted(load_script(name.removeprefix(SCRIPTED)), name)
    if ":" not in name and base_url:
        name = f"{_COMPATIBLE}:{name}"
    try:
        if not base_url:
            return infer_model(name)
        return infer_model(name, lambda provider: _at(provider, base_url, environ))
    except ImportError as error:
        raise InputError(
            Problem("model-provider", f"{quoted(name)} needs a part that is missing", str(error))
        ) from error
    except UserError as error:
        raise InputError(_problem(name, str(error))) from error


def _at(provider: str, base_url: str, environ: Mapping[str, str]) -> Provider[object]:
    kind: type[Provider[object]] = infer_provider_class(provider)
    # A server of one's own mostly wants no key, and libraries insist on one.
    key = environ.get(f"{provider.partition('-')[0].upper()}_API_KEY") or "none"
    try:
        return kind(base_url=base_url, api_key=key)  # type: ignore[call-arg]
    except TypeError:
        raise UserError(f"Unknown base URL: {provider} takes none") from None


def _problem(name: str, said: str) -> Problem:
    variable = _VARIABLE.search(said)
    if said.startswith("Set ") and variable:
        return Problem(
            "model-key",
            f"model {quoted(name)} needs `{variable[1]}`, which is not set",
            f"`export {variable[1]}=...`, or `--model scripted:FILE` to work offline",
        )
    return Problem(
        "model-unknown",
        f"no model is called {quoted(name)}",
        "write PROVIDER:MODEL, such as `openai:gpt-5`, `scripted:FILE`, or any name with a base "
        "URL" + (f" ({said.partition('. ')[2]})" if "Did you mean" in said else ""),
    )
