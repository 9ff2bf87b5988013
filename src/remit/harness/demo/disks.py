"""What changed on disk, in which mode, as git finds it."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

from remit.harness.demo.scene import Disk, Scene
from remit.harness.demo.teller import Teller, expect

__all__ = ["Span", "tell_changes"]


@frozen
class Span:
    """A space over a time: what git found before and after, and how many commits are right."""

    space: str
    told: str
    before: Disk
    after: Disk
    commits: int


def tell_changes(scene: Scene, spans: Iterable[Span], tell: Teller) -> None:
    """Show what changed in each span, and expect what is right; nothing may be pushed."""
    rows: list[tuple[str, str, str]] = []
    wrong: list[str] = []
    for span in spans:
        commits = scene.commits(scene.worktree(span.space), span.before.head, span.after.head)
        same = span.before == span.after
        changed = "; ".join(commits) or ("nothing" if same else "something besides commits")
        rows.append((span.space, span.told, changed))
        if len(commits) != span.commits or span.after.status or not (span.commits or same):
            wrong.append(f"{span.space} {span.told}: {changed} {span.after.status}".strip())
    head = scene.git(scene.remote, "rev-parse", "HEAD")
    rows.append(("-", "the remote", "nothing" if head == scene.base else f"it is at {head}"))
    tell.table(("space", "when", "changed"), rows)
    expect(not wrong, f"only what was allowed changed, got {'; '.join(wrong)}")
    expect(head == scene.base, "nothing was pushed")
