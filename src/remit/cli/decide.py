"""`remit decide`: judges calls that come as JSON Lines, and answers each in a line."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import click

from remit.cli.failures import FINE, INPUT, NO
from remit.cli.options import Place, dial, in_place, with_catalogs, with_narrowing
from remit.cli.output import line, note
from remit.policy.decision import Cause, Decision
from remit.policy.escape import quoted
from remit.policy.problems import near
from remit.policy.projection import Projection
from remit.policy.tools import Call, CallEffects
from remit.policy.vocabulary import Dial, Layer, Verdict, in_order

__all__ = ["decide"]

_KEYS: Mapping[str, tuple[type, str]] = {
    "tool": (str, "text"), "args": (dict, "an object"), "cwd": (str, "text"),
    "worktree": (str, "text"), "id": (object, "anything"),
}  # fmt: skip
#: Bytes of one line; a call with a large file in its arguments fits.
_LONGEST = 16 * 1024 * 1024


class _Wrong(Exception):
    """An input line cannot be judged: why, and what may have been meant."""

    def __init__(self, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.hint = hint


@click.command()
@click.argument("mode")
@with_catalogs
@dial(
    "--autonomy",
    "--dial",
    "autonomy",
    help="The dial of the space (default: ask).",
    default=Dial.ASK.value,
)
@with_narrowing
@click.option("--fail-on-deny", is_flag=True, help="Exit 1 if a call is denied.")
@in_place
def decide(
    place: Place,
    mode: str,
    catalogs: tuple[str, ...],
    autonomy: str,
    parents: tuple[str, ...],
    overlay: str | None,
    fail_on_deny: bool,
) -> int:
    """Judge calls in MODE: one JSON object a line on standard input, one answer a line.

    A call is {"tool": NAME, "args": {...}} and may have cwd, worktree and id. An operator is taken
    to be there, so `ask` is an answer. A line that cannot be read is denied; the rest go on.
    """
    projection = place.project(mode, catalogs, *parents, overlay=overlay)
    judge = _Judge(place, projection, Dial(autonomy))
    denied = wrong = False
    for number, raw in enumerate(_lines(), 1):
        if not raw.strip():
            continue
        answer = judge.answer(number, raw)
        denied |= answer["verdict"] == Verdict.DENY
        wrong |= answer["layer"] == Layer.INPUT
        line(answer)
    return INPUT if wrong else NO if denied and fail_on_deny else FINE


def _lines() -> Iterator[bytes]:
    """Yield the lines of standard input; of one that is too long, its beginning alone."""
    stream = sys.stdin.buffer
    if sys.stdin.isatty():
        note('reading calls from here, one a line: {"tool": "NAME", "args": {}}')
    while raw := stream.readline(_LONGEST + 1):
        yield raw
        while len(raw) > _LONGEST and not raw.endswith(b"\n"):
            raw = stream.readline(_LONGEST + 1)


class _Judge:
    def __init__(self, place: Place, projection: Projection, dial: Dial) -> None:
        self._place = place
        self._projection = projection
        self._dial = dial

    def answer(self, number: int, raw: bytes) -> dict[str, Any]:
        given: Any = None
        try:
            given = _parsed(raw)
            return self._judged(_checked(given))
        except _Wrong as wrong:
            said = given if isinstance(given, dict) else {}
            decision = Decision(Verdict.DENY, Layer.INPUT, Cause.INPUT, (str(wrong),))
            answer = _answer(said, decision, CallEffects(), str(wrong), wrong.hint)
            return {**answer, "line": number}

    def _judged(self, said: dict[str, Any]) -> dict[str, Any]:
        call, host = (
            Call(said["tool"], said.get("args", {})),
            self._place.host(said.get("worktree")),
        )
        tool = self._projection.compiled.catalog.get(call.tool)
        facts, found = self._place.look(call, tool, host, said.get("cwd"))
        judged = self._projection.judge(call, self._dial, facts, found)
        text = self._projection.text(judged)
        return _answer(said, judged.decision, judged.found, text.reason, text.hint)


def _answer(
    said: dict[str, Any], decision: Decision, found: CallEffects, reason: str, hint: str
) -> dict[str, Any]:
    return {
        "id": said.get("id"),
        "tool": said.get("tool"),
        "verdict": decision.verdict.value,
        "layer": decision.layer.value,
        "effects": list(in_order(found.effects)),
        "targets": {e: list(found.targets[e]) for e in in_order(found.targets)},
        "opaque": found.opaque,
        "reason": reason,
        "hint": hint,
    }


def _parsed(raw: bytes) -> Any:
    if len(raw) > _LONGEST:
        raise _Wrong(f"the line is longer than {_LONGEST // 1024 // 1024} MiB")
    try:
        return json.loads(raw.decode(), object_pairs_hook=_object, parse_constant=_constant)
    except UnicodeDecodeError:
        raise _Wrong("the line is not UTF-8 text") from None
    except RecursionError:
        raise _Wrong("the line nests too deep") from None
    except json.JSONDecodeError as error:
        raise _Wrong(f"the line is not JSON: {error.msg.lower()} at column {error.colno}") from None
    except ValueError:  # a whole number of more digits than Python converts
        raise _Wrong("the line holds a number with more digits than can be read") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in made if keys.count(key) > 1)
        raise _Wrong(f"the key {quoted(twice)} is given twice", "keep one of them")
    return made


def _constant(name: str) -> Any:
    raise _Wrong(f"`{name}` is no number of JSON")


def _checked(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise _Wrong("the line is no object", 'write {"tool": NAME, "args": {...}}')
    for key, value in given.items():
        if key not in _KEYS:
            hint = near(key, _KEYS) or f"the keys are {', '.join(_KEYS)}"
            raise _Wrong(f"unknown key {quoted(key)}", hint)
        kind, what = _KEYS[key]
        if not isinstance(value, kind):
            raise _Wrong(f"`{key}` is to be {what}")
    if not given.get("tool"):
        raise _Wrong("`tool` is missing or empty", 'write {"tool": NAME, "args": {...}}')
    for key in ("cwd", "worktree"):
        if key in given and not os.path.isabs(given[key]):
            raise _Wrong(f"`{key}` is to be an absolute path, got {quoted(given[key])}")
    return given
