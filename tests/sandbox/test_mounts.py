"""The mounts as a value: from ceiling and ground alone."""

from collections.abc import Mapping
from posixpath import dirname

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.harness.sandbox.bubblewrap import arguments
from remit.policy.ceiling import TOP, Ceiling, narrow
from remit.policy.confine import confine
from remit.policy.mounts import Access, Mounts, Network, ancestors, within
from remit.policy.places import Ground, Kind, Place
from remit.policy.selectors import admits_targets
from remit.policy.vocabulary import EFFECTS

ROOT = "/work/tree"
GROUND = Ground(
    worktree=ROOT,
    home="/home/u",
    scratch="/var/scratch/s",
    control=("/home/u/.local/share/remit/remit.db", "/home/u/.local/share/remit/remit.db.token"),
    protected=(f"{ROOT}/.claude", f"{ROOT}/.remit", f"{ROOT}/.mcp.json", f"{ROOT}/.git/hooks"),
    installation=("/usr/lib/remit",),
    visible=("/tmp/venv",),
    others=("/work/other", f"{ROOT}/nested"),
    git=f"{ROOT}/.git",
    writable=("/opened",),
    names=frozenset({"PATH", "HOME", "LC_ALL", "SECRET", "REMIT_OPERATOR", "WANTED"}),
    keep=frozenset({"WANTED", "REMIT_OPERATOR"}),
)


def limit(*lists: tuple[str, ...], effect: str = "worktree.write") -> Ceiling:
    return Ceiling(limit={effect: frozenset(frozenset(one) for one in lists)})


def settled(
    ceiling: Ceiling, ground: Ground = GROUND, places: Mapping[str, Place] | None = None
) -> Mounts:
    return confine(ceiling, ground).settle(places or {})


class TestPosture:
    def test_a_read_only_worktree_is_read_only_in_all_its_parts(self) -> None:
        """Nothing but the scratch can be written (S003-24)."""
        mounts = settled(Ceiling(refuse={"worktree.write"}))
        assert mounts.at(f"{ROOT}/any/file") is Access.READ
        assert mounts.paths(Access.WRITE) == ("/opened", "/var/scratch/s")

    def test_writing_outside_is_refused_but_for_the_scratch(self) -> None:
        """Folders that the operator opened stay shut where the ceiling refuses them."""
        mounts = settled(Ceiling(refuse={"worktree.write", "file.write_outside"}))
        assert mounts.paths(Access.WRITE) == ("/var/scratch/s",)

    def test_a_writable_worktree_keeps_what_is_protected(self) -> None:
        """Read-only, other spaces' worktrees too; the folders above cannot be moved away."""
        mounts = settled(TOP)
        assert mounts.at(f"{ROOT}/src/x") is Access.WRITE
        for path in (".claude/settings.json", ".remit/plans/p.md", ".git/hooks/x", "nested/x"):
            assert mounts.at(f"{ROOT}/{path}") is Access.READ, path
        assert f"{ROOT}/.git" in mounts.paths(Access.WRITE)

    def test_without_commits_the_repository_is_read_only(self) -> None:
        """An effect that mounts can hold is held, though the index is shut with it."""
        mounts = settled(Ceiling(refuse={"git.commit"}))
        assert mounts.at(f"{ROOT}/.git/refs/heads/main") is Access.READ
        assert mounts.at(f"{ROOT}/file") is Access.WRITE
        assert "git.commit" in mounts.holds

    def test_the_token_is_hidden_under_every_ceiling(self) -> None:
        """So is the database; secrets of the home are, under all but the top one."""
        places = {f"/home/u/{n}": Place(Kind.FOLDER, f"/home/u/{n}") for n in (".ssh", ".aws")}
        for ceiling in (TOP, Ceiling(refuse={"worktree.write"}), limit(("docs/**",))):
            mounts = settled(ceiling, places=places)
            assert mounts.at(GROUND.control[1]) is Access.HIDDEN
            shown = mounts.at("/home/u/.ssh/id") is Access.READ
            assert shown == (ceiling == TOP)

    def test_without_a_worktree_nothing_is_writable_but_the_scratch(self) -> None:
        """A space need not have one."""
        mounts = settled(TOP, Ground(scratch="/var/scratch/s"))
        assert mounts.paths(Access.WRITE) == ("/var/scratch/s",)

    def test_a_mode_that_admits_nothing_can_do_nothing(self) -> None:
        """A stored mode that no longer resolves never widens, in the mounts either."""
        mounts = settled(Ceiling(allow=frozenset({frozenset[str]()})))
        assert mounts.paths(Access.WRITE) == ("/var/scratch/s",)
        assert mounts.network is Network.NONE


class TestLimits:
    @pytest.mark.parametrize(
        ("lists", "writable", "shut"),
        [
            ([("docs/**",)], ["docs/a", "docs/b/c"], ["src/a", ".git/x", "docs2/a"]),
            ([("docs/**", "!docs/private/**")], ["docs/a"], ["docs/private/a", "src"]),
            ([("docs/**",), ("docs/api/**", "src/**")], ["docs/api/x"], ["docs/x", "src/x"]),
            ([("docs/**",), ("src/**",)], [], ["docs/x", "src/x"]),
            ([("**", "!src/**")], ["a", "docs/x"], ["src/x"]),
            ([("README",)], ["README"], ["a", "docs/x"]),
            ([("../out/**", "/etc/**")], [], ["a", "../out/x"]),
        ],
    )
    def test_folders_that_patterns_name_are_sub_mounts(
        self, lists: list[tuple[str, ...]], writable: list[str], shut: list[str]
    ) -> None:
        """Each list must admit a path; what one excludes is shut."""
        mounts = settled(limit(*lists))
        assert [p for p in writable if mounts.at(f"{ROOT}/{p}") is not Access.WRITE] == []
        assert [p for p in shut if mounts.at(f"{ROOT}/{p}") is Access.WRITE] == []

    @pytest.mark.parametrize("pattern", ["**/*.md", "docs/*.md", "!docs/*.md", "a?/**"])
    def test_what_mounts_cannot_say_is_advisory(self, pattern: str) -> None:
        """The nearest folder is opened, and that this is more is told."""
        mounts = settled(limit((pattern, "docs/**")))
        assert f"worktree.write {pattern}" in [a.what for a in mounts.advisory]

    def test_an_opened_folder_is_no_way_to_the_repository(self) -> None:
        """Only where the whole worktree can be written is repository data."""
        assert settled(limit(("docs/**",))).at(f"{ROOT}/.git/HEAD") is Access.READ


class TestNetwork:
    @pytest.mark.parametrize(
        ("ceiling", "network"),
        [
            (TOP, Network.FULL),
            (Ceiling(refuse={"network.egress"}), Network.NONE),
            (limit(("localhost", "127.0.0.1"), effect="network.egress"), Network.LOOPBACK),
            (limit(("example.org",), effect="network.egress"), Network.FULL),
        ],
    )
    def test_it_is_off_where_egress_is_refused(self, ceiling: Ceiling, network: Network) -> None:
        """A limit to this machine is loopback; one to other hosts is advisory."""
        mounts = settled(ceiling)
        assert mounts.network is network
        assert ("net" in mounts.namespaces) == (network is not Network.FULL)
        hosts = "network.egress" in [a.what for a in mounts.advisory]
        assert hosts == (ceiling.limit != {} and network is Network.FULL)

    def test_what_only_the_network_leaves_open_is_held_without_it(self) -> None:
        """A refused push is advisory while the network is open."""
        assert "git.push" in [a.what for a in settled(Ceiling(refuse={"git.push"})).advisory]
        assert "git.push" in settled(Ceiling(refuse={"git.push", "network.egress"})).holds


def test_the_environment_is_an_allow_list() -> None:
    """What the operator lets through is kept besides, but for remit's own."""
    mounts = settled(TOP)
    assert mounts.env_kept == ("HOME", "LC_ALL", "PATH", "WANTED")
    assert mounts.env_dropped == ("REMIT_OPERATOR", "SECRET")


class TestSettling:
    def test_what_is_missing_is_not_mounted(self) -> None:
        """But a protected path in a writable folder is held by a placeholder."""
        gone = {p: Place(Kind.MISSING, p) for p in (f"{ROOT}/.claude", "/home/u/.ssh")}
        mounts = settled(Ceiling(refuse={"git.push"}), places=gone)
        held = {m.path for m in mounts.mounts if m.placeholder}
        assert held == {f"{ROOT}/.claude"}
        assert "/home/u/.ssh" not in [m.path for m in mounts.mounts]

    def test_a_read_only_worktree_needs_no_placeholder(self) -> None:
        """Nothing can be made there anyway, and the tree stays untouched."""
        gone = {f"{ROOT}/.claude": Place(Kind.MISSING, f"{ROOT}/.claude")}
        mounts = settled(Ceiling(refuse={"worktree.write"}), places=gone)
        assert not any(m.placeholder for m in mounts.mounts)

    def test_what_nobody_here_could_make_needs_no_placeholder(self) -> None:
        """A folder that whoever starts it cannot write, the command cannot write either."""
        gone = {
            ROOT: Place(Kind.FOLDER, ROOT, writable=False),
            f"{ROOT}/.claude": Place(Kind.MISSING, f"{ROOT}/.claude"),
        }
        mounts = settled(TOP, places=gone)
        assert not any(m.placeholder for m in mounts.mounts)

    def test_a_writable_mount_never_follows_a_link(self) -> None:
        """It is left out, and that is told."""
        lead = {f"{ROOT}/docs": Place(Kind.FOLDER, "/home/u")}
        mounts = settled(limit(("docs/**",)), places=lead)
        assert mounts.at("/home/u/x") is not Access.WRITE
        assert f"{ROOT}/docs" in [a.what for a in mounts.advisory]

    def test_a_protected_link_in_a_writable_folder_is_told(self) -> None:
        """What it leads to is kept; the link itself can be replaced."""
        lead = {f"{ROOT}/.claude": Place(Kind.FOLDER, f"{ROOT}/settings")}
        mounts = settled(TOP, places=lead)
        assert mounts.at(f"{ROOT}/settings/x") is Access.READ
        assert f"{ROOT}/.claude" in [a.what for a in mounts.advisory]

    def test_a_token_in_the_worktree_itself_is_hidden_alone_and_told(self) -> None:
        """Its folder is needed, so only the files are hidden."""
        ground = Ground(worktree=ROOT, control=(f"{ROOT}/remit.db.token",))
        mounts = settled(TOP, ground)
        assert mounts.at(f"{ROOT}/remit.db.token") is Access.HIDDEN
        assert mounts.at(f"{ROOT}/file") is Access.WRITE
        assert f"{ROOT}/remit.db.token" in [a.what for a in mounts.advisory]


SEGMENTS = st.sampled_from(["docs", "src", "a", "private", ".git", "hooks", "README"])
PATHS = st.lists(SEGMENTS, min_size=1, max_size=4).map("/".join)
PATTERNS = st.tuples(
    st.sampled_from(["", "!"]), PATHS, st.sampled_from(["", "/**", "/*", "*"])
).map("".join)
LISTS = st.lists(st.lists(PATTERNS, min_size=1, max_size=3).map(tuple), max_size=3)
CEILINGS = st.builds(
    lambda refuse, lists: narrow(Ceiling(refuse=refuse), limit(*lists) if lists else TOP),
    st.sets(st.sampled_from(sorted(EFFECTS))),
    LISTS,
)


def told(mounts: Mounts) -> bool:
    return any(a.what.startswith("worktree.write ") for a in mounts.advisory)


class TestLaws:
    @settings(deadline=None)
    @given(CEILINGS, PATHS)
    def test_mounts_are_never_looser_than_the_guard(self, ceiling: Ceiling, path: str) -> None:
        """Writable is only what the ceiling admits to be written, or it is told."""
        mounts = settled(ceiling)
        if mounts.at(f"{ROOT}/{path}") is Access.WRITE:
            assert "worktree.write" not in ceiling.refuse
            admitted = all(
                admits_targets(one, [path]) or admits_targets(one, [f"{path}/x"])
                for one in ceiling.limit.get("worktree.write", ())
            )
            assert admitted or told(mounts)

    @settings(deadline=None)
    @given(CEILINGS, CEILINGS, PATHS)
    def test_narrowing_never_opens(self, one: Ceiling, other: Ceiling, path: str) -> None:
        """What the meet lets write, both sides let write; what a side hides, the meet hides."""
        met = settled(narrow(one, other))
        sides = [settled(one), settled(other)]
        place = f"{ROOT}/{path}"
        if met.at(place) is Access.WRITE:
            assert all(s.at(place) is Access.WRITE for s in sides)
        assert met.network is Network.NONE or Network.NONE not in [s.network for s in sides]
        hidden = {p for s in sides for p in s.paths(Access.HIDDEN)}
        assert hidden <= set(met.paths(Access.HIDDEN))

    @settings(deadline=None)
    @given(CEILINGS)
    def test_whatever_is_kept_in_a_writable_folder_cannot_be_moved_away(
        self, ceiling: Ceiling
    ) -> None:
        """Each folder between the two is a mount itself."""
        mounts = settled(ceiling)
        paths = {m.path for m in mounts.mounts}
        for mount in mounts.mounts:
            if mount.access is Access.WRITE:
                continue
            above = [a for a in ancestors(mount.path) if a != "/"]
            root = next((a for a in above if a in paths), None)
            if root is not None and mounts.at(root) is Access.WRITE:
                assert dirname(mount.path) == root

    @settings(deadline=None)
    @given(CEILINGS)
    def test_equal_inputs_give_equal_arguments(self, ceiling: Ceiling) -> None:
        """Parents are mounted before what lies in them."""
        mounts = settled(ceiling)
        assert arguments(mounts, ROOT, {}) == arguments(settled(ceiling), ROOT, {})
        for i, mount in enumerate(mounts.mounts):
            assert not any(within(mount.path, later.path) for later in mounts.mounts[i + 1 :])

    @given(CEILINGS)
    @settings(deadline=None)
    def test_every_refusal_is_held_or_told(self, ceiling: Ceiling) -> None:
        """Never silently less."""
        mounts = settled(ceiling)
        assert ceiling.refuse == set(mounts.holds) | (
            ceiling.refuse & {a.what for a in mounts.advisory}
        )
