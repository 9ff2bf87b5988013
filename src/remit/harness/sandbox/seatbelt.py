"""The Seatbelt backend: a profile text for macOS's `sandbox-exec`.

The text is tested against examples; it was never run, so it is chosen only by an operator's word.
Later rules win, and mounts come parents first, so each rule narrows or opens what lies below.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping

from remit.policy.backend import Backend, Found, Launch
from remit.policy.mounts import Access, Advisory, Cause, Mounts, Network

__all__ = ["SEATBELT", "profile_text"]

_PROGRAM = "/usr/bin/sandbox-exec"


def profile_text(mounts: Mounts) -> str:
    """Return the profile for settled mounts."""
    return "\n".join(_lines(mounts)) + "\n"


def _lines(mounts: Mounts) -> Iterator[str]:
    yield "(version 1)"
    yield "(deny default)"
    yield "(allow process-exec* process-fork process-info* sysctl-read)"
    yield "(allow signal (target same-sandbox))"
    yield '(allow mach-lookup (global-name "com.apple.system.logger"))'
    yield "(allow file-read*)"
    yield (
        '(allow file-write-data file-ioctl (literal "/dev/null") (literal "/dev/zero") '
        '(literal "/dev/tty"))'
    )
    for mount in mounts.mounts:
        where = f"(subpath {_quoted(mount.path)})"
        match mount.access:
            case Access.WRITE if mount.cause is Cause.ANCHOR:
                yield f"(deny file-write-unlink (literal {_quoted(mount.path)}))"
            case Access.WRITE:
                yield f"(allow file-read* file-write* {where})"
                yield f"(deny file-write-unlink (literal {_quoted(mount.path)}))"
            case Access.READ:
                yield f"(allow file-read* {where})"
                yield f"(deny file-write* {where})"
            case Access.HIDDEN | Access.PRIVATE:
                yield f"(deny file-read* file-write* {where})"
    match mounts.network:
        case Network.FULL:
            yield "(allow network*)"
        case Network.LOOPBACK:
            yield '(allow network* (local ip "localhost:*") (remote ip "localhost:*"))'
        case Network.NONE:
            yield "(deny network*)"
    yield "(deny network* (remote unix-socket))"


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _launch(
    mounts: Mounts, command: tuple[str, ...], cwd: str, environment: Mapping[str, str]
) -> Launch:
    kept = {n: environment[n] for n in mounts.env_kept if n in environment}
    argv = (_PROGRAM, "-p", profile_text(mounts), *command)
    return Launch(argv, {**kept, **mounts.env_set}, shown=argv)


def _lacks(mounts: Mounts) -> tuple[Advisory, ...]:
    return (
        Advisory("seatbelt", "its profile was never run by those who wrote it"),
        Advisory("processes", "those of the host are seen, and children may outlive the command"),
        Advisory("private folders", "there are none: such folders are hidden instead"),
    )


def _probe() -> Found:
    if shutil.which(_PROGRAM) is None:
        return Found(False, why=f"no `{_PROGRAM}`: this is not macOS")
    return Found(True)


SEATBELT = Backend("seatbelt", _launch, _lacks, _probe, rank=30, chosen=False)
