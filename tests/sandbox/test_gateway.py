"""`remit gateway --sandbox`: a shell behind it, with the layers above switched off or alone."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from attrs import define, evolve

from remit.harness.engine import Engine
from remit.harness.gateway.run import compose
from remit.harness.gateway.server import Gateway
from remit.harness.gateway.servers import ServerSpec
from remit.harness.location import Location
from remit.harness.sandbox.box import choose
from remit.harness.sandbox.bubblewrap import BUBBLEWRAP
from remit.harness.sandbox.survey import ground
from remit.harness.store import SYSTEM, Store
from remit.policy.backend import Found
from remit.policy.places import Ground
from remit.policy.problems import Problem
from remit.policy.vocabulary import Dial
from tests.harness.gateway.rig import Operator, calling, text_of, until
from tests.needs import need
from tests.sandbox.driver import digest

SERVER = str(Path(__file__).parent / "shell_server.py")

#: The shell, declared as if it did nothing: filter and guard let every call through.
SWITCHED_OFF = '[tools.run]\ntier = "read"\neffects = []\n'
#: What a shell really does.
HONEST = (
    '[tools.run]\ntier = "execute"\n'
    'effects = ["worktree.write", "file.delete", "file.write_outside", "process.spawn"]\n'
)

WRITES = [
    "echo x > new",
    "echo x >> file",
    "rm file",
    "mv file file2",
    "chmod 777 file",
    "touch -d @1 file",
    "ln -s / link",
    "git commit --allow-empty -m x",
    "git config core.pager evil",
    "mv .git .git2",
    "echo x > .git/hooks/pre-commit",
    "python3 -c \"open('file', 'w').write('x')\"",
    "mount -o remount,rw,bind $PWD; echo x > file",
    "cp /bin/sh . ; chmod u+s sh",
]


@define
class Desk:
    """A workspace with one space and its worktree."""

    folder: Path
    store: Store
    problems: list[Problem]

    @property
    def worktree(self) -> Path:
        return self.folder / "worktree"

    def gateway(self, catalog: str, backend: str) -> Gateway:
        (self.folder / "shell.toml").write_text(catalog)
        command = (sys.executable, SERVER)
        workspace = Location(
            self.folder / "home", self.folder / "config", self.folder, str(self.store.path)
        )

        def survey(command: Sequence[str], environment: Mapping[str, str]) -> Ground:
            return ground(workspace, self.worktree, tuple(command), environment)

        return compose(
            self.store,
            Engine.load(),
            "s",
            [ServerSpec("shell", command, str(self.folder / "shell.toml"))],
            backend=choose(backend),
            survey=survey,
            report=self.problems.append,
        )


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """A desk whose gateway works in the worktree."""
    need("bwrap", debian="bubblewrap")
    worktree = tmp_path / "worktree"
    worktree.mkdir()
    subprocess.run([need("git"), "init", "-q", str(worktree)], check=True)
    (worktree / "file").write_text("content\n")
    now = datetime.now(UTC)
    store = Store.open(tmp_path / "remit.db", create=now)
    store.spaces.create("s", "chat", by=SYSTEM, now=now, dial=Dial.AUTO, worktree=str(worktree))
    monkeypatch.chdir(worktree)
    with store:
        yield Desk(tmp_path, store, [])


@pytest.fixture(scope="module")
def operator() -> Iterator[Operator]:
    """The operator's process."""
    it = Operator.start()
    yield it
    it.stop()


def switch(desk: Desk, operator: Operator, mode: str) -> None:
    operator._do(_Place(desk.store), "mode", "s", mode)  # type: ignore[arg-type]


@define
class _Place:
    store: Store


def test_a_shell_cannot_change_one_byte_of_a_read_only_worktree(
    desk: Desk, operator: Operator
) -> None:
    """With filter and guard switched off the sandbox alone holds (S003-24)."""
    switch(desk, operator, "plan")
    before = digest(str(desk.worktree))

    async def main() -> None:
        async with calling(desk.gateway(SWITCHED_OFF, "bubblewrap"), "auto") as caller:
            for script in WRITES:
                said = text_of(await caller.call("run", script))
                assert "exit " in said, f"{script} did not even run: {said}"
                assert "exit 0" not in said, script
            assert "content" in text_of(await caller.call("run", "cat file; git status"))

    anyio.run(main)
    assert digest(str(desk.worktree)) == before


def test_filter_and_guard_hold_without_a_sandbox(desk: Desk, operator: Operator) -> None:
    """The surface is the first copy: the shell is not there, and a call of it is refused."""
    switch(desk, operator, "plan")
    before = digest(str(desk.worktree))

    async def main() -> None:
        async with calling(desk.gateway(HONEST, "none"), "auto") as caller:
            assert "run" not in await caller.names()
            for script in WRITES:
                result = await caller.call("run", script)
                assert result.is_error
                assert "plan mode refused" in text_of(result)

    anyio.run(main)
    assert digest(str(desk.worktree)) == before


def test_a_server_started_in_chat_cannot_write_after_the_switch(
    desk: Desk, operator: Operator
) -> None:
    """Its children of the old posture are gone, and it runs again under the new one."""

    async def main() -> None:
        async with calling(desk.gateway(SWITCHED_OFF, "bubblewrap"), "auto") as caller:
            assert "exit 0" in text_of(await caller.call("run", "echo x > made-in-chat"))
            beat = desk.worktree / "beat"
            loop = "setsid sh -c 'while :; do date +%N > beat; sleep 0.02; done' >/dev/null 2>&1 &"
            assert "exit 0" in text_of(await caller.call("run", loop))
            await until(beat.exists)
            switch(desk, operator, "plan")
            # Within a second, whether or not anybody calls.
            await anyio.sleep(1)
            seen = beat.read_text()
            await anyio.sleep(0.5)
            assert beat.read_text() == seen
            said = text_of(await caller.call("run", "echo x > made-in-plan"))
            assert "Read-only file system" in said
            switch(desk, operator, "chat")
            assert "exit 0" in text_of(await caller.call("run", "echo x > made-in-chat-again"))

    anyio.run(main)
    assert sorted(p.name for p in desk.worktree.iterdir() if p.name.startswith("made")) == [
        "made-in-chat",
        "made-in-chat-again",
    ]


def test_a_switch_and_a_call_at_once_meet_the_new_posture(desk: Desk, operator: Operator) -> None:
    """A call that arrives after the switch finds no server of the old posture."""

    async def main() -> None:
        async with calling(desk.gateway(SWITCHED_OFF, "bubblewrap"), "legacy") as caller:
            for turn in range(3):
                switch(desk, operator, "plan")
                said = text_of(await caller.call("run", f"echo x > in-plan-{turn}"))
                assert "Read-only file system" in said
                switch(desk, operator, "chat")
                said = text_of(await caller.call("run", f"echo x > in-chat-{turn}"))
                assert "exit 0" in said

    anyio.run(main)
    made = sorted(p.name for p in desk.worktree.iterdir() if p.name.startswith("in-"))
    assert made == [f"in-chat-{turn}" for turn in range(3)]


def test_a_switch_between_modes_of_one_sandbox_leaves_the_server(
    desk: Desk, operator: Operator
) -> None:
    """Only another posture restarts it: what a server knows is not lost for nothing."""
    switch(desk, operator, "plan")

    async def main() -> None:
        async with calling(desk.gateway(SWITCHED_OFF, "bubblewrap"), "auto") as caller:
            await caller.call("run", "echo kept > /tmp/kept")
            switch(desk, operator, "orchestrate")
            await anyio.sleep(0.5)
            assert "kept" in text_of(await caller.call("run", "cat /tmp/kept"))

    anyio.run(main)


def test_the_server_sees_no_token_and_no_database(desk: Desk, operator: Operator) -> None:
    """What decides is out of its reach under every mode."""
    (desk.folder / "remit.db.token").write_text("secret-token")

    async def main() -> None:
        async with calling(desk.gateway(SWITCHED_OFF, "bubblewrap"), "auto") as caller:
            said = text_of(await caller.call("run", f"ls -la {desk.folder}; cat {desk.folder}/*"))
            assert "secret-token" not in said
            assert "remit.db" not in said

    anyio.run(main)


def test_the_demo_says_plainly_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on, and says what holds alone then and what to install."""
    from remit.harness.demo import story

    told: list[str] = []

    class Teller:
        def act(self, title: str) -> None:
            told.append(title)

        def say(self, text: str) -> None:
            told.append(text)

    missing = Found(False, why="no `bwrap` on PATH", hint="install it: `apt-get install …`")
    monkeypatch.setattr(story, "BUBBLEWRAP", evolve(BUBBLEWRAP, probe=lambda: missing))
    nobody: Any = None
    play = story._Story(nobody, cast(Any, Teller()), nobody, "chat", story._delivering(), "review")
    anyio.run(play._confine, nobody)
    assert "sandbox: none, for no `bwrap` on PATH" in told[-1]
    assert "apt-get install" in told[-1]


def test_a_missing_sandbox_is_an_error_with_the_cure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where a sandbox is required and bubblewrap is missing, how to install it is said."""
    from remit.harness.sandbox import bubblewrap
    from remit.harness.sandbox.box import SandboxError

    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.setattr(bubblewrap, "_SYSTEM", os.devnull)
    bubblewrap._probe.cache_clear()
    try:
        with pytest.raises(SandboxError, match="apt-get install bubblewrap"):
            choose("bubblewrap")
    finally:
        monkeypatch.undo()
        bubblewrap._probe.cache_clear()
