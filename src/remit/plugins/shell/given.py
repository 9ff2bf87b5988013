"""What an entry of the knowledge tables says of words that were taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from remit.plugins.shell.argv import Argv
from remit.plugins.shell.reading import Note
from remit.plugins.shell.roles import ROLE
from remit.plugins.shell.tables import Entry
from remit.plugins.shell.values import Loose, Text
from remit.policy.selectors import UNSEEN

if TYPE_CHECKING:
    from remit.plugins.shell.walk import Walk

__all__ = ["effects", "given"]

_HOSTED = frozenset(
    {"network.egress", "vendor.write", "pr.create", "pr.publish", "package.publish"}
)


def given(walk: Walk, note: Note, entry: Entry, argv: Argv) -> None:
    """Note what an entry says of words that were taken apart."""
    has = entry.effects
    operands = entry.operands
    for rule in entry.when:
        # Most rules ask for an option that is not there.
        if (not rule.has or not argv.names.isdisjoint(rule.has)) and rule.holds(argv):
            if rule.none:
                return
            has += rule.effects
            if rule.operands is not None:
                operands = rule.operands
    # What the operands have is told apart from what was found before; often that is nothing.
    own = note if note.blank else Note("")
    if argv.loose and entry.options_matter:
        own.blind(f"`{argv.loose[0].raw}` may be an option of `{entry.name}`")
    if entry.roles:
        for name, value in argv.options:
            role = entry.roles.get(name)
            if role is not None and value is not None:
                ROLE[role](walk, own, value)
    if operands:
        for role, value in _assigned(operands, argv.operands):
            if role != "text":
                ROLE[role](walk, own, value)
    effects(walk, note, entry, has, own)


def effects(
    walk: Walk, note: Note, entry: Entry, has: Sequence[str], own: Note | None = None
) -> None:
    """Add an entry's effects; those that no operand gave a target have one that says so."""
    if own is None:
        own = Note("")
    if has:
        _untold(walk, own, entry, has)
    if own is not note:
        note.merge(own)


def _untold(walk: Walk, own: Note, entry: Entry, untold: Sequence[str]) -> None:
    """Add the effects that no operand has given a target."""
    had = frozenset(own.targets)
    for effect in untold:
        if effect == "opaque":
            own.blind(entry.why or f"it cannot be seen what `{entry.alias}` does")
        elif effect in had:
            continue
        elif effect == "worktree.write":
            walk.touch(own, ".", "write")
            own.why[-1:] = [entry.why or f"`{entry.alias}` writes here"] if own.why else []
        elif effect in _HOSTED:
            own.add(
                effect,
                entry.host or UNSEEN,
                entry.why or f"`{entry.alias}` has {effect}",
            )
        elif effect in ("file.delete", "file.write_outside", "package.install"):
            own.add(effect, UNSEEN, entry.why or f"`{entry.alias}` has {effect}")
        else:
            own.add(effect, entry.alias, entry.why or f"`{entry.alias}` has {effect}")


def _assigned(roles: Sequence[str], operands: Sequence[Text]) -> list[tuple[str, Text]]:
    """Pair operands with roles; one role may end in ``*`` and take all that is left over."""
    if len(roles) == 1 and roles[0][-1] == "*":
        role = roles[0][:-1]
        return [(role, value) for value in operands]
    star = next((i for i, r in enumerate(roles) if r[-1:] == "*"), None)
    if star is None:
        return list(zip(roles, operands, strict=False))
    tail = len(roles) - star - 1
    out: list[tuple[str, Text]] = list(zip(roles[:star], operands, strict=False))
    rest = operands[star:]
    middle = rest[: len(rest) - tail] if tail else rest
    if len(rest) < tail:
        middle = []
    out += [(roles[star][:-1], v) for v in middle]
    out += list(zip(roles[star + 1 :], rest[len(middle) :], strict=False))
    # A word that may be several can be the last one too.
    if tail and middle and isinstance(middle[-1], Loose) and len(rest) == 1:
        out.append((roles[-1], middle[-1]))
    return out
