"""What all tools share: schemas, checked arguments, and that nothing escapes as an exception."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from attrs import evolve, frozen

from remit.harness.tools import TOOLS, Desk
from remit.harness.tools.declaration import HarnessTool, Result, says
from remit.harness.tools.desk import Halted


@frozen
class Probe:
    text: str = says("A text.", least=2, most=4)
    count: int = says("A number.", default=1, least=1)
    names: tuple[str, ...] = says("Names.", default=(), most=2)
    flag: bool = says("A flag.", default=False)


def probe(act: Any = lambda args, desk: Result(repr(args))) -> HarnessTool[Probe]:
    return HarnessTool("probe", "", Probe, act)


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda t: t.name)
class TestEach:
    def test_the_schema_is_json_and_closed(self, tool: HarnessTool[Any]) -> None:
        """Every argument has a description, and no other is taken."""
        schema = json.loads(json.dumps(tool.input_schema))

        assert schema["additionalProperties"] is False
        assert set(schema.get("required", ())) <= schema["properties"].keys()
        assert all(a["description"] and a["type"] for a in schema["properties"].values())
        assert tool.description

    def test_nonsense_is_an_answer(self, tool: HarnessTool[Any], desk: Desk) -> None:
        """Arguments that do not fit are told, and none of the tools raises."""
        for args in ({"no-such": 1}, {k: [[1]] for k in tool.input_schema["properties"]}):
            answer = tool.run(args, desk)
            assert answer.is_error
            assert answer.data["why"] == "bad-arguments"

    def test_no_object_is_an_answer(self, tool: HarnessTool[Any], desk: Desk) -> None:
        """A model may send anything for arguments."""
        answer: Any = tool.run([1], desk)  # type: ignore[arg-type]

        assert answer.is_error


class TestCheck:
    @pytest.mark.parametrize(
        ("args", "wrong"),
        [
            ({}, ["`text` is missing"]),
            ({"text": "x"}, ["`text` is to be at least 2 long, got 1"]),
            ({"text": "xxxxx"}, ["`text` is to be at most 4 long, got 5"]),
            ({"text": 1}, ["`text` is to be text"]),
            ({"text": None}, ["`text` is missing"]),
            ({"text": "xx", "count": 0}, ["`count` is to be at least 1, got 0"]),
            ({"text": "xx", "count": True}, ["`count` is to be a whole number"]),
            ({"text": "xx", "count": "1"}, ["`count` is to be a whole number"]),
            ({"text": "xx", "flag": 1}, ["`flag` is to be true or false"]),
            ({"text": "xx", "names": "a"}, ["`names` is to be a list"]),
            ({"text": "xx", "names": ["a", 1]}, ["`names[1]` is to be text"]),
            ({"text": "xx", "names": ["a"] * 3}, ["`names` is to be at most 2 items, got 3"]),
            ({"text": "\ud800x"}, ["`text` holds half of a surrogate pair, which is no text"]),
            (
                {"txt": "", "count": -1, "flag": "no"},
                [
                    "unknown argument `txt` (did you mean `text`)",
                    "`text` is missing",
                    "`count` is to be at least 1, got -1",
                    "`flag` is to be true or false",
                ],
            ),
        ],
    )
    def test_all_that_is_wrong_is_told_at_once(
        self, args: dict[str, Any], wrong: list[str]
    ) -> None:
        """Types are exact, bounds hold, and near misses are named."""
        assert probe().check(args) == (None, tuple(wrong))

    def test_null_is_what_was_left_out(self) -> None:
        """Some models send null for arguments that they leave out."""
        assert probe().check({"text": "xx", "count": None}) == (Probe("xx"), ())

    def test_the_schema_says_the_bounds(self) -> None:
        """What is checked is what the model was told."""
        assert probe().input_schema["properties"] == {
            "text": {"type": "string", "description": "A text.", "minLength": 2, "maxLength": 4},
            "count": {"type": "integer", "description": "A number.", "minimum": 1, "default": 1},
            "names": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Names.",
                "maxItems": 2,
            },
            "flag": {"type": "boolean", "description": "A flag.", "default": False},
        }


class TestRun:
    @pytest.mark.parametrize(
        ("raised", "why"),
        [(ZeroDivisionError("x"), "crashed"), (OSError(28, "No space"), "crashed")],
    )
    def test_a_crash_is_an_answer(self, desk: Desk, raised: Exception, why: str) -> None:
        """A tool that raises fails its call and nothing else."""

        def act(args: Probe, desk: Desk) -> Result:
            raise raised

        answer = probe(act).run({"text": "xx"}, desk)

        assert (answer.is_error, answer.data["why"]) == (True, why)
        assert type(raised).__name__ in answer.text

    def test_a_cancelled_call_does_nothing(self, desk: Desk) -> None:
        """S004-R9: a call that is cancelled before it starts is answered as interrupted."""
        cancelled = threading.Event()
        cancelled.set()

        answer = probe().run({"text": "xx"}, evolve(desk, cancelled=cancelled))

        assert (answer.is_error, answer.data["why"]) == (True, "interrupted")

    def test_one_that_is_cancelled_meanwhile_too(self, desk: Desk) -> None:
        """Whatever a tool was at, it ends with the same answer."""

        def act(args: Probe, desk: Desk) -> Result:
            raise Halted

        assert probe(act).run({"text": "xx"}, desk).data["why"] == "interrupted"


class TestRecords:
    def test_the_list_is_the_conversations(self, desk: Desk) -> None:
        """`todo` replaces the list that it was given, reads it, and says it back."""
        todo = TOOLS["todo"]

        written = todo.run({"items": [{"text": "a  b"}, {"text": "c", "state": "done"}]}, desk)
        wrong = todo.run({"items": [{"text": ""}, {"state": "later"}]}, desk)
        read = todo.run({}, desk)

        assert written.text == read.text == "[ ] a b\n[x] c"
        assert [(t.text, t.state) for t in desk.todos.items] == [("a  b", "open"), ("c", "done")]
        assert wrong.is_error
        assert "`items[1].state` is to be one of `open`, `active`, `done`" in wrong.text

    def test_a_subagent_is_the_loops(self, desk: Desk) -> None:
        """`task` is declared here and served by whoever runs the loop."""
        assert TOOLS["task"].run({"prompt": "p", "title": "t"}, desk).data["why"] == "not-served"
