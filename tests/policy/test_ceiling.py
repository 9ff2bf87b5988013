from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remit.policy.ceiling import TOP, Ceiling, narrow
from remit.policy.compile import compile_profile
from remit.policy.profile import Profile, Side
from remit.policy.tools import CallEffects, Catalog
from remit.policy.vocabulary import Dial, Posture, Tier, Unknown, Verdict
from tests.policy import worlds


def _stricter(one: Ceiling, other: Ceiling, catalog: Catalog, found: CallEffects) -> bool:
    a, b = (compile_profile(Profile("p", sides=(Side("p", c),)), catalog) for c in (one, other))
    return all(
        a.decide(t.key, dial, seen).verdict >= b.decide(t.key, dial, seen).verdict
        for t in catalog.tools
        for dial in Dial
        for seen in (None, found)
    )


class TestNarrow:
    @given(worlds.ceilings, worlds.ceilings)
    def test_commutes(self, a: Ceiling, b: Ceiling) -> None:
        """The order of two ceilings is nothing."""
        assert narrow(a, b) == narrow(b, a)

    @given(worlds.ceilings, worlds.ceilings, worlds.ceilings)
    def test_associates(self, a: Ceiling, b: Ceiling, c: Ceiling) -> None:
        """How ceilings are grouped is nothing."""
        assert narrow(narrow(a, b), c) == narrow(a, narrow(b, c)) == narrow(a, b, c)

    @given(worlds.ceilings)
    def test_is_idempotent(self, a: Ceiling) -> None:
        """A ceiling meets itself, and the top, in itself."""
        assert narrow(a, a) == narrow(a) == narrow(a, TOP) == a

    @given(worlds.ceilings, worlds.ceilings)
    def test_is_narrower_or_equal_than_both(self, a: Ceiling, b: Ceiling) -> None:
        """The meet of two ceilings is no wider than either."""
        met = narrow(a, b)

        assert met.narrower_or_equal(a)
        assert met.narrower_or_equal(b)

    @given(worlds.catalogs(), worlds.found, st.lists(worlds.ceilings, min_size=2, max_size=4))
    def test_never_allows_what_a_side_does_not(
        self, catalog: Catalog, found: CallEffects, sides: list[Ceiling]
    ) -> None:
        """No call fares better under the meet than under any side of it."""
        met = narrow(*sides)

        assert all(_stricter(met, side, catalog, found) for side in sides)


class TestPosture:
    def test_is_the_same_fact_as_a_refused_write(self) -> None:
        """A ceiling that refuses worktree writes is read-only, and no other is."""
        assert Ceiling(refuse={"worktree.write"}).posture is Posture.READ_ONLY
        assert Ceiling(refuse={"git.push"}).posture is Posture.WRITABLE
        assert TOP.posture is Posture.WRITABLE


def test_words_compare_by_strictness() -> None:
    """Verdicts, tiers and the unknown are ordered by how strict or high they are."""
    assert max(Verdict) is Verdict.DENY
    assert sorted([Verdict.DENY, Verdict.ALLOW, Verdict.ASK]) == list(Verdict)
    assert min(Tier.EXECUTE, Tier.READ, Tier.WRITE) is Tier.READ
    assert Unknown.REFUSE > Unknown.ASK
    assert Dial.PROPOSE < Dial.AUTO
