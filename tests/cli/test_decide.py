import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from remit.policy.vocabulary import Dial
from tests.cli.conftest import Remit

GIT = ("--catalog", "mcp-git")
COMMIT = '{"tool": "git_commit", "args": {"message": "x"}}\n'


class TestVerdicts:
    @pytest.mark.parametrize(
        ("mode", "tool", "verdict", "layer"),
        [
            ("chat", "git_log", "allow", "gate"),
            ("chat", "git_commit", "ask", "gate"),
            ("plan", "git_commit", "deny", "filter"),
            ("plan", "mcp-git:git_log", "allow", "gate"),
            ("plan", "submit_plan", "allow", "pin"),
            ("chat", "submit_plan", "deny", "filter"),
            ("review", "ask_user", "allow", "pin"),
            ("chat", "git_comit", "deny", "filter"),
        ],
    )
    def test_each(self, remit: Remit, mode: str, tool: str, verdict: str, layer: str) -> None:
        """A call gets the verdict of the layer that decides it."""
        said = remit("decide", mode, *GIT, stdin=json.dumps({"tool": tool}))
        (answer,) = said.lines

        assert (answer["verdict"], answer["layer"]) == (verdict, layer)
        assert answer["tool"] == tool
        assert said.code == 0

    def test_near(self, remit: Remit) -> None:
        """An unknown tool is refused with near misses."""
        (answer,) = remit("decide", "chat", *GIT, stdin='{"tool": "git_comit"}').lines

        assert "`git_commit`" in answer["hint"]

    def test_echo(self, remit: Remit) -> None:
        """Any id comes back as given, and answers keep the order of the calls."""
        ids: list[Any] = [7, "a", None, {"x": [1]}]
        given = "\n".join(json.dumps({"tool": "git_log", "id": i}) for i in ids)

        assert [a["id"] for a in remit("decide", "chat", *GIT, stdin=given).lines] == ids

    @pytest.mark.parametrize(
        ("dial", "verdict"),
        list(zip(Dial, ["deny", "ask", "ask", "allow"], strict=True)),
    )
    def test_dial(self, remit: Remit, dial: Dial, verdict: str) -> None:
        """The dial decides what asks."""
        (answer,) = remit("decide", "chat", *GIT, "--autonomy", dial, stdin=COMMIT).lines

        assert answer["verdict"] == verdict

    def test_child(self, remit: Remit) -> None:
        """A child is held to its parent's ceiling too."""
        said = remit("decide", "chat", *GIT, "--child-of", "plan", stdin=COMMIT)

        assert said.lines[0]["verdict"] == "deny"

    def test_protected(self, remit: Remit, tmp_path: Path) -> None:
        """A call that names a protected path is refused under every dial."""
        call = {"tool": "write_file", "args": {"path": ".git/hooks/x"}, "worktree": str(tmp_path)}
        files = ("--catalog", "mcp-filesystem")
        said = remit("decide", "chat", *files, "--autonomy", "auto", stdin=json.dumps(call))

        assert (said.lines[0]["verdict"], said.lines[0]["layer"]) == ("deny", "guard")
        assert ".git/hooks" in said.lines[0]["reason"]

    def test_missing_folders(self, remit: Remit) -> None:
        """A worktree that is not there is judged as an empty one, and makes nothing opaque."""
        call = {"tool": "git_log", "worktree": "/nowhere/at/all", "cwd": "/nowhere"}
        (answer,) = remit("decide", "chat", *GIT, stdin=json.dumps(call)).lines

        assert (answer["verdict"], answer["opaque"]) == ("allow", False)


class TestExit:
    def test_denied(self, remit: Remit) -> None:
        """A deny is 0, and 1 for whoever asks for it."""
        assert remit("decide", "plan", *GIT, stdin=COMMIT).code == 0
        assert remit("decide", "plan", *GIT, "--fail-on-deny", stdin=COMMIT).code == 1
        assert remit("decide", "chat", *GIT, "--fail-on-deny", stdin=COMMIT).code == 0

    @pytest.mark.parametrize("broken", ['name = "x"\nselctable = true\n', "name = [\n"])
    def test_broken_profile(self, remit: Remit, tmp_path: Path, broken: str) -> None:
        """A profile with an error gives no decision."""
        (tmp_path / "x.toml").write_text(broken)

        said = remit("decide", tmp_path / "x.toml", *GIT, stdin=COMMIT)

        assert (said.code, said.out) == (2, "")


BAD = {
    "no JSON": ("nonsense", "not JSON"),
    "a number": ("7", "no object"),
    "no tool": ("{}", "`tool`"),
    "tool of the wrong type": ('{"tool": 7}', "text"),
    "empty tool": ('{"tool": ""}', "`tool`"),
    "args of the wrong type": ('{"tool": "git_log", "args": []}', "an object"),
    "misspelled key": ('{"tool": "git_log", "arg": {}}', "`arg`"),
    "key twice": ('{"tool": "git_log", "tool": "git_commit"}', "twice"),
    "no number of JSON": ('{"tool": "git_log", "args": {"n": NaN}}', "NaN"),
    "deep": ("[" * 20_000, "deep"),
    "5,000 digits": ('{"tool": "git_log", "id": ' + "9" * 5_000 + "}", "digits"),
    "no text": (b"\xff\xfe", "UTF-8"),
    "relative cwd": ('{"tool": "git_log", "cwd": "src"}', "absolute"),
}


class TestBadLines:
    @pytest.mark.parametrize(("line", "told"), BAD.values(), ids=BAD.keys())
    def test_denied(self, remit: Remit, line: str | bytes, told: str) -> None:
        """A line that cannot be read is denied by number; the rest go on, and the end is 2."""
        raw = line if isinstance(line, bytes) else line.encode()
        said = remit(
            "decide", "chat", *GIT, stdin=b'{"tool":"git_log"}\n\n' + raw + b'\n{"tool":"git_log"}'
        )
        first, bad, last = said.lines

        assert said.code == 2
        assert (bad["verdict"], bad["layer"], bad["line"]) == ("deny", "input", 3)
        assert told in bad["reason"]
        assert first["verdict"] == last["verdict"] == "allow"
        assert said.err == ""

    def test_long(self, remit: Remit) -> None:
        """A line of more than 16 MiB is denied without being taken for two."""
        long = b'{"tool":"git_log","args":{"x":"' + b"a" * (17 << 20) + b'"}}\n{"tool":"git_log"}'
        bad, good = remit("decide", "chat", *GIT, stdin=long).lines

        assert (bad["layer"], bad["line"], good["verdict"]) == ("input", 1, "allow")


def test_says_that_it_waits(remit: Remit) -> None:
    """At a terminal, somebody who gave no calls is told what is waited for."""
    far, near = pty.openpty()
    try:
        os.write(far, b"\x04")  # the end of what is typed
        command = [sys.executable, "-m", "remit", "decide", "plan", *GIT]
        ended = subprocess.run(command, stdin=near, capture_output=True, text=True, timeout=60)
    finally:
        os.close(far)
        os.close(near)

    assert (ended.returncode, ended.stdout) == (0, "")
    assert "one a line" in ended.stderr
    assert remit("decide", "plan", *GIT).err == ""
