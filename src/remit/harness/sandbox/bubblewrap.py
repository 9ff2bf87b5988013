"""The bubblewrap backend: namespaces, mounts and a system call filter; it holds all that is said.

`--cap-drop ALL` is no ornament: root inside could remount a read-only bind without it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache

from remit.harness.sandbox.seccomp import filter_program
from remit.policy.backend import Backend, Found, Launch
from remit.policy.mounts import Access, Advisory, Mount, Mounts, Network
from remit.policy.places import KEPT_NAMES, Kind

__all__ = ["BUBBLEWRAP", "arguments"]

_NAME = "bubblewrap"
_PROGRAM = "bwrap"
_INSTALL = "install it: `apt-get install bubblewrap`, or your system's package `bubblewrap`"
#: Where a program is looked for first.
_SYSTEM = "/usr/local/bin:/usr/bin:/bin:/run/current-system/sw/bin"
_TOO_OLD = (0, 8, 0)

_ALWAYS = (
    "--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
    "--unshare-cgroup-try", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
)  # fmt: skip

#: Kernel-wide files, which belong to root: a root that starts a sandbox could write them inside, a
#: program to be run by the host's kernel among them.
_KERNEL = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "driver", "mtrr", "pressure")


def arguments(mounts: Mounts, cwd: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return bwrap's options for settled mounts, the filter and the command left out."""
    out = list(_ALWAYS)
    if mounts.network is not Network.FULL:
        out.append("--unshare-net")
    out += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for name in _KERNEL:
        out += ["--ro-bind-try", f"/proc/{name}", f"/proc/{name}"]
    for mount in mounts.mounts:
        out += _mount(mount)
    for mount in mounts.mounts:
        # Last, because what lies in a hidden folder is mounted there first.
        if mount.access is Access.HIDDEN and mount.kind is Kind.FOLDER:
            out += ["--remount-ro", mount.path]
    out += ["--chdir", cwd, "--clearenv"]
    for name, value in _environment(mounts, environment):
        out += ["--setenv", name, value]
    return tuple(out)


def _mount(mount: Mount) -> Iterator[str]:
    path = mount.path
    match mount.access:
        case Access.WRITE:
            yield from ("--bind", path, path)
        case Access.READ:
            yield from ("--ro-bind", path, path)
        case Access.PRIVATE:
            yield from ("--perms", "1777", "--tmpfs", path)
        case Access.HIDDEN if mount.kind is Kind.FILE:
            # Bound without its device, so it cannot even be opened.
            yield from ("--ro-bind", "/dev/null", path)
        case Access.HIDDEN:
            yield from ("--perms", "0555", "--tmpfs", path)


def _environment(mounts: Mounts, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    values = {n: environment[n] for n in mounts.env_kept if n in environment}
    yield from sorted({**values, **mounts.env_set}.items())


def _launch(
    mounts: Mounts, command: tuple[str, ...], cwd: str, environment: Mapping[str, str]
) -> Launch:
    options = arguments(mounts, cwd, environment)
    program = filter_program()
    filtered = ("--seccomp", "{filter}") if program else ()
    fixed = ("--json-status-fd", "{status}", *filtered)
    public = {n: v if _public(n) or n in mounts.env_set else "…" for n, v in environment.items()}
    return Launch(
        # The options travel in a descriptor: anyone can read the arguments of a process, and among
        # the values that the operator lets through there are secrets.
        argv=(_PROGRAM, "--args", "{options}", *fixed, "--", *command),
        # The system's own first: whoever starts a host may say what lies on its PATH.
        environment={"PATH": f"{_SYSTEM}:{environment.get('PATH', '')}".rstrip(":")},
        feeds={
            "options": b"".join(o.encode("utf-8", "surrogateescape") + b"\0" for o in options),
            **({"filter": program} if program else {}),
        },
        shown=(_PROGRAM, *arguments(mounts, cwd, public), *filtered, "--", *command),
        status="status",
    )


def _public(name: str) -> bool:
    return any(name == n or (n.endswith("*") and name.startswith(n[:-1])) for n in KEPT_NAMES)


def _lacks(mounts: Mounts) -> tuple[Advisory, ...]:
    told = []
    if filter_program() is None:
        told.append(Advisory("unix sockets", "there is no system call filter for this processor"))
    if mounts.network is Network.LOOPBACK:
        told.append(Advisory("loopback", "the sandbox has a loopback of its own, not the host's"))
    if mounts.paths(Access.WRITE):
        told.append(
            Advisory(
                "hard links", "a link made beforehand in a writable folder writes to its other end"
            )
        )
        if any(m.kind is Kind.FILE for m in mounts.mounts if m.access is not Access.WRITE):
            told.append(
                Advisory(
                    "protected files",
                    "each is kept until a program outside puts another file in its place",
                )
            )
    if mounts.worktree:
        told.append(Advisory("FIFOs", "a FIFO in the tree passes data to whoever reads it outside"))
    return tuple(told)


@cache
def _probe() -> Found:
    path = shutil.which(_PROGRAM, path=_SYSTEM) or shutil.which(_PROGRAM)
    if path is None:
        return Found(False, why=f"no `{_PROGRAM}` on PATH", hint=_INSTALL)
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10)
        found = re.search(r"(\d+)\.(\d+)\.(\d+)", said.stdout)
        version = found.group() if found else ""
        if found is None or tuple(map(int, found.groups())) < _TOO_OLD:
            wanted = ".".join(map(str, _TOO_OLD))
            return Found(False, version, f"`{path}` is older than {wanted}", _INSTALL)
        tried = subprocess.run(
            [path, *_ALWAYS, "--unshare-net", "--ro-bind", "/", "/", "--dev", "/dev",
             "--proc", "/proc", "--tmpfs", "/tmp", "--", "/bin/sh", "-c", "exit 0"],
            capture_output=True, text=True, timeout=20,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        return Found(False, why=f"`{path}` could not be run: {error}", hint=_INSTALL)
    if tried.returncode:
        why = (tried.stderr.strip().splitlines() or ["it says nothing"])[-1]
        return Found(
            False,
            version,
            f"`{path}` is refused here: {why}",
            "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone, "
            "kernel.apparmor_restrict_unprivileged_userns, user.max_user_namespaces)",
        )
    return Found(True, version)


BUBBLEWRAP = Backend(
    _NAME,
    _launch,
    _lacks,
    _probe,
    rank=10,
    namespaces=True,
    leaves=(
        "a hard link made beforehand that lies in a writable folder",
        "a FIFO in the tree",
        "a protected file, once a program outside puts another in its place",
    ),
)
