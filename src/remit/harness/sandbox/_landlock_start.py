"""Confines itself by Landlock and the system call filter, then becomes the command.

Run as a file by an isolated interpreter, `python -I -S FILE RULES-FD FILTER-FD COMMAND…`; it
imports nothing of remit. Any failure ends it with 125 before the command starts.
"""

from __future__ import annotations

import ctypes
import json
import os
import stat
import sys
from collections.abc import Iterator
from typing import Any

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_PATH_BENEATH = 1
_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts")

_libc = ctypes.CDLL(None, use_errno=True)


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("fd", ctypes.c_int32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def _call(what: str, result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def abi() -> int:
    """The version of Landlock here, 0 where there is none."""
    return max(0, int(_libc.syscall(_CREATE, None, ctypes.c_size_t(0), 1)))


def _handled(version: int) -> int:
    bits = (1 << 13) - 1
    for since, bit in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        if version >= since:
            bits |= bit
    return bits


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def readable(folder: str, shut: tuple[str, ...], own: int) -> Iterator[str]:
    """Yield what to open for reading so that all is read but what is shut.

    Landlock knows no exceptions, so the folders above a shut one are opened entry by entry. Of
    `/proc` only this process and what is no process is opened.
    """
    if folder == "/proc":
        yield from (
            entry.path
            for entry in _entries(folder)
            if not entry.name.isdigit() or int(entry.name) == own
        )
    elif any(path == folder for path in shut):
        return
    elif folder == "/" or any(_within(path, folder) for path in shut):
        for entry in _entries(folder):
            if entry.is_symlink():
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from readable(entry.path, shut, own)
            elif entry.path not in shut:
                yield entry.path
    else:
        yield folder


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    try:
        mode = os.fstat(fd).st_mode
        if stat.S_ISLNK(mode):
            return
        if not stat.S_ISDIR(mode):
            access &= _OF_FILES
        rule = _Beneath(access, fd)
        _call(path, _libc.syscall(_ADD, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0))
    finally:
        os.close(fd)


def _restrict(rules: dict[str, Any]) -> None:
    version = abi()
    handled = _handled(version)
    attributes = _Ruleset(
        handled,
        3 if version >= 4 and not rules["internet"] else 0,
        3 if version >= 6 else 0,
    )
    ruleset = _call(
        "landlock",
        _libc.syscall(
            _CREATE,
            ctypes.byref(attributes),
            ctypes.c_size_t(24 if version >= 6 else 16 if version >= 4 else 8),
            0,
        ),
    )
    write = handled & ~(_MAKE_CHAR | _MAKE_BLOCK)
    _allow(ruleset, "/", _READ_DIR)
    for top in ("/", *rules["shown"]):
        for path in readable(top, tuple(rules["shut"]), os.getpid()):
            _allow(ruleset, path, _READ & handled)
    for path in rules["write"]:
        _allow(ruleset, path, write)
    for name in _DEVICES:
        _allow(ruleset, f"/dev/{name}", (_READ_FILE | _WRITE_FILE | _IOCTL_DEV) & handled)
    _call("prctl", _libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0))
    _call("landlock", _libc.syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)


def _filter(code: bytes) -> None:
    if code:
        program = _Program(len(code) // 8, code)
        _call("seccomp", _libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0))


def _read(fd: int) -> bytes:
    with open(fd, "rb") as file:
        return file.read()


def main(argv: list[str]) -> None:
    """Confine, then become the command; returns only by an exception."""
    rules = json.loads(_read(int(argv[1])))
    code = _read(int(argv[2])) if argv[2] != "-" else b""
    os.chdir(rules["cwd"])
    _restrict(rules)
    _filter(code)
    os.execvp(argv[3], argv[3:])


if __name__ == "__main__":
    try:
        main(sys.argv)
    except (OSError, ValueError, KeyError) as error:
        sys.stderr.write(f"remit: the sandbox `landlock` failed: {error}\n")
        sys.exit(125)
