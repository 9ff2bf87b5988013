"""The operator token: what tells an operator's command from an agent's (design section 6)."""

from __future__ import annotations

import hmac
import os
import re
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from remit.policy.problems import InputError, Problem, RemitError

__all__ = [
    "TOKEN_SUFFIX",
    "TokenError",
    "check_operator",
    "make_token",
    "operator_token",
    "read_token",
]

#: What follows the name of the database in that of its token.
TOKEN_SUFFIX = ".operator"
_TOKEN = re.compile(rb"([0-9a-f]{64})\n?")


class TokenError(RemitError):
    """The operator token cannot be had on this machine."""


def make_token(path: Path) -> None:
    """Make a token unless there is one: 32 random bytes in hexadecimal, for its owner alone.

    It appears whole or not at all, and is never written over.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        if os.path.lexists(path):
            return
        fd = os.open(part, flags, 0o600)
        try:
            with open(fd, "w", encoding="ascii") as file:
                file.write(f"{secrets.token_hex(32)}\n")
                file.flush()
                os.fsync(fd)
            os.link(part, path)
        except FileExistsError:
            pass
        finally:
            os.unlink(part)
    except OSError as error:
        raise _failed(path, error) from error


def read_token(path: Path) -> str:
    """Return the token; raise `TokenError` if it is missing, damaged or open to others."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            mode = os.fstat(fd).st_mode
            raw = os.read(fd, 100) if stat.S_ISREG(mode) else b""
        finally:
            os.close(fd)
    except FileNotFoundError:
        raise TokenError(
            Problem(
                "token-missing", f"there is no operator token at `{path}`", "`remit init` makes one"
            )
        ) from None
    except OSError as error:
        raise _failed(path, error) from error
    if stat.S_ISREG(mode) and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise TokenError(
            Problem(
                "token-open",
                f"the operator token `{path}` is open to others than its owner",
                f"`chmod 600 {path}`; if somebody may have read it, remove it and `remit init`",
            )
        )
    if (token := _TOKEN.fullmatch(raw)) is None:
        raise TokenError(
            Problem(
                "token-damaged",
                f"`{path}` does not hold an operator token",
                "remove it, and `remit init` makes another",
            )
        )
    return token[1].decode()


def operator_token(path: Path, environ: Mapping[str, str], *, terminal: bool) -> str | None:
    """Return the token that this caller has: ``REMIT_OPERATOR``, or the file's for a person.

    ``terminal`` says that a person is at one; nobody else is given the file's.
    """
    if given := environ.get("REMIT_OPERATOR"):
        return given
    return read_token(path) if terminal else None


def check_operator(path: Path, token: str | None) -> None:
    """Raise `InputError` unless a token is that of the workspace; compared in constant time."""
    if token is None:
        how = f"run it in a terminal, or pass what is in `{path}` as `REMIT_OPERATOR`"
        if not path.exists():
            how = f"`remit init` makes the operator token, which would be in `{path}`"
        raise InputError(Problem("operator-needed", "this needs the operator", how))
    if not hmac.compare_digest(token.strip().encode(errors="replace"), read_token(path).encode()):
        raise InputError(
            Problem(
                "operator-wrong",
                "the operator token that was given is not that of this workspace",
                f"it is in `{path}`",
            )
        )


def _failed(path: Path, error: OSError) -> TokenError:
    why = (error.strerror or str(error)).lower()
    return TokenError(
        Problem(
            "token-failed",
            f"the operator token `{path}` cannot be used: {why}",
            "look at the permissions of the file and of its folder",
        )
    )
