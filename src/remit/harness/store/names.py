"""Names of spaces, modes, conversations and actors, each checked on its way in."""

from __future__ import annotations

import re

from remit.harness.store.events import SYSTEM, is_operator
from remit.policy.escape import quoted
from remit.policy.problems import InputError, Problem
from remit.profiles.names import MODE_NAME

__all__ = [
    "PIPELINE",
    "check_actor",
    "check_conversation",
    "check_mode",
    "check_space",
    "operates",
    "sets_modes",
]

#: The actor that pins the mode of a step.
PIPELINE = "pipeline"

_SPACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_CONVERSATION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}")
_ACTOR = re.compile(r"operator(?::[^\s:][^:]{0,63})?|system|pipeline|agent:\S{1,128}")


def _check(pattern: re.Pattern[str], text: str, code: str, what: str, hint: str) -> None:
    if pattern.fullmatch(text) is None or not text.isprintable():
        raise InputError(Problem(code, f"{quoted(text)} is no {what}", hint))


def check_space(id: str) -> None:
    """Raise `InputError` if this cannot be the id of a space."""
    hint = "use 1 to 64 of A-Z a-z 0-9 . _ -, a letter or digit first"
    _check(_SPACE, id, "bad-space-id", "space id", hint)


def check_mode(name: str) -> None:
    """Raise `InputError` if this cannot be the name of a mode."""
    hint = "use 1 to 64 of a-z 0-9 -, a letter first"
    _check(MODE_NAME, name, "bad-mode-name", "name of a mode", hint)


def check_conversation(id: str | None) -> None:
    """Raise `InputError` if this cannot be the id of a conversation."""
    hint = "use 1 to 128 of A-Z a-z 0-9 . _ : / @ + -, a letter or digit first"
    if id is not None:
        _check(_CONVERSATION, id, "bad-conversation-id", "conversation id", hint)


def check_actor(name: str) -> None:
    """Raise `InputError` if this names nobody who can act."""
    hint = "it is `operator`, `operator:NAME`, `system`, `pipeline` or `agent:CONVERSATION`"
    _check(_ACTOR, name, "bad-actor", "actor", hint)


def sets_modes(actor: str) -> None:
    """Raise `InputError` unless this actor may change a mode; an agent never may."""
    check_actor(actor)
    if not (is_operator(actor) or actor in (SYSTEM, PIPELINE)):
        raise InputError(
            Problem(
                "not-operator",
                f"{quoted(actor)} cannot change a space",
                "an operator, the system, an approved exit or a pipeline can",
            )
        )


def operates(actor: str) -> None:
    """Raise `InputError` unless this is an operator."""
    check_actor(actor)
    if not is_operator(actor):
        raise InputError(
            Problem("not-operator", f"{quoted(actor)} cannot do this", "an operator can")
        )
