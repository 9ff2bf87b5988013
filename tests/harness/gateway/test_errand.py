"""Errands: a request that outlives the client's own, with questions in its midst."""

from __future__ import annotations

from typing import Any, cast

import anyio
import mcp_types as types

from remit.harness.gateway.errand import Errand, Question


def test_given_up() -> None:
    """Who gives up an errand leaves none of its questions without an answer, asked or not."""
    request = types.ElicitRequest(
        params=types.ElicitRequestFormParams(message="?", requested_schema={"type": "object"})
    )
    answers: list[Any] = []

    async def ask(errand: Errand) -> None:
        answers.append(await errand.ask(request))

    async def never() -> dict[str, Any]:
        await anyio.sleep_forever()
        return {}

    async def main() -> None:
        errand = Errand(never, cast(Any, None))
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(errand.run)
                tasks.start_soon(ask, errand)
                tasks.start_soon(ask, errand)
                assert isinstance(await errand.next(), Question)
                errand.scope.cancel()

    anyio.run(main)
    assert [type(one) for one in answers] == [types.ErrorData, types.ErrorData]
