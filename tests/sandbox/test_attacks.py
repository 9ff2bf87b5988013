"""Attacks on the sandbox, each by its name, as root and as an unprivileged user (S003-24)."""

from collections.abc import Iterator

import pytest

from tests.needs import need
from tests.sandbox.rig import READ_ONLY, SECRET, TOKEN, Rig, rig

WHO = ["root", "user"]

#: Refused in a read-only worktree without network.
REFUSED = [
    "write", "create", "unlink", "rename", "make_folder", "truncate", "chmod", "utime", "chown",
    "setxattr", "link_inside_to_file", "link_inside_to_folder", "link_from_scratch",
    "link_out_of_the_tree", "hard_link_out", "proc_self_root", "proc_self_cwd", "proc_1_root",
    "proc_1_root_token", "descriptor_opened_again", "folder_descriptor_opened_again",
    "unnamed_file", "remount", "remount_system_call", "mount_over", "unmount", "unmount_hidden",
    "new_mount_interface", "clone_of_the_tree", "nested_user_namespace",
    "nested_user_namespace_alone", "nested_user_namespace_by_clone", "enter_namespace",
    "enter_own_namespace", "chroot", "handle", "hard_link_made_beforehand", "unix_socket",
    "unix_datagrams", "unix_datagrams_by_a_pair", "unix_raw_pair", "unix_stream_pair_turned",
    "abstract_socket", "virtual_machine_socket", "loopback_tcp", "loopback_udp", "io_uring",
    "keyring", "other_call_table", "move_git", "git_commit", "git_hook", "git_hooks_replaced",
    "git_helper", "git_helper_by_hand", "git_config_replaced", "agent_host_settings",
    "agent_host_settings_in_folder", "agent_host_settings_replaced", "plans_folder",
    "signal_host_process", "signal_everyone", "environ_of_host_process",
    "environ_of_any_process", "memory_of_host_process", "trace_host_process",
    "terminal_injection", "terminal_injection_high_bits", "operator_token",
    "operator_token_in_environment", "secret_in_environment", "database_read", "database_write",
    "home_secret", "home_secret_file", "write_outside", "write_other_worktree",
    "write_installation", "device", "kernel_setting",
    "kernel_files",
]  # fmt: skip

#: Refused where the worktree may be written and nothing is refused: what is protected.
PROTECTED = [
    "write_outside", "write_other_worktree", "write_installation", "move_git", "git_hook",
    "git_hooks_replaced", "git_helper", "git_helper_by_hand", "git_config_replaced",
    "agent_host_settings", "agent_host_settings_in_folder", "agent_host_settings_replaced",
    "plans_folder", "operator_token", "operator_token_in_environment", "proc_1_root_token",
    "unmount_hidden", "database_read", "database_write", "unix_socket", "unix_datagrams",
    "unix_datagrams_by_a_pair", "nested_user_namespace_alone", "environ_of_any_process",
    "signal_host_process", "link_out_of_the_tree", "io_uring", "virtual_machine_socket",
    "hard_link_out", "remount_system_call", "terminal_injection", "kernel_setting",
    "kernel_files",
]  # fmt: skip
#: And what must still be possible there.
POSSIBLE = ["write", "create", "make_folder", "chmod", "git_commit", "loopback_tcp", "home_secret"]

#: Known holes: they go through, and are told.
HOLES = {"fifo": "FIFOs", "hard_link_made_beforehand": "hard links"}


@pytest.fixture(params=WHO)
def here(request: pytest.FixtureRequest) -> Iterator[Rig]:
    """A rig for each user."""
    need("bwrap", debian="bubblewrap")
    with rig(request.param) as made:
        made.facts["hard_link"] = str(made.worktree / "hard-link")
        (made.worktree / "hard-link").hardlink_to(made.worktree / "file")
        yield made


def test_each_attack_on_a_read_only_worktree_is_refused(
    here: Rig, subtests: pytest.Subtests
) -> None:
    """Nothing gets through, no byte of the tree changes, and no secret is said.

    A FIFO in the tree is a hole that no mount closes; it is told.
    """
    answers = here.attack(
        [*REFUSED, "fifo"], "bubblewrap", refuse=[*READ_ONLY, "network.egress", "secret.read"]
    )

    for name in REFUSED:
        with subtests.test(name):
            answer = answers[name]
            assert answer["refused"], answer["said"]
            assert not answer["changed"]
            assert TOKEN not in str(answer)
            assert SECRET not in str(answer)
    assert not answers["fifo"]["refused"]
    assert HOLES["fifo"] in answers["fifo"]["advisory"]


def test_each_attack_on_what_is_protected_is_refused_where_the_worktree_is_writable(
    here: Rig, subtests: pytest.Subtests
) -> None:
    """The absence of policy still keeps the operator's own, and what others would run.

    It is no stricter than it must be: files, commits and the network work.
    """
    answers = here.attack([*PROTECTED, *POSSIBLE], "bubblewrap")

    for name in PROTECTED:
        with subtests.test(name):
            answer = answers[name]
            assert answer["refused"], answer["said"]
            assert TOKEN not in str(answer)
    for name in POSSIBLE:
        with subtests.test(name):
            assert not answers[name]["refused"], answers[name]["said"]


def test_a_hard_link_in_a_writable_mount_writes_through_and_that_is_told(here: Rig) -> None:
    """A link made beforehand from a read-only tree into a writable folder is a hole."""
    scratch = here.base / "scratch"
    scratch.mkdir()
    link = scratch / "hard"
    link.hardlink_to(here.worktree / "folder" / "inner")
    here.own()
    before = here.facts["hard_link"]
    here.facts["hard_link"] = str(link)
    try:
        answer = here.attack(
            ["hard_link_made_beforehand"], "bubblewrap", refuse=READ_ONLY, scratch=str(scratch)
        )["hard_link_made_beforehand"]
    finally:
        here.facts["hard_link"] = before
    assert not answer["refused"]
    assert answer["changed"]
    assert HOLES["hard_link_made_beforehand"] in answer["advisory"]


#: Attacks that must go through where nothing holds them, or the tests above prove nothing.
REAL = [
    "unix_socket", "unix_datagrams", "unix_datagrams_by_a_pair", "unix_raw_pair",
    "abstract_socket", "loopback_tcp", "environ_of_host_process", "operator_token",
    "database_read", "home_secret", "chmod", "utime", "link_inside_to_file", "hard_link_out",
    "descriptor_opened_again", "unnamed_file", "proc_self_root", "git_helper", "git_hook",
    "git_commit", "move_git",
]  # fmt: skip


@pytest.mark.parametrize("who", WHO)
def test_the_attacks_are_real(who: str) -> None:
    """Without a sandbox they go through, so a refusal above is the sandbox's work."""
    with rig(who) as made:
        made.facts["scratch"] = str(made.base)
        answers = made.attack(REAL, "none", refuse=READ_ONLY)
    assert {n: a["said"] for n, a in answers.items() if a["refused"]} == {}
