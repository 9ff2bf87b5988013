"""What was said in a conversation, kept so that a crash loses at most the request under way.

One file for each conversation, in the folder `chats` beside the database: a line of JSON for each
message, written through to the disk before the loop goes on. The results of calls are written as
they come, so those of a batch that was cut short are known. A torn last line is what a crash left.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ToolReturnPart,
)

__all__ = ["FOLDER", "History"]

#: The folder of the files, in the data folder.
FOLDER = "chats"
_CUT = (
    "Interrupted: the call did not come back. It may have done its work or part of it; look before "
    "you call again."
)


class History:
    """The messages of one conversation, as they are on the disk."""

    def __init__(self, folder: Path | None, conversation: str) -> None:
        """Read it, if it is there; ``folder`` is None for one that is not kept."""
        self._path = None if folder is None else folder / f"{quote(conversation, safe='')}.jsonl"
        self._messages: list[ModelMessage] = []
        #: Results of the last response that no request has carried yet.
        self._results: dict[str, ToolReturnPart] = {}
        for partial, message in self._read():
            self._take(message, partial)

    @property
    def messages(self) -> list[ModelMessage]:
        """What a model is shown of it: every call with a result, one that was cut short too."""
        closing = self._closing()
        return [*self._messages, *([closing] if closing else [])]

    def add(self, message: ModelMessage) -> None:
        """Keep a message."""
        self._write(message, partial=False)
        self._take(message, partial=False)

    def result(self, part: ToolReturnPart) -> None:
        """Keep the result of a call whose request is not sent yet."""
        message = ModelRequest(parts=[part])
        self._write(message, partial=True)
        self._take(message, partial=True)

    def close(self) -> bool:
        """Answer calls that never came back, for good; say if there were any."""
        closing = self._closing()
        if closing is None:
            return False
        cut = any(
            isinstance(p, ToolReturnPart) and p.outcome == "interrupted" for p in closing.parts
        )
        self.add(closing)
        return cut

    def _take(self, message: ModelMessage, partial: bool) -> None:
        if partial:
            for part in message.parts:
                if isinstance(part, ToolReturnPart):
                    self._results[part.tool_call_id] = part
            return
        self._results.clear()
        self._messages.append(message)

    def _closing(self) -> ModelRequest | None:
        last = self._messages[-1] if self._messages else None
        if not isinstance(last, ModelResponse) or not last.tool_calls:
            return None
        return ModelRequest(
            parts=[
                self._results.get(call.tool_call_id)
                or ToolReturnPart(call.tool_name, _CUT, call.tool_call_id, outcome="interrupted")
                for call in last.tool_calls
            ]
        )

    def _read(self) -> Iterator[tuple[bool, ModelMessage]]:
        if self._path is None or not self._path.exists():
            return
        whole = self._path.read_bytes()
        kept = whole[: whole.rfind(b"\n") + 1]
        if kept != whole:
            os.truncate(self._path, len(kept))
        for line in kept.splitlines():
            said = json.loads(line)
            (message,) = ModelMessagesTypeAdapter.validate_python([said["message"]])
            yield bool(said.get("partial")), message

    def _write(self, message: ModelMessage, *, partial: bool) -> None:
        if self._path is None:
            return
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        (value,) = ModelMessagesTypeAdapter.dump_python([message], mode="json")
        line = json.dumps({"partial": partial, "message": value}) + "\n"
        fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, line.encode())
            os.fsync(fd)
        finally:
            os.close(fd)
