from __future__ import annotations

import pytest

from remit.policy.decision import Cause
from remit.policy.gate import Setting, gate
from remit.policy.guard import as_called
from remit.policy.tools import CallEffects, Shape, Tool
from remit.policy.vocabulary import EFFECTS, Dial, Layer, Tier, Verdict

A, Q, D = Verdict.ALLOW, Verdict.ASK, Verdict.DENY

#: Design section 6, the table: what a call has, its tool, verdict under propose, ask, accept-edits
#: and auto.
TABLE = [
    ("nothing", Tool("s", "t", Tier.READ), (A, A, A, A)),
    ("network", Tool("s", "t", Tier.READ, {"network.egress"}), (A, A, A, A)),
    ("a record", Tool("s", "t", Tier.WRITE, {"record.write"}), (A, A, A, A)),
    ("a secret", Tool("s", "t", Tier.EXECUTE, {"secret.read"}), (A, A, A, A)),
    ("an edit", Tool("s", "t", Tier.WRITE, {"worktree.write"}), (D, Q, A, A)),
    ("edit+net", Tool("s", "t", Tier.WRITE, {"worktree.write", "network.egress"}), (D, Q, A, A)),
    ("a push", Tool("s", "t", Tier.WRITE, {"git.push"}), (D, Q, Q, A)),
    ("edit+push", Tool("s", "t", Tier.WRITE, {"git.push", "worktree.write"}), (D, Q, Q, A)),
    ("undeclared", Tool("s", "t", Tier.READ, declared=False), (D, Q, Q, Q)),
    ("write, no effects", Tool("s", "t", Tier.WRITE), (D, Q, Q, Q)),
    ("execute, no effects", Tool("s", "t", Tier.EXECUTE), (D, Q, Q, Q)),
    ("unknown effect", Tool("s", "t", Tier.READ, {"acme.deploy"}), (D, Q, Q, A)),
]


def _judge(tool: Tool, dial: Dial, found: CallEffects | None = None, **more: object) -> Verdict:
    shape = Shape.of(tool)
    return gate(shape, as_called(shape, found or CallEffects()), dial, **more).verdict  # type: ignore[arg-type]


class TestTable:
    @pytest.mark.parametrize(("what", "tool", "row"), TABLE, ids=[w for w, _, _ in TABLE])
    def test_each_dial(self, what: str, tool: Tool, row: tuple[Verdict, ...]) -> None:
        """Each kind of call has the verdict of the table under each dial."""
        assert tuple(_judge(tool, dial) for dial in Dial) == row

    def test_opaque(self) -> None:
        """A call that could not be wholly seen is judged as another world-changing one."""
        tool = Tool("s", "t", Tier.READ)

        seen = CallEffects(opaque=True)

        assert tuple(_judge(tool, dial, seen) for dial in Dial) == (D, Q, Q, A)

    @pytest.mark.parametrize("effect", sorted(EFFECTS))
    def test_every_effect_class(self, effect: str) -> None:
        """World-changing effects ask under the default dial and the admitted three do not."""
        admitted = effect in {"record.write", "network.egress", "secret.read"}

        assert _judge(Tool("s", "t", Tier.READ, {effect}), Dial.ASK) is (A if admitted else Q)


class TestSettings:
    def test_replaces_the_cell(self) -> None:
        """An operator's setting replaces the verdict of one effect."""
        tool = Tool("s", "t", Tier.WRITE, {"git.push"})

        assert _judge(tool, Dial.ASK, settings=[Setting("git.push", A)]) is A
        assert _judge(tool, Dial.AUTO, settings=[Setting("git.push", Q)]) is Q
        assert _judge(tool, Dial.AUTO, settings=[Setting("git.push", D)]) is D

    def test_leaves_the_other_effects(self) -> None:
        """A setting for one effect says nothing of another that the call has too."""
        tool = Tool("s", "t", Tier.WRITE, {"git.push", "git.commit"})

        assert _judge(tool, Dial.ASK, settings=[Setting("git.push", A)]) is Q

    def test_propose_keeps_its_denials(self) -> None:
        """Under propose no setting allows what changes the world."""
        tool = Tool("s", "t", Tier.WRITE, {"git.push"})

        assert _judge(tool, Dial.PROPOSE, settings=[Setting("git.push", A)]) is D

    def test_does_not_help_the_undeclared(self) -> None:
        """No setting makes an undeclared tool, or an opaque call, stop asking."""
        everything = [Setting(e, A) for e in EFFECTS]

        assert _judge(Tool("s", "t", declared=False), Dial.AUTO, settings=everything) is Q
        seen = CallEffects(opaque=True)
        assert _judge(Tool("s", "t", Tier.READ), Dial.ASK, seen, settings=everything) is Q

    @pytest.mark.parametrize(
        ("settings", "targets", "verdict"),
        [
            ([Setting("git.push", A, "origin feature/*")], ("origin feature/x",), A),
            ([Setting("git.push", A, "origin feature/*")], ("origin main",), Q),
            ([Setting("git.push", A, "origin feature/*")], ("origin feature/x", "origin main"), Q),
            ([Setting("git.push", A, "origin feature/*")], (), Q),
            ([Setting("git.push", D, "origin main")], (), D),
            ([Setting("git.push", D, "origin main")], ("origin feature/x",), Q),
            ([Setting("git.push", A), Setting("git.push", D, "origin main")], ("origin main",), D),
        ],
    )
    def test_with_a_target(
        self, settings: list[Setting], targets: tuple[str, ...], verdict: Verdict
    ) -> None:
        """A setting holds for matching targets; unseen ones only if stricter."""
        tool = Tool("s", "t", Tier.WRITE, {"git.push"}, classify="look")
        seen = CallEffects({"git.push"}, {"git.push": targets} if targets else {})

        assert _judge(tool, Dial.ASK, seen, settings=settings) is verdict


def test_nobody_to_ask() -> None:
    """With nobody to ask, an ask is a denial that says so."""
    shape = Shape.of(Tool("s", "t", Tier.WRITE, {"git.push"}))

    decision = gate(shape, CallEffects(shape.effects), Dial.ASK, askable=False)

    assert (decision.verdict, decision.layer, decision.cause) == (D, Layer.GATE, Cause.NOBODY)
