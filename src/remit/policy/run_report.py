"""Reports: what a model says of its own work when it completes a stage.

A report is a claim and is kept as one: it stops a run that is blocked, it never passes an exit gate
(S000-28 to S000-33).
"""

from __future__ import annotations

from collections.abc import Mapping

from remit.policy.problems import near

__all__ = ["report_fault"]

_KEYS = ("status", "outcomes", "remaining", "blocker")
_STATES = ("met", "unmet", "unverified")


def report_fault(report: Mapping[str, object] | None) -> tuple[str, bool]:
    """Return what is wrong with a report, empty where nothing is, and whether it says blocked.

    ``status`` is ``completed`` or ``blocked``; ``outcomes`` is a list of ``criterion``, ``state``
    and ``evidence``; ``remaining`` a list of texts; ``blocker`` the reason.
    """
    if report is None:
        return "", False
    for key in report:
        if key not in _KEYS:
            return f"unknown key `{key}` in the report; {near(key, _KEYS) or 'leave it out'}", False
    outcomes, remaining = report.get("outcomes", []), report.get("remaining", [])
    if not (isinstance(outcomes, list) and isinstance(remaining, list)):
        return "`outcomes` and `remaining` are lists", False
    states = [o.get("state") if isinstance(o, Mapping) else None for o in outcomes]
    if any(state not in _STATES for state in states):
        return "the `state` of an outcome is `met`, `unmet` or `unverified`", False
    status, blocker = report.get("status"), report.get("blocker")
    if status == "blocked":
        if not (isinstance(blocker, str) and blocker.strip()):
            return "a blocked report says its reason under `blocker`", False
        return "", True
    if status != "completed":
        return "`status` is `completed` or `blocked`", False
    if remaining or any(state != "met" for state in states):
        return "a completed report has every outcome met and nothing remaining", False
    return "", False
