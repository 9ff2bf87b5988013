"""Reviews as others read them: SARIF for code hosts, Markdown for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from remit.harness.store import FindingRecord, Review
from remit.policy.escape import escape
from remit.policy.review import NodeKind, Priority

__all__ = ["markdown", "sarif"]

#: SARIF knows three levels of a problem.
_LEVELS = {
    Priority.P0: "error", Priority.P1: "error", Priority.P2: "warning", Priority.P3: "note",
}  # fmt: skip
_KINDS = list(NodeKind)


def sarif(review: Review, version: str) -> dict[str, Any]:
    """Return a SARIF 2.1.0 log of one run; findings that count for nothing are suppressed."""
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "remit",
                        "version": version,
                        "rules": [
                            {"id": k.value, "shortDescription": {"text": f"A {k.value}."}}
                            for k in _KINDS
                        ],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(f) for f in review.findings],
                "properties": {"verdict": review.verdict.value, "dropped": review.dropped},
            }
        ],
    }


def _result(found: FindingRecord) -> dict[str, Any]:
    node = found.node
    result: dict[str, Any] = {
        "ruleId": node.kind.value,
        "ruleIndex": _KINDS.index(node.kind),
        "level": _LEVELS[node.priority],
        "rank": round(node.confidence * 100, 2),
        "message": {"text": escape(node.text, lines=True)},
        "partialFingerprints": {"remitFinding/v1": found.id},
        "properties": {"priority": node.priority.value, "status": found.status.value},
    }
    if node.anchor is not None:
        region = {"startLine": node.anchor.first, "endLine": node.anchor.last}
        place = {"artifactLocation": {"uri": quote(node.anchor.file)}, "region": region}
        result["locations"] = [{"physicalLocation": place}]
    if not found.status.counts:
        result["suppressions"] = [{"kind": "external", "justification": found.status.value}]
    return result


def markdown(review: Review) -> str:
    """Return a review for people: the verdict, the axes, and the findings, the worst first."""
    return "\n".join(_lines(review)) + "\n"


def _lines(review: Review) -> Iterator[str]:
    yield f"# Review of {_one(review.space)}: {review.verdict}"
    for axis in review.axes:
        yield f"\n- {_one(axis.name)}: {axis.verdict}{'' if axis.gated else ', not gated'}"
    for found in sorted(review.findings, key=lambda f: f.node.priority):
        node, at = found.node, found.node.anchor
        where = f" in `{_one(at.file)}`, lines {at.first} to {at.last}" if at else ""
        yield f"\n## {node.priority}, {node.kind}{where}"
        peers = f", confirmed by {len(found.confirmed_by)}" if found.confirmed_by else ""
        yield f"\n`{found.id}`, {found.status}, confidence {node.confidence:g}{peers}."
        yield f"\n{escape(node.text, lines=True).strip()}"
    if not review.findings:
        yield "\nNothing was found."
    if review.dropped:
        yield f"\nDropped, because they cannot be weighed: {review.dropped}."


def _one(text: str) -> str:
    return escape(" ".join(text.split()))
