"""Sources: the text of a declaration and the file that it came from, bounded before it is read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from attrs import frozen

from remit.policy.problems import InputError, Position, Problem

__all__ = ["JSON_BYTES", "PIPELINE_BYTES", "TOML_BYTES", "WRITTEN_BY_US", "Source", "read_source"]

#: Who wrote what remit ships.
WRITTEN_BY_US = "built-in"

#: The largest declaration that is read. A profile is a page, a catalogue of 1,000 tools 120 KiB.
TOML_BYTES = 256 * 1024
#: Tool lists of servers carry descriptions and schemas.
JSON_BYTES = 4 * 1024 * 1024
#: A pipeline of 10,000 steps with a page of prompts each is no mistake.
PIPELINE_BYTES = 16 * 1024 * 1024


@frozen
class Source:
    """The text of a file, and the name by which problems call it.

    ``built_in`` is said of what remit ships: it alone may bear reserved names.
    """

    text: str
    file: str
    built_in: bool = False


def read_source(path: str | os.PathLike[str], limit: int | None = None) -> Source:
    """Read a file as text; raises `InputError` if it is missing, a folder, too large or no text.

    ``limit`` is how many bytes it may have, if it is no profile, catalogue or tool list.
    """
    name = os.fspath(path)
    limit = limit or (JSON_BYTES if Path(path).suffix == ".json" else TOML_BYTES)
    try:
        # Without waiting: a pipe that nobody writes to would hold a command for good.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
                raise _wrong("file-unreadable", f"`{name}` is a pipe, not a file", name)
            raw = file.read(limit + 1)
    except FileNotFoundError:
        raise _wrong("file-missing", f"there is no file `{name}`", name) from None
    except IsADirectoryError:
        hint = "name a file in it"
        raise _wrong("file-is-folder", f"`{name}` is a folder, not a file", name, hint) from None
    except PermissionError:
        hint = "its owner can let you read it with `chmod u+r`"
        raise _wrong("file-unreadable", f"`{name}` may not be read", name, hint) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        message = f"`{name}` could not be read: {why.lower()}"
        raise _wrong("file-unreadable", message, name) from None
    return Source(decode(raw, name, limit), name)


def decode(raw: bytes, name: str, limit: int = TOML_BYTES) -> str:
    """Return bytes as text; raises `InputError` if they are too many or no text."""
    if len(raw) > limit:
        message = f"the file is larger than {limit // 1024} KiB"
        raise _wrong("file-too-large", message, name, "is it the file that you meant?")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"the file is not UTF-8 text: byte {error.start} is 0x{raw[error.start]:02x}"
        raise _wrong("file-not-text", message, name) from None
    if (at := text.find("\0")) >= 0:
        message = f"the file is not text: character {at} is NUL"
        raise _wrong("file-not-text", message, name)
    return text


def _wrong(code: str, message: str, name: str, hint: str = "") -> InputError:
    return InputError(Problem(code, message, hint, Position(name)))
