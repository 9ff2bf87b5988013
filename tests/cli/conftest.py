import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from remit.cli.app import app
from remit.cli.failures import run


@frozen
class Said:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one JSON document."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Standard output as JSON Lines."""
        return [json.loads(line) for line in self.out.splitlines()]


Remit = Callable[..., Said]


@pytest.fixture
def remit(monkeypatch: pytest.MonkeyPatch) -> Remit:
    """Run a command line in this process, on streams of its own."""

    def call(*args: str | Path, stdin: str | bytes = b"") -> Said:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        streams = {name: io.TextIOWrapper(io.BytesIO(), "utf-8") for name in ("stdout", "stderr")}
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), "utf-8"))
            for name, stream in streams.items():
                patch.setattr(sys, name, stream)
            code = run(app, [str(a) for a in args])
        for stream in streams.values():
            stream.seek(0)
        return Said(code, streams["stdout"].read(), streams["stderr"].read())

    return call


@pytest.fixture
def home() -> Path:
    """The folder of configuration and data; nothing is in it yet."""
    path = Path(os.environ["REMIT_HOME"])
    path.mkdir()
    return path


@pytest.fixture
def workspace(remit: Remit, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A workspace that was made, with its operator at the command line."""
    made: dict[str, str] = remit("init", "--json").json
    token = Path(made["operator_token_file"]).read_text().strip()
    monkeypatch.setenv("REMIT_OPERATOR", token)
    return made
