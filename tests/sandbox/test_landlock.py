"""What Landlock holds, and that all of what it does not hold is told."""

from collections.abc import Iterator

import pytest

from remit.harness.sandbox.landlock import LANDLOCK
from tests.needs import missing
from tests.sandbox.rig import READ_ONLY, SECRET, TOKEN, Rig, rig

HELD = [
    "write", "create", "unlink", "rename", "make_folder", "truncate", "link_inside_to_file",
    "link_inside_to_folder", "link_out_of_the_tree", "proc_self_root", "proc_self_cwd",
    "proc_1_root", "proc_1_root_token", "descriptor_opened_again",
    "folder_descriptor_opened_again", "unnamed_file", "remount", "remount_system_call",
    "mount_over", "unmount", "nested_user_namespace", "nested_user_namespace_alone",
    "enter_namespace", "chroot", "handle", "hard_link_made_beforehand", "unix_socket",
    "unix_datagrams", "unix_datagrams_by_a_pair", "unix_raw_pair", "abstract_socket",
    "virtual_machine_socket", "loopback_tcp", "loopback_udp", "io_uring", "keyring", "move_git",
    "git_commit", "git_hook", "git_helper", "signal_host_process", "environ_of_host_process",
    "environ_of_any_process", "memory_of_host_process", "trace_host_process",
    "terminal_injection", "terminal_injection_high_bits", "operator_token",
    "operator_token_in_environment", "secret_in_environment", "database_read", "database_write",
    "home_secret", "home_secret_file", "write_outside", "write_other_worktree",
    "write_installation", "kernel_setting", "kernel_files", "device",
]  # fmt: skip

#: What goes through, and the word under which it is told.
TOLD = {
    "chmod": "file attributes",
    "utime": "file attributes",
    "setxattr": "file attributes",
    "fifo": None,
}


@pytest.fixture(params=["root", "user"])
def here(request: pytest.FixtureRequest) -> Iterator[Rig]:
    """A rig for each user."""
    found = LANDLOCK.probe()
    if not found.works:
        missing(f"Landlock: {found.why}")
    with rig(request.param) as made:
        made.facts["hard_link"] = str(made.worktree / "hard-link")
        (made.worktree / "hard-link").hardlink_to(made.worktree / "file")
        made.facts["scratch"] = str(made.base / "scratch")
        (made.base / "scratch").mkdir()
        made.own()
        yield made


def test_each_attack_is_refused_or_told(here: Rig, subtests: pytest.Subtests) -> None:
    """The tree is as it was, and no secret is said; what goes through is among the advisories."""
    answers = here.attack(
        [*HELD, *TOLD],
        "landlock",
        refuse=[*READ_ONLY, "network.egress"],
        scratch=str(here.base / "scratch"),
    )

    for name in HELD:
        with subtests.test(name):
            answer = answers[name]
            assert answer["refused"], answer["said"]
            assert not answer["changed"]
            assert TOKEN not in str(answer)
            assert SECRET not in str(answer)
    for name in filter(TOLD.get, TOLD):
        with subtests.test(name):
            assert not answers[name]["refused"]
            assert TOLD[name] in answers[name]["advisory"]


def test_what_lies_in_a_writable_folder_is_told_path_by_path(here: Rig) -> None:
    """A writable folder is writable in all its parts: each protected path there is advisory."""
    (answer,) = here.run([("/bin/true",)], "landlock")
    for name in (".git/hooks", ".git/config", ".claude"):
        assert str(here.worktree / name) in answer["advisory"]
