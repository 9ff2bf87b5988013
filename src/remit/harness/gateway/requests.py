"""What a client asks for, one thing at a time: a call, a resource, a prompt, a completion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mcp_types as types
from attrs import define
from mcp.shared.exceptions import MCPError

from remit.harness.gateway.calls import Calls, Outcome, Wanted
from remit.harness.gateway.changes import Notice
from remit.harness.gateway.directory import Directory
from remit.harness.gateway.fleet import Served
from remit.harness.gateway.lists import call_of
from remit.harness.gateway.offers import PROMPTS, RESOURCES
from remit.harness.gateway.peer import Context
from remit.harness.gateway.relay import foreign_free, result_for, said, text_block
from remit.harness.gateway.shelf import COMPLETE, REQUESTS
from remit.harness.gateway.stages import Stages
from remit.harness.gateway.untrusted import plain
from remit.harness.gateway.watching import Watching
from remit.harness.natives import Answer
from remit.harness.session import Run
from remit.policy.escape import quoted, unmarked
from remit.policy.problems import RemitError
from remit.policy.tools import Call

__all__ = ["Requests", "sentence"]

_KINDS: Mapping[type, str] = {
    str: "a text", bool: "a boolean", int: "a number", float: "a number", list: "a list",
}  # fmt: skip


@define(eq=False)
class Requests:
    """Each request of one thing, read, judged and answered in the client's envelope."""

    calls: Calls
    directory: Directory
    watching: Watching
    notice: Notice
    server_info: Callable[[], Mapping[str, Any]]
    stages: Stages | None = None

    def result(self, ctx: Context, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return a result as the client's era has it."""
        return result_for(
            ctx.protocol_version,
            raw,
            lambda: {types.SERVER_INFO_META_KEY: self.server_info()},
            ctx.method,
        )

    async def call(self, ctx: Context) -> dict[str, Any]:
        """Answer a call of a tool; what is refused is a result, because the model is to read it."""
        params = ctx.params or {}
        name, args = params.get("name"), params.get("arguments")
        if not isinstance(name, str):
            raise MCPError(types.INVALID_PARAMS, "`name` of a call must be the name of a tool")
        shown = quoted(name)
        if args is not None and not isinstance(args, Mapping):
            got = _KINDS.get(type(args), "something else")
            return self._refused(ctx, f"`arguments` of {shown} must be an object, got {got}")
        tool = self.calls.judge.session.catalog.get(name)
        if tool is not None and not tool.native and tool.name in REQUESTS:
            return self._refused(ctx, f"{shown} is a request of its own, and no tool to call")
        sent = {"arguments": args} if args is not None else {}
        wanted = Wanted(ctx, Call(name, args or {}), _with_meta(ctx, sent), shown)
        lines: list[str] = []
        try:
            outcome = await self.calls.answer(wanted)
            if self.stages is not None and outcome.frame and outcome.frame.force.run:
                lines, outcome = await self._at_run(self.stages, wanted, outcome)
        except RemitError as error:
            return self._refused(
                ctx, f"{shown} was not run, because it could not be judged: {sentence(error)}"
            )
        except MCPError as refusal:
            raise _unmarked(refusal) from None
        told = outcome.told
        if isinstance(told, Answer):
            raw = said(told.text, told.error, told.data)
        elif isinstance(told, Mapping):
            raw = {"content": [], **plain(told)}
        else:
            return self.result(ctx, told.raw)
        raw = self._noticed(raw, outcome)
        if lines and isinstance(raw.get("content"), list):
            raw = raw | {"content": [*raw["content"], *map(text_block, lines)]}
        return self.result(ctx, raw)

    async def _at_run(
        self, stages: Stages, wanted: Wanted, outcome: Outcome
    ) -> tuple[list[str], Outcome]:
        """Take a turn at the space's run with a first call, and do what a completion asks for."""
        lines, began = await stages.begin(self.calls.judge.think, wanted.call.tool)
        if began and stages.completes(wanted.call.tool):
            # It was judged before there was a turn to complete anything in.
            outcome = await self.calls.answer(wanted)
        if isinstance(outcome.told, Answer):
            ended = await stages.end(outcome.told, wanted.call.args)
            outcome = Outcome(ended, outcome.frame)
        return lines, outcome

    def _noticed(self, raw: dict[str, Any], outcome: Outcome) -> dict[str, Any]:
        """Add the line that tells of a switch, where it is due."""
        if outcome.frame is None:
            return raw
        space, told = outcome.frame.space, outcome.told
        line = self.notice.due(outcome.frame.projection.mode, space.revision)
        if isinstance(told, Answer) and (mode := (told.data or {}).get("mode")):
            # The answer itself tells which mode holds from here on.
            self.notice.told(str(mode))
            return raw
        if line and isinstance(raw.get("content"), list):
            return raw | {"content": [*raw["content"], text_block(line)]}
        return raw

    def _refused(self, ctx: Context, text: str) -> dict[str, Any]:
        return self.result(ctx, said(text, error=True))

    async def read(self, ctx: Context) -> dict[str, Any]:
        """Answer the reading of a resource."""
        uri, served = await self._resource(ctx)
        call = call_of(served.name, RESOURCES, uri)
        wanted = Wanted(ctx, call, _with_meta(ctx, {"uri": uri}), quoted(uri))
        return await self._got(ctx, wanted)

    async def prompt(self, ctx: Context) -> dict[str, Any]:
        """Answer the getting of a prompt."""
        params = ctx.params or {}
        name, args = params.get("name"), params.get("arguments")
        found = await self.directory.prompt(name) if isinstance(name, str) else None
        if found is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no prompt {quoted(str(name))}")
        served, own = found
        sent: dict[str, Any] = {"name": own}
        if args is not None:
            sent["arguments"] = args
        call = Call(call_of(served.name, PROMPTS, own).tool, sent)
        return await self._got(ctx, Wanted(ctx, call, _with_meta(ctx, sent), quoted(own)))

    async def complete(self, ctx: Context) -> dict[str, Any]:
        """Answer what an argument of a prompt or of a resource could be."""
        params = ctx.params or {}
        sent = {k: params[k] for k in ("ref", "argument", "context") if params.get(k) is not None}
        ref = sent.get("ref")
        served = None
        if isinstance(ref, Mapping) and isinstance(name := ref.get("name"), str):
            found = await self.directory.prompt(name)
            if found is not None:
                served, own = found
                sent["ref"] = {**ref, "name": own}
        elif isinstance(ref, Mapping) and isinstance(uri := ref.get("uri"), str):
            served = await self.directory.resource(uri)
        if served is None:
            raise MCPError(
                types.INVALID_PARAMS, "`ref` names no prompt and no resource that is listed"
            )
        call = Call(f"{served.name}:{COMPLETE}", sent)
        return await self._got(ctx, Wanted(ctx, call, _with_meta(ctx, sent), "a completion"))

    async def subscribe(self, ctx: Context) -> dict[str, Any]:
        """Have a resource watched, where it could be read."""
        uri, served = await self._resource(ctx)
        try:
            _, outcome = await self.calls.judge.frame_and_call(
                call_of(served.name, RESOURCES, uri), ""
            )
        except RemitError as error:
            raise MCPError(types.INTERNAL_ERROR, sentence(error)) from None
        if not isinstance(outcome, Run):
            raise MCPError(types.INVALID_REQUEST, outcome.text, outcome.data)
        await self.watching.begin(uri, served)
        return {}

    async def unsubscribe(self, ctx: Context) -> dict[str, Any]:
        """Have it watched no more."""
        uri = (ctx.params or {}).get("uri")
        if isinstance(uri, str):
            await self.watching.end(uri)
        return {}

    async def _resource(self, ctx: Context) -> tuple[str, Served]:
        uri = (ctx.params or {}).get("uri")
        served = await self.directory.resource(uri) if isinstance(uri, str) else None
        if not isinstance(uri, str) or served is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no resource {quoted(str(uri))}")
        return uri, served

    async def _got(self, ctx: Context, wanted: Wanted) -> dict[str, Any]:
        """Answer with one thing; what is refused is an error, because there is no thing."""
        try:
            outcome = await self.calls.answer(wanted)
        except RemitError as error:
            raise MCPError(types.INTERNAL_ERROR, sentence(error)) from None
        except MCPError as refusal:
            raise _unmarked(refusal) from None
        told = outcome.told
        if isinstance(told, Answer):
            raise MCPError(types.INVALID_REQUEST, told.text, told.data)
        return self.result(ctx, plain(told) if isinstance(told, Mapping) else told.raw)


def _with_meta(ctx: Context, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is sent on, with the client's own meta but for what is of its connection."""
    meta = (ctx.params or {}).get("_meta")
    return foreign_free(sent if meta is None else {**sent, "_meta": meta})


def _unmarked(refusal: MCPError) -> MCPError:
    error = refusal.error
    return MCPError(error.code, unmarked(error.message), error.data)


def sentence(error: RemitError) -> str:
    """Return the first thing that an error says, with what to do."""
    first = error.problems[0]
    return f"{first.message}; {first.hint}" if first.hint else first.message
