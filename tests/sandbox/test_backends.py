"""Backends: chosen by rank or by name, each a pure function of the mounts."""

import os
import platform
import struct
from pathlib import Path
from typing import Any

import pytest

from remit.harness.sandbox import bubblewrap, landlock
from remit.harness.sandbox.box import BUILT_IN, Box, SandboxError, box, choose
from remit.harness.sandbox.bubblewrap import BUBBLEWRAP, arguments
from remit.harness.sandbox.nothing import NONE
from remit.harness.sandbox.seatbelt import profile_text
from remit.harness.sandbox.seccomp import ARCHITECTURES, filter_program
from remit.plugins.hookspecs import hookimpl
from remit.plugins.registry import PluginError, load_plugins
from remit.policy.backend import RESERVED, Backend, Found, Launch
from remit.policy.ceiling import TOP, Ceiling
from remit.policy.confine import confine
from remit.policy.mounts import Mounts
from remit.policy.places import Ground, Kind, Place
from remit.policy.problems import InputError

GOLDEN = Path(__file__).parent / "golden"
READ_ONLY = Ceiling(refuse={"worktree.write", "file.write_outside", "network.egress"})
LIMITED = Ceiling(
    limit={
        "worktree.write": frozenset({frozenset({"docs/**", "!docs/private/**"})}),
        "network.egress": frozenset({frozenset({"localhost"})}),
    }
)
GROUND = Ground(
    worktree="/Users/u/tree",
    home="/Users/u",
    control=("/Users/u/.local/share/remit/remit.db.token",),
    protected=("/Users/u/tree/.claude",),
    git="/Users/u/tree/.git",
    visible=('/tmp/a "quoted" folder',),
    names=frozenset({"PATH", "HOME", "SECRET"}),
)


def settled(ceiling: Ceiling) -> Mounts:
    there = {".ssh", ".netrc"}
    wanted = confine(ceiling, GROUND)
    places = {
        m.path: Place(Kind.MISSING, m.path)
        for m in wanted.mounts
        if m.cause.value == "secret" and Path(m.path).name not in there
    }
    return wanted.settle(places)


class TestSeatbelt:
    @pytest.mark.parametrize(
        ("name", "ceiling"), [("top", TOP), ("read-only", READ_ONLY), ("limited", LIMITED)]
    )
    def test_the_profile_is_as_it_was_read(self, name: str, ceiling: Ceiling) -> None:
        """It is not run here, so a change of it is to be seen by a person."""
        assert profile_text(settled(ceiling)) == (GOLDEN / f"seatbelt-{name}.sb").read_text()

    def test_later_rules_narrow_earlier_ones(self) -> None:
        """The hidden comes after what it lies in, and sockets by path after the network."""
        text = profile_text(settled(TOP))
        order = [
            '(allow file-read* file-write* (subpath "/Users/u/tree"))',
            '(deny file-write* (subpath "/Users/u/tree/.claude"))',
            "(allow network*)",
            "(deny network* (remote unix-socket))",
        ]
        assert sorted(order, key=text.index) == order

    def test_a_quote_in_a_path_ends_nothing(self) -> None:
        """A folder's name is data."""
        assert r'(subpath "/tmp/a \"quoted\" folder")' in profile_text(settled(TOP))

    def test_it_is_chosen_by_a_word_alone(self) -> None:
        """What was never run is not trusted unasked."""
        seatbelt = next(b for b in BUILT_IN if b.name == "seatbelt")
        assert not seatbelt.chosen


class TestBubblewrap:
    @pytest.mark.parametrize("ceiling", [TOP, READ_ONLY, LIMITED])
    def test_what_is_never_left_out(self, ceiling: Ceiling) -> None:
        """Root inside could remount without `--cap-drop ALL`, whatever the posture."""
        options = arguments(settled(ceiling), "/", {})
        for flag in (
            "--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-ipc",
            "--unshare-uts", "--die-with-parent", "--new-session", "--clearenv",
        ):  # fmt: skip
            assert flag in options
        at = options.index("--cap-drop")
        assert options[at + 1] == "ALL"
        root = options.index("--ro-bind")
        assert options[root + 1 : root + 3] == ("/", "/")
        assert "/proc/sys" in options

    def test_the_network_is_shared_only_where_it_is_not_refused(self) -> None:
        """An own network namespace is the whole of it."""
        assert "--unshare-net" not in arguments(settled(TOP), "/", {})
        assert "--unshare-net" in arguments(settled(READ_ONLY), "/", {})
        assert "--unshare-net" in arguments(settled(LIMITED), "/", {})

    def test_the_filter_goes_with_every_start(self) -> None:
        """A descriptor's number stands for it until the start."""
        launch = BUBBLEWRAP.launch(settled(TOP), ("true",), "/", {})
        assert "{filter}" in launch.argv
        assert launch.feeds["filter"] == filter_program()

    def test_one_that_is_too_old_is_not_used(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """It has not the flags that hold."""
        self.fake(tmp_path, "echo bubblewrap 0.4.1")
        self.only(monkeypatch, tmp_path)
        found = BUBBLEWRAP.probe()
        assert not found.works
        assert "older than 0.8.0" in found.why

    def test_one_that_the_system_refuses_says_so(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """Where unprivileged namespaces are off, what to allow is said."""
        said = "bwrap: setting up uid map: Permission denied"
        self.fake(
            tmp_path,
            f'test "$1" = --version && echo bubblewrap 0.9.0 || {{ echo "{said}" >&2; exit 1; }}',
        )
        self.only(monkeypatch, tmp_path)
        found = BUBBLEWRAP.probe()
        assert not found.works
        assert "Permission denied" in found.why
        assert "user namespaces" in found.hint

    @pytest.fixture(autouse=True)
    def _fresh(self) -> Any:
        yield
        bubblewrap._probe.cache_clear()

    def fake(self, folder: Path, script: str) -> None:
        program = folder / "bwrap"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    def only(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        bubblewrap._probe.cache_clear()
        monkeypatch.setattr(bubblewrap, "_SYSTEM", str(folder))


class TestChoice:
    def test_the_first_that_works_is_taken(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """And never `none`, which is nobody's choice but the operator's."""
        self.without(monkeypatch, BUBBLEWRAP)
        if landlock.LANDLOCK.probe().works:
            assert choose("auto").name == "landlock"
        self.without(monkeypatch, BUBBLEWRAP, landlock.LANDLOCK)
        with pytest.raises(SandboxError, match="apt-get install bubblewrap"):
            choose("auto")
        assert choose("none") is NONE

    def test_a_misspelled_one_is_named_right(self) -> None:
        """A near miss is an error of the input, never another sandbox."""
        with pytest.raises(InputError, match="did you mean `bubblewrap`"):
            choose("bubblewarp")

    def test_the_reserved_names_are_those_that_there_are(self) -> None:
        """No plugin can take one."""
        assert {b.name for b in BUILT_IN} | {"auto"} == RESERVED

    def without(self, monkeypatch: pytest.MonkeyPatch, *gone: Backend) -> None:
        from attrs import evolve

        from remit.harness.sandbox import box as module

        absent = Found(False, why="it is not here", hint="`apt-get install bubblewrap`")
        monkeypatch.setattr(
            module,
            "BUILT_IN",
            tuple(evolve(b, probe=lambda: absent) if b in gone else b for b in BUILT_IN),
        )


def _launch(mounts: Mounts, command: tuple[str, ...], cwd: str, environment: Any) -> Launch:
    return Launch(("acme", *command))


class TestPlugins:
    def plugin(self, name: str) -> Any:
        class Plugin:
            @hookimpl
            def sandbox_backend(self) -> list[Backend]:
                return [Backend(name, _launch, lambda mounts: (), lambda: Found(True), rank=1)]

        return Plugin()

    def test_a_backend_of_a_plugin_is_one_of_them(self) -> None:
        """It is ranked with ours."""
        registry = load_plugins(extra={"acme": self.plugin("acme")})
        assert choose("auto", registry.backends).name == "acme"

    @pytest.mark.parametrize("name", sorted(RESERVED))
    def test_none_takes_the_name_of_ours(self, name: str) -> None:
        """A plugin that could would be a sandbox that is not there."""
        with pytest.raises(PluginError, match="is taken"):
            load_plugins(extra={"acme": self.plugin(name)})


class TestFilter:
    @pytest.mark.parametrize("machine", sorted(ARCHITECTURES))
    def test_every_jump_lands_within_the_program(self, machine: str) -> None:
        """And every path through it ends in an answer."""
        program = filter_program(machine)
        assert program is not None
        code = list(struct.iter_unpack("=HBBI", program))
        for at, (kind, yes, no, _) in enumerate(code):
            if kind & 7 == 5:
                assert at + 1 + max(yes, no) < len(code)
        assert code[-1][0] == 6

    def test_an_unknown_processor_has_none_and_that_is_told(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What the filter would close is then advisory."""
        monkeypatch.setattr(platform, "machine", lambda: "z80")
        assert filter_program() is None
        launch = BUBBLEWRAP.launch(settled(TOP), ("true",), "/", {})
        assert "{filter}" not in launch.argv
        assert "unix sockets" in [a.what for a in BUBBLEWRAP.lacks(settled(TOP))]


def test_none_is_explicit_and_advisory() -> None:
    """It holds nothing, says so, and keeps only remit's own variables from a command."""
    launch = NONE.launch(settled(READ_ONLY), ("true",), "/", {"A": "1", "REMIT_OPERATOR": "t"})
    assert launch.argv == ("true",)
    assert dict(launch.environment) == {"A": "1"}
    assert not NONE.holds
    assert [a.what for a in NONE.lacks(settled(READ_ONLY))] == ["sandbox mounts"]


@pytest.mark.parametrize(
    "ground",
    [Ground(worktree="/"), Ground(worktree="/no/such"), Ground(worktree="/usr", writable=("/",))],
)
def test_a_worktree_that_cannot_be_one_is_refused(ground: Ground) -> None:
    """The whole machine is no worktree, and a missing folder is none."""
    with pytest.raises(SandboxError, match="folder"):
        box(TOP, ground, NONE)


def test_a_box_starts_where_it_can_be_seen(tmp_path: Path) -> None:
    """A folder that the sandbox has for itself is no place to start in."""
    worktree = os.path.realpath(tmp_path)
    made: Box = box(TOP, Ground(worktree=worktree), NONE, "/tmp")
    assert made.cwd == worktree
