"""What PostgreSQL and its driver raise, told in one sentence with a stable code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import urlsplit, urlunsplit

import peewee
import psycopg

from remit.harness.store.errors import StoreError
from remit.policy.escape import escape
from remit.policy.problems import Problem

__all__ = ["shown", "told"]

#: What of a URL's options says where a database is; a misspelled one could hold a password.
_SHOWN = frozenset({"dbname", "host", "hostaddr", "options", "port", "service", "user"})

_UNREACHABLE = (
    "store-unreachable",
    "the server of the database `{location}` cannot be reached: {why}",
    "see that it runs, and that host and port are right",
)
_LOST = (
    "store-lost",
    "the connection to the database `{location}` was lost",
    "look whether it was done, then try again",
)
_PERMISSION = (
    "store-permission",
    "the database `{location}` may not be used: {why}",
    "see to the user, the password (`~/.pgpass`) and what the user may do there",
)
_LOCKED = (
    "store-locked",
    "the database `{location}` is held by another process",
    "try again; if it stays so, end the session that has it open",
)
_MISSING = (
    "store-missing",
    "there is no database at `{location}`: {why}",
    "`createdb` makes one, then `remit init` what remit needs in it",
)
_READ_ONLY = (
    "store-read-only",
    "the database `{location}` cannot be written",
    "name the server that takes writes: every decision is recorded",
)
_FULL = ("store-full", "there is no room left for the database `{location}`", "make room")
_CORRUPT = (
    "store-corrupt",
    "the database `{location}` is damaged",
    "put a copy of it back",
)
_IO = (
    "store-io",
    "reading or writing the database `{location}` failed",
    "look at the server's log and at its disk",
)

#: By the state that the server tells, or by the class that its first two characters are.
_TOLD: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "08": _LOST,
        "25006": _READ_ONLY,
        "25P03": _LOST,
        "28": _PERMISSION,
        "3D000": _MISSING,
        "3F000": _MISSING,
        "40001": _LOCKED,
        "40P01": _LOCKED,
        "42501": _PERMISSION,
        "53100": _FULL,
        "53300": _UNREACHABLE,
        "55P03": _LOCKED,
        "57014": _LOCKED,
        "57": _LOST,
        "58": _IO,
        "XX001": _CORRUPT,
        "XX002": _CORRUPT,
    }
)
# Where no connection came about there is no state, only what was said.
_SAID = (
    (re.compile(r"password|authentication|pg_hba|permission denied|role "), _PERMISSION),
    (re.compile(r"database .* does not exist"), _MISSING),
)


def told(error: Exception, location: str, *, dialling: bool = False) -> StoreError | None:
    """Return the `StoreError` that tells of a failure, None if the failure is a fault of ours.

    ``dialling`` says that it was in the way of a connection, not on one.
    """
    cause = error.__context__ if isinstance(error, peewee.PeeweeException) else error
    if not isinstance(cause, psycopg.Error):
        return None
    state, why = cause.sqlstate, _why(cause)
    if state is not None:
        known = _TOLD.get(state) or _TOLD.get(state[:2])
    elif dialling:
        known = next((entry for said, entry in _SAID if said.search(why)), _UNREACHABLE)
    elif isinstance(cause, psycopg.OperationalError):
        known = _LOST
    else:
        known = None
    if known is None:
        return None
    code, message, hint = known
    return StoreError(Problem(code, message.format(location=location, why=why), hint))


def _why(error: psycopg.Error) -> str:
    """Return the last that was said, which is the server's own word where it spoke."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if "FATAL:" in line), lines[0] if lines else "")
    text = last.rpartition("FATAL:")[2].rpartition("failed: ")[2].strip()
    return escape(text[:200]) or "no reason was given"


def shown(url: str) -> str:
    """Return a URL as it may be shown: without a password, wherever that stands in it."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return f"{url.partition('://')[0]}://…"
    user, at, host = parts.netloc.rpartition("@")
    kept = [p for p in parts.query.split("&") if p.partition("=")[0] in _SHOWN]
    netloc = f"{user.partition(':')[0]}{at}{host}"
    return escape(urlunsplit((parts.scheme, netloc, parts.path, "&".join(kept), "")))
