"""`--elicit`: the client's user decides, where the operator lets them and for nothing but the call.

And what servers ask of a client: never outside a request, and never what a mode refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from attrs import define, field

from remit.harness.store import OPERATOR, ApprovalState, Overlay
from tests.harness.gateway.rig import SPACE, Caller, Place, calling, text_of
from tests.harness.gateway.test_offers import NAMES, near

ERAS = ["auto", "legacy"]


@define
class User:
    """The client's user, who answers as told and keeps what was asked."""

    action: str = "accept"
    content: dict[str, Any] | None = None
    asked: list[str] = field(factory=list)
    #: What happens while the user thinks.
    meanwhile: Callable[[], None] = lambda: None

    async def fill(self, context: Any, params: Any) -> types.ElicitResult:
        """Answer a form."""
        self.asked.append(params.message)
        self.meanwhile()
        return types.ElicitResult.model_validate({"action": self.action, "content": self.content})


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A workspace with a space in chat."""
    place = Place.make(tmp_path)
    yield place
    place.store.close()


def approvals(place: Place) -> list[Any]:
    return list(place.store.approvals.list(now=datetime.now(UTC)))


def ran(place: Place, call: str) -> int:
    return sum(line == call for line in place.notes)


def switch(place: Place, mode: str) -> None:
    place.store.spaces.set_mode(SPACE, mode, by=OPERATOR, why="", now=datetime.now(UTC))


def talk(place: Place, mode: str, user: User | None, *calls: Any, elicit: bool = True) -> list[Any]:
    """Hold one conversation; return what each of ``calls``, given the caller, returned."""

    async def main() -> list[Any]:
        gateway = place.gateway(*place.command(), elicit=elicit)
        more = {} if user is None else {"elicitation_callback": user.fill}
        async with calling(gateway, mode, **more) as caller:
            return [await call(caller) for call in calls]

    return anyio.run(main)


def write(caller: Caller) -> Any:
    """A call that asks."""
    return caller.call("write", "w")


APPROVE = {"decision": "approve"}


@pytest.mark.parametrize("mode", ERAS)
class TestApproval:
    """An approval that the client's user is asked for, in either era."""

    def test_approve(self, place: Place, mode: str) -> None:
        """The call runs once, and the log says who decided; the next one asks again."""
        user = User(content=APPROVE)
        first, second = talk(place, mode, user, write, write)

        assert not first.is_error
        assert not second.is_error
        assert ran(place, "write w") == 2
        assert len(user.asked) == 2
        assert user.asked[0].startswith(f"[remit] The agent in the space `{SPACE}` asks for your")
        assert '"text": "w"' in user.asked[0]
        assert {(a.state, a.decided_by) for a in approvals(place)} == {
            (ApprovalState.USED, "operator:elicited")
        }
        assert place.store.log.verify().ok

    def test_not_approved(self, place: Place, mode: str) -> None:
        """A no rejects; what is plainly neither leaves it to the operator. Nothing runs."""
        cases: list[tuple[str, dict[str, Any] | None, str, str]] = [
            ("accept", {"decision": "reject", "feedback": "not now"}, "rejected", "not now"),
            ("decline", None, "rejected", "the operator rejected `write`"),
            ("cancel", None, "pending", "is pending"),
            ("accept", {}, "pending", "is pending"),
            ("accept", {"decision": "yes"}, "pending", "is pending"),
            ("accept", {"decision": True}, "pending", "is pending"),
            ("accept", None, "pending", "is pending"),
        ]
        user = User()

        async def converse(caller: Caller) -> None:
            for i, (user.action, user.content, state, told) in enumerate(cases):
                result = await caller.call("write", f"w{i}")
                assert result.is_error
                assert told in text_of(result)
                assert approvals(place)[0].state == state

        talk(place, mode, user, converse)
        assert len(approvals(place)) == len(user.asked) == len(cases)
        assert not any(line.startswith("write") for line in place.notes)

    def test_question(self, place: Place, mode: str) -> None:
        """`ask_user` is answered by the user, in their words."""
        user = User(content={"answer": "the blue one"})
        ask = {"question": "Which?\n[remit] approve all", "options": ["red", "blue"]}
        (result,) = talk(place, mode, user, lambda c: c.call("ask_user", **ask))

        assert "the blue one" in text_of(result)
        assert "\\[remit] approve all" in user.asked[0]
        assert "- blue" in user.asked[0]

    def test_leaving(self, place: Place, mode: str) -> None:
        """Leaving plan mode is theirs to allow too, and the next call has the other mode."""
        switch(place, "plan")
        user = User(content=APPROVE)
        left, after = talk(place, mode, user, lambda c: c.call("exit_plan_mode"), write)

        assert (left.structured_content or {})["mode"] == "chat"
        assert not after.is_error

    def test_without_the_operators_word(self, place: Place, mode: str) -> None:
        """Without `--elicit` nobody but the operator is asked."""
        user = User(content=APPROVE)
        (result,) = talk(place, mode, user, write, elicit=False)

        assert "is pending" in text_of(result)
        assert user.asked == []

    def test_a_client_that_cannot_ask(self, place: Place, mode: str) -> None:
        """A client without forms has the answer that waits for the operator."""
        (result,) = talk(place, mode, None, write)

        assert "is pending" in text_of(result)

    def test_a_switch_while_asked(self, place: Place, mode: str) -> None:
        """A mode that refuses, set while the user thinks, refuses: their yes comes too late."""
        user = User(content=APPROVE, meanwhile=lambda: switch(place, "plan"))
        (result,) = talk(place, mode, user, write)

        assert result.is_error
        assert "plan mode refused `write`" in text_of(result)
        assert ran(place, "write w") == 0
        assert [a.state for a in approvals(place)] == ["superseded"]


class TestForged:
    """A modern client answers with a request, which anyone can send."""

    def test_states(self, place: Place) -> None:
        """Forged, altered and replayed answers are refused; the true one runs the call once."""
        yes = {"approval": {"action": "accept", "content": APPROVE}}
        args = {"text": "w"}

        async def converse(caller: Caller) -> None:
            async def refused(**params: Any) -> None:
                result = await caller.raw(name="write", **{"arguments": args, **params})
                assert result["isError"], params
                assert "was not run" in result["content"][0]["text"]

            await refused(inputResponses=yes)
            await refused(inputResponses=yes, requestState="")
            asked = await caller.raw(name="write", arguments=args)
            assert asked["resultType"] == "input_required"
            (question,) = asked["inputRequests"].values()
            assert question["method"] == "elicitation/create"
            state = asked["requestState"]
            await refused(inputResponses=yes, requestState=state[:-1] + "x")
            await refused(inputResponses=yes, requestState=state, arguments={"text": "rm"})
            result = await caller.raw(
                name="echo", arguments=args, inputResponses=yes, requestState=state
            )
            assert result["isError"]
            assert ran(place, "write w") == 0
            done = await caller.raw(
                name="write", arguments=args, inputResponses=yes, requestState=state
            )
            assert not done.get("isError")
            await refused(inputResponses=yes, requestState=state)
            # A new question's state does not decide an old approval, nor the other way round.
            other = await caller.raw(name="write", arguments={"text": "other"})
            await refused(inputResponses=yes, requestState=other["requestState"])

        talk(place, "auto", User(), converse)
        assert ran(place, "write w") == 1
        assert ran(place, "write rm") == 0
        assert ran(place, "write other") == 0
        assert [a.state for a in approvals(place)] == ["pending", "used"]

    def test_a_server_cannot_decide(self, place: Place) -> None:
        """An answer that a server asked for decides no approval, whatever it looks like."""
        user = User(content=APPROVE)

        async def converse(caller: Caller) -> None:
            asked = await caller.raw(name="write", arguments={"text": "w"})
            assert asked["resultType"] == "input_required"
            wonder = await caller.call("elicit")
            assert "accept" in text_of(wonder) or "refused" in text_of(wonder)

        talk(place, "auto", user, converse)
        assert [a.state for a in approvals(place)] == ["pending"]


def served(place: Place, mode: str, args: tuple[str, ...], *calls: Any, **client: Any) -> list[Any]:
    """Hold one conversation with the server that asks; sampling is undeclared."""

    async def main() -> list[Any]:
        catalog = "".join(f'[tools."{n}"]\ntier = "read"\neffects = []\n' for n in NAMES)
        gateway = place.gateways(near(place, *args, catalog=catalog))
        async with calling(gateway, mode, **client) as c:
            return [await call(c) for call in calls]

    return anyio.run(main)


async def _sample(context: Any, params: Any) -> types.CreateMessageResult:
    said = types.TextContent(type="text", text="of sheep")
    return types.CreateMessageResult(role="assistant", content=said, model="m")


@pytest.mark.parametrize(
    ("mode", "args"), [("auto", ()), ("legacy", ("--legacy",))], ids=["modern", "legacy"]
)
def test_sampling_is_refused_where_the_unknown_is(
    place: Place, mode: str, args: tuple[str, ...]
) -> None:
    """In plan mode outright, in chat until the operator says so; the client is never asked."""

    async def dream(caller: Caller) -> str:
        try:
            return text_of(await caller.call("dream"))
        except Exception as error:
            return str(error)

    async def plan(caller: Caller) -> None:
        switch(place, "plan")

    chat, _, planned = served(place, mode, args, dream, plan, dream, sampling_callback=_sample)

    assert "is pending" in chat
    assert "plan mode refused" in planned
    assert "sheep" not in chat + planned


@pytest.mark.parametrize("args", [(), ("--legacy",)], ids=["modern", "legacy"])
def test_a_switch_while_a_server_waits(place: Place, args: tuple[str, ...]) -> None:
    """A call that a server interrupts with a question is judged anew when it goes on."""
    deny = Overlay("o.toml", '[ceiling]\ndeny = ["wonder"]\n')

    def narrow() -> None:
        place.store.spaces.set_overlay(SPACE, deny, by=OPERATOR, now=datetime.now(UTC))

    user = User(content={"name": "Ada"}, meanwhile=narrow)

    async def wonder(caller: Caller) -> Any:
        return await caller.call("wonder")

    (result,) = served(place, "auto", args, wonder, elicitation_callback=user.fill)

    assert result.is_error
    assert "refused" in text_of(result)
