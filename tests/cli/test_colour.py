import os
import pty
import subprocess
import sys

import pytest

ESCAPE = b"\x1b["


def at_terminal(*args: str, **env: str) -> bytes:
    """What a command prints where all of its streams are a terminal."""
    far, near = pty.openpty()
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
    command = [sys.executable, "-m", "remit", *args]
    subprocess.run(command, stdin=near, stdout=near, stderr=near, env={**kept, **env}, check=False)
    os.close(near)
    with os.fdopen(far, "rb", buffering=0) as screen:
        said = b""
        while True:
            try:
                said += (part := screen.read(4096) or b"")
            except OSError:  # how Linux says that nobody has the other end
                return said
            if not part:
                return said


@pytest.mark.parametrize("command", [("modes",), ("show", "plann")])
class TestColour:
    def test_is_there_on_a_terminal(self, command: tuple[str, ...]) -> None:
        """People see facts and failures in colour."""
        assert ESCAPE in at_terminal(*command, TERM="xterm")

    @pytest.mark.parametrize("env", [{"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb"}])
    def test_is_not_there_where_nobody_wants_it(
        self, command: tuple[str, ...], env: dict[str, str]
    ) -> None:
        """`NO_COLOR` and a dumb terminal take all colour away, from failures too."""
        assert ESCAPE not in at_terminal(*command, **env)
