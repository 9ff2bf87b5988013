"""Reviews: peers settle findings, the log holds them whole, and a verdict is recorded."""

from datetime import datetime

import pytest

from remit.harness.review_formats import markdown, sarif
from remit.harness.store import Store, StoreConflict
from remit.policy.problems import InputError
from remit.policy.review import (
    Anchor,
    Axis,
    AxisVerdict,
    NodeKind,
    NodeStatus,
    Priority,
    ReviewNode,
)

BUG = ReviewNode(NodeKind.BUG, Priority.P0, 0.9, "it \x1b breaks", Anchor("a b/c.py", 3, 4))
HINT = ReviewNode(NodeKind.SUGGESTION, Priority.P3, 0.2, "shorter")


def test_a_peer_confirms_and_never_the_author(store: Store, space: str, now: datetime) -> None:
    """A finding is open until somebody else confirms it (S003-12)."""
    made = store.reviews.add(space, "c1", BUG, by="agent:c1", now=now)
    assert (made.node, made.status, made.author) == (BUG, NodeStatus.OPEN, "agent:c1")

    with pytest.raises(InputError, match="own-finding"):
        store.reviews.confirm(space, "c1", made.id, by="agent:c1", now=now)
    with pytest.raises(InputError, match="own-finding"):
        store.reviews.dismiss(space, "c1", made.id, by="agent:c1", now=now, why="no")
    confirmed = store.reviews.confirm(space, "c2", made.id, by="agent:c2", now=now)
    head = store.log.head()

    assert confirmed.status is NodeStatus.CONSENSUS_READY
    assert confirmed.confirmed_by == ("agent:c2",)
    assert store.reviews.confirm(space, "c2", made.id, by="agent:c2", now=now) == confirmed
    assert store.log.head() == head


def test_a_dismissed_finding_stays_dismissed(store: Store, space: str, now: datetime) -> None:
    """What was dismissed weighs nothing, and nobody confirms it afterwards."""
    made = store.reviews.add(space, "c1", BUG, by="agent:c1", now=now)
    assert store.reviews.get(space).verdict == "block"
    store.reviews.dismiss(space, "c2", made.id, by="agent:c2", now=now, why="by design")

    assert store.reviews.get(space).verdict == "ship"
    with pytest.raises(StoreConflict):
        store.reviews.confirm(space, "c3", made.id, by="agent:c3", now=now)


def test_nothing_need_be_called(store: Store, space: str, now: datetime) -> None:
    """A review without findings is one, finalised or not (S003-14)."""
    assert store.reviews.get(space).finalized_at is None
    done = store.reviews.finalize(space, "c1", (), by="agent:c1", now=now)

    assert (done.verdict, done.findings, done.finalized_by) == ("ship", (), "agent:c1")


def test_axes_harden_what_was_found(store: Store, space: str, now: datetime) -> None:
    """The axes of the last time count, and what is found later hardens the verdict (S003-13)."""
    axes = (Axis("tests", AxisVerdict.UNAVAILABLE), Axis("style", AxisVerdict.FAIL, gated=False))
    store.reviews.add(space, "c1", HINT, by="agent:c1", now=now)
    assert store.reviews.finalize(space, "c1", axes, by="agent:c1", now=now).verdict == "hold"
    store.reviews.add(space, "c1", BUG, by="agent:c1", now=now)

    assert store.reviews.get(space).verdict == "block"
    assert store.reviews.get(space).axes == axes


def test_what_cannot_be_weighed_is_counted(store: Store, space: str, now: datetime) -> None:
    """A record of a finding without a confidence is dropped where it is read (S003-12).

    An author among those who confirmed is no peer.
    """
    by = {"actor": "agent:c1", "space": space, "conversation": "c1"}
    with store.log.writing(now) as writer:
        for id, confidence in (("r1", None), ("r2", 0.3)):
            finding = {**HINT.value(), "confidence": confidence}
            body = {"node": id, "finding": finding, "status": "open"}
            writer.record("review.noted", body, **by)
        peers = ["agent:c1", "agent:c2"]
        body = {"node": "r2", "status": "open", "confirmed": peers, "why": ""}
        writer.record("review.settled", body, **by)
    review = store.reviews.get(space)

    assert review.dropped == 1
    assert [(f.id, f.confirmed_by) for f in review.findings] == [("r2", ("agent:c2",))]
    assert "Dropped" in markdown(review)


def test_the_log_makes_the_tables(store: Store, space: str, now: datetime) -> None:
    """A rebuild finds the findings and the verdict as they are."""
    made = store.reviews.add(space, "c1", BUG, by="agent:c1", now=now)
    store.reviews.confirm(space, "c2", made.id, by="agent:c2", now=now)
    store.reviews.finalize(space, "c1", (Axis("tests"),), by="agent:c1", now=now)
    before = store.reviews.get(space)

    assert store.log.rebuild().problems == ()
    assert store.reviews.get(space) == before


def test_a_mode_that_was_left_takes_no_more(store: Store, space: str, now: datetime) -> None:
    """What was found under another mode than holds now is not noted."""
    revision = store.spaces.get(space).revision

    with pytest.raises(StoreConflict, match="space-changed"):
        store.reviews.add(space, "c1", BUG, by="agent:c1", now=now, expect=revision + 1)

    assert store.reviews.get(space).findings == ()


def test_an_unknown_finding_has_near_misses(store: Store, space: str, now: datetime) -> None:
    """An id of another space, or misspelt, is an error."""
    made = store.reviews.add(space, "c1", HINT, by="agent:c1", now=now)

    with pytest.raises(InputError, match=f"did you mean `{made.id}`"):
        store.reviews.confirm(space, "c2", made.id[:-1], by="agent:c2", now=now)


def test_sarif(store: Store, space: str, now: datetime) -> None:
    """Code hosts get the findings with level, place and rank; what was dismissed is suppressed."""
    store.reviews.add(space, "c1", BUG, by="agent:c1", now=now)
    hint = store.reviews.add(space, "c1", HINT, by="agent:c1", now=now)
    store.reviews.dismiss(space, "c2", hint.id, by="agent:c2", now=now, why="no")
    log = sarif(store.reviews.get(space), "1.0")

    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    driver, (first, second) = log["runs"][0]["tool"]["driver"], log["runs"][0]["results"]
    assert (driver["name"], driver["rules"][first["ruleIndex"]]["id"]) == ("remit", "bug")
    assert (first["level"], first["rank"]) == ("error", 90)
    assert first["message"]["text"] == "it \\x1b breaks"
    assert first["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "a%20b/c.py"},
                "region": {"startLine": 3, "endLine": 4},
            }
        }
    ]
    assert "locations" not in second
    assert second["suppressions"] == [{"kind": "external", "justification": "dismissed"}]
