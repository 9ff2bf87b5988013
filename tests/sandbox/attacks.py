"""Attacks, run inside a sandbox as `python attacks.py NAME FACTS`; the answer is one JSON line.

An attack raises if it was refused. What it returns says that it went through.
"""

import ctypes
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

libc = ctypes.CDLL(None, use_errno=True)


class Facts:
    """What the attacker knows of the rig."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self._facts = facts

    def __getattr__(self, name: str) -> Any:
        return self._facts[name]


Attack = Callable[[Facts], object]
ATTACKS: dict[str, Attack] = {}


def attack(function: Attack) -> Attack:
    ATTACKS[function.__name__] = function
    return function


def syscall(*args: object) -> int:
    result: int = libc.syscall(*args)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def run(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=20)
    if done.returncode:
        raise PermissionError((done.stderr or done.stdout).strip()[-300:])
    return done.stdout


@attack
def write(f: Facts) -> None:
    with open(f.file, "a") as file:
        file.write("x")


@attack
def create(f: Facts) -> None:
    Path(f.worktree, "new").write_text("x")


@attack
def unlink(f: Facts) -> None:
    os.unlink(f.file)


@attack
def rename(f: Facts) -> None:
    os.rename(f.file, f.file + "2")


@attack
def make_folder(f: Facts) -> None:
    os.mkdir(f.worktree + "/newdir")


@attack
def truncate(f: Facts) -> None:
    os.truncate(f.file, 0)


@attack
def chmod(f: Facts) -> None:
    os.chmod(f.file, 0o777)


@attack
def utime(f: Facts) -> None:
    os.utime(f.file, (1, 1))


@attack
def chown(f: Facts) -> None:
    os.chown(f.file, os.getuid(), os.getgid())


@attack
def setxattr(f: Facts) -> None:
    os.setxattr(f.file, "user.x", b"1")


@attack
def link_inside_to_file(f: Facts) -> None:
    with open(f.link_file, "a") as file:
        file.write("x")


@attack
def link_inside_to_folder(f: Facts) -> None:
    Path(f.link_folder, "new").write_text("x")


@attack
def link_from_scratch(f: Facts) -> None:
    os.symlink(f.worktree, f.scratch + "/way")
    Path(f.scratch, "way", "new").write_text("x")


@attack
def link_out_of_the_tree(f: Facts) -> None:
    with open(f.link_out, "a") as file:
        file.write("x")


@attack
def hard_link_out(f: Facts) -> None:
    os.link(f.file, f.scratch + "/hard")
    with open(f.scratch + "/hard", "a") as file:
        file.write("x")


@attack
def proc_self_root(f: Facts) -> None:
    with open("/proc/self/root" + f.file, "a") as file:
        file.write("x")


@attack
def proc_self_cwd(f: Facts) -> None:
    os.chdir(f.worktree)
    with open("/proc/self/cwd/" + os.path.basename(f.file), "a") as file:
        file.write("x")


@attack
def proc_1_root(f: Facts) -> None:
    with open("/proc/1/root" + f.file, "a") as file:
        file.write("x")


@attack
def proc_1_root_token(f: Facts) -> object:
    return Path("/proc/1/root" + f.token).read_text()


@attack
def descriptor_opened_again(f: Facts) -> None:
    fd = os.open(f.file, os.O_RDONLY)
    with open(f"/proc/self/fd/{fd}", "a") as file:
        file.write("x")


@attack
def folder_descriptor_opened_again(f: Facts) -> None:
    fd = os.open(f.worktree, os.O_RDONLY)
    Path(f"/proc/self/fd/{fd}/new").write_text("x")


@attack
def unnamed_file(f: Facts) -> None:
    os.open(f.worktree, os.O_TMPFILE | os.O_RDWR)


@attack
def remount(f: Facts) -> None:
    run("mount", "-o", "remount,rw,bind", f.worktree)
    write(f)


@attack
def remount_system_call(f: Facts) -> None:
    if libc.mount(None, f.worktree.encode(), None, 0x1000 | 0x20, None):
        raise OSError(ctypes.get_errno(), "mount")
    write(f)


@attack
def mount_over(f: Facts) -> None:
    run("mount", "-t", "tmpfs", "tmpfs", f.worktree)


@attack
def unmount(f: Facts) -> None:
    if libc.umount2(f.worktree.encode(), 2):
        raise OSError(ctypes.get_errno(), "umount")


@attack
def unmount_hidden(f: Facts) -> object:
    if libc.umount2(os.path.dirname(f.token).encode(), 2):
        raise OSError(ctypes.get_errno(), "umount")
    return Path(f.token).read_text()


@attack
def new_mount_interface(f: Facts) -> None:
    syscall(430, b"tmpfs", 0)


@attack
def clone_of_the_tree(f: Facts) -> None:
    syscall(428, -100, f.worktree.encode(), 1)


@attack
def nested_user_namespace(f: Facts) -> None:
    run(
        "unshare",
        "-Urm",
        "sh",
        "-c",
        f"mount -o remount,rw,bind {f.worktree} && echo x >> {f.file}",
    )


@attack
def nested_user_namespace_alone(f: Facts) -> None:
    if libc.unshare(0x10000000):
        raise OSError(ctypes.get_errno(), "unshare")


@attack
def nested_user_namespace_by_clone(f: Facts) -> None:
    pid = syscall(56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


@attack
def enter_namespace(f: Facts) -> None:
    run("nsenter", "-t", "1", "-m", "sh", "-c", f"echo x >> {f.file}")


@attack
def enter_own_namespace(f: Facts) -> None:
    fd = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    syscall(308, fd, 0)


@attack
def chroot(f: Facts) -> None:
    os.chroot("/proc/1/root")
    write(f)


@attack
def handle(f: Facts) -> None:
    libc.open_by_handle_at.restype = ctypes.c_int
    buffer = ctypes.create_string_buffer(136)
    ctypes.memmove(buffer, (128).to_bytes(4, "little"), 4)
    mount_id = ctypes.c_int()
    if libc.name_to_handle_at(-100, f.file.encode(), buffer, ctypes.byref(mount_id), 0):
        raise OSError(ctypes.get_errno(), "name_to_handle_at")
    root = os.open(f.worktree, os.O_RDONLY)
    fd = libc.open_by_handle_at(root, buffer, os.O_RDWR)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "open_by_handle_at")
    os.write(fd, b"x")


@attack
def hard_link_made_beforehand(f: Facts) -> None:
    with open(f.hard_link, "a") as file:
        file.write("x")


@attack
def unix_socket(f: Facts) -> object:
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(5)
        s.connect(f.unix_socket)
        return s.recv(10).decode()


@attack
def unix_datagrams(f: Facts) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendto(b"x", f.unix_datagrams)


@attack
def unix_datagrams_by_a_pair(f: Facts) -> None:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"x", f.unix_datagrams)


@attack
def unix_raw_pair(f: Facts) -> None:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)
    one.sendto(b"x", f.unix_datagrams)


@attack
def unix_stream_pair_turned(f: Facts) -> None:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    one.connect(f.unix_socket)


@attack
def abstract_socket(f: Facts) -> object:
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(5)
        s.connect("\0" + f.abstract_socket)
        return s.recv(10).decode()


@attack
def virtual_machine_socket(f: Facts) -> None:
    socket.socket(40, socket.SOCK_STREAM)


@attack
def loopback_tcp(f: Facts) -> object:
    with socket.create_connection(("127.0.0.1", f.port), timeout=5) as s:
        return s.recv(10).decode()


@attack
def loopback_udp(f: Facts) -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(2)
        s.connect(("127.0.0.1", f.udp))
        s.send(b"x")
        return s.recv(10).decode()


@attack
def io_uring(f: Facts) -> None:
    syscall(425, 1, ctypes.create_string_buffer(256))


@attack
def keyring(f: Facts) -> None:
    syscall(250, 0, -3, 0)


@attack
def other_call_table(f: Facts) -> None:
    # The x32 table: `socket(AF_UNIX, SOCK_STREAM)` under another number.
    syscall(0x40000000 | 41, 1, 1, 0)


@attack
def fifo(f: Facts) -> None:
    fd = os.open(f.fifo, os.O_WRONLY | os.O_NONBLOCK)
    os.write(fd, b"x")


@attack
def move_git(f: Facts) -> None:
    os.rename(f.worktree + "/.git", f.worktree + "/.git2")


@attack
def git_commit(f: Facts) -> None:
    run("git", "-C", f.worktree, "-c", "safe.directory=*", "-c", "user.name=x",
        "-c", "user.email=x@example.org", "commit", "-qam", "x", "--allow-empty")  # fmt: skip


@attack
def git_hook(f: Facts) -> None:
    Path(f.worktree, ".git/hooks/pre-commit").write_text("#!/bin/sh\ntouch /tmp/pwned\n")


@attack
def git_hooks_replaced(f: Facts) -> None:
    os.rename(f.worktree + "/.git/hooks", f.worktree + "/.git/hooks2")


@attack
def git_helper(f: Facts) -> None:
    run("git", "-C", f.worktree, "-c", "safe.directory=*", "config", "core.fsmonitor", "evil")


@attack
def git_helper_by_hand(f: Facts) -> None:
    with open(f.worktree + "/.git/config", "a") as file:
        file.write("[core]\n\tpager = evil\n")


@attack
def git_config_replaced(f: Facts) -> None:
    Path(f.worktree, ".git/config2").write_text("[core]\n\tpager = evil\n")
    os.rename(f.worktree + "/.git/config2", f.worktree + "/.git/config")


@attack
def agent_host_settings(f: Facts) -> None:
    Path(f.worktree, ".mcp.json").write_text("{}")


@attack
def agent_host_settings_in_folder(f: Facts) -> None:
    Path(f.worktree, ".claude/settings.json").write_text("{}")


@attack
def agent_host_settings_replaced(f: Facts) -> None:
    os.rmdir(f.worktree + "/.claude")
    os.mkdir(f.worktree + "/.claude")
    Path(f.worktree, ".claude/settings.json").write_text("{}")


@attack
def plans_folder(f: Facts) -> None:
    os.makedirs(f.worktree + "/.remit/plans", exist_ok=True)
    Path(f.worktree, ".remit/plans/evil.md").write_text("x")


@attack
def signal_host_process(f: Facts) -> None:
    os.kill(f.victim, signal.SIGTERM)
    time.sleep(0.2)


@attack
def signal_everyone(f: Facts) -> None:
    os.kill(-1, signal.SIGCONT)
    os.kill(f.victim, 0)


@attack
def environ_of_host_process(f: Facts) -> object:
    return Path(f"/proc/{f.victim}/environ").read_text()


@attack
def environ_of_any_process(f: Facts) -> object:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                text = (folder / "environ").read_text()
            except OSError:
                continue
            if "VICTIM_SECRET" in text or "REMIT_OPERATOR" in text:
                return text[:80]
    raise PermissionError("seen in none")


@attack
def memory_of_host_process(f: Facts) -> None:
    os.open(f"/proc/{f.victim}/mem", os.O_RDWR)


@attack
def trace_host_process(f: Facts) -> None:
    if libc.ptrace(16, f.victim, 0, 0):
        raise OSError(ctypes.get_errno(), "ptrace")


@attack
def terminal_injection(f: Facts) -> None:
    for byte in b"evil\n":
        fcntl.ioctl(0, termios.TIOCSTI, bytes([byte]))


@attack
def terminal_injection_high_bits(f: Facts) -> None:
    result = libc.ioctl(0, ctypes.c_ulong(0x100005412), ctypes.create_string_buffer(b"e"))
    if result:
        raise OSError(ctypes.get_errno(), "ioctl")


@attack
def operator_token(f: Facts) -> object:
    return Path(f.token).read_text()


@attack
def operator_token_in_environment(f: Facts) -> object:
    return os.environ["REMIT_OPERATOR"]


@attack
def secret_in_environment(f: Facts) -> object:
    return os.environ["AWS_SECRET_ACCESS_KEY"]


@attack
def database_read(f: Facts) -> object:
    return Path(f.database).read_bytes().decode("latin-1")


@attack
def database_write(f: Facts) -> None:
    with open(f.database, "ab") as file:
        file.write(b"x")


@attack
def home_secret(f: Facts) -> object:
    return "".join(p.read_text() for p in sorted(Path(f.home, ".ssh").iterdir())) or 1 / 0


@attack
def home_secret_file(f: Facts) -> object:
    return Path(f.home, ".netrc").read_text()


@attack
def write_outside(f: Facts) -> None:
    Path(f.home, "new").write_text("x")


@attack
def write_other_worktree(f: Facts) -> None:
    Path(f.other, "new").write_text("x")


@attack
def write_installation(f: Facts) -> None:
    with open(f.installation + "/__init__.py", "a"):
        pass


@attack
def device(f: Facts) -> None:
    os.mknod(f.scratch + "/disk", 0o60600, os.makedev(254, 0))
    os.open(f.scratch + "/disk", os.O_RDONLY)


@attack
def kernel_setting(f: Facts) -> None:
    # What was there is written back: a hole in a test is one in the machine.
    path = Path("/proc/sys/kernel/core_pattern")
    held = path.read_text()
    path.write_text(held)


@attack
def kernel_files(f: Facts) -> object:
    found = []
    for folder, folders, files in os.walk("/proc"):
        folders[:] = [n for n in folders if not n.isdigit() and n not in ("self", "thread-self")]
        for name in files:
            try:
                os.close(os.open(os.path.join(folder, name), os.O_WRONLY))
                found.append(os.path.join(folder, name))
            except OSError:
                continue
    if not found:
        raise PermissionError("none can be opened for writing")
    return found


@attack
def leave_by_standard_input(f: Facts) -> object:
    return os.listdir("/proc/self/fd/0/../../../../../../../../../../..")


@attack
def standard_input_opened_again(f: Facts) -> None:
    with open("/proc/self/fd/0", "w") as file:
        file.write("x")


if __name__ == "__main__":
    signal.alarm(25)
    try:
        said = ATTACKS[sys.argv[1]](Facts(json.loads(sys.argv[2])))
        answer = {"refused": False, "said": str(said)}
    except Exception as error:
        answer = {"refused": True, "said": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer))
