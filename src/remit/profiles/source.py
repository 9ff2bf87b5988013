"""Sources: the text of a declaration and the file that it came from, bounded before it is read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from attrs import frozen

from remit.policy.problems import InputError, Position, Problem

__all__ = [
    "JSON_BYTES",
    "MODE_BYTES",
    "MODE_FILE",
    "PIPELINE_BYTES",
    "TEMPLATES",
    "TOML_BYTES",
    "WRITTEN_BY_US",
    "Source",
    "read_source",
]

#: Who wrote what remit ships.
WRITTEN_BY_US = "built-in"

#: What the file of a mode is called, and the folder beside it that holds templates (S000-2).
MODE_FILE, TEMPLATES = "mode.md", "templates"

#: The largest declaration that is read. A profile is a page, a catalogue of 1,000 tools 120 KiB.
TOML_BYTES = 256 * 1024
#: A mode's file, and each template beside it (S000-79).
MODE_BYTES = 64 * 1024
#: Tool lists of servers carry descriptions and schemas.
JSON_BYTES = 4 * 1024 * 1024
#: A pipeline of 10,000 steps with a page of prompts each is no mistake.
PIPELINE_BYTES = 16 * 1024 * 1024
_LIMITS = {".json": JSON_BYTES, ".md": MODE_BYTES}


@frozen
class Source:
    """The text of a file, and the name by which problems call it.

    ``built_in`` is said of what remit ships: it alone may bear reserved names. ``templates`` are
    the names and texts of the files beside a mode's.
    """

    text: str
    file: str
    built_in: bool = False
    templates: tuple[tuple[str, str], ...] = ()


def read_source(path: str | os.PathLike[str], limit: int | None = None) -> Source:
    """Read a file as text; raises `InputError` if it is missing, a folder, too large or no text.

    ``limit`` is how many bytes it may have, if it is no profile, catalogue or tool list.
    """
    name = os.fspath(path)
    limit = limit or _LIMITS.get(Path(path).suffix, TOML_BYTES)
    text = decode(_read(name, limit), name, limit)
    return Source(text, name, templates=_templates(Path(path)) if limit == MODE_BYTES else ())


def _templates(path: Path) -> tuple[tuple[str, str], ...]:
    """Return the templates beside a mode's file; a link leads out of the folder and is none."""
    folder = path.parent / TEMPLATES
    if path.name != MODE_FILE or folder.is_symlink() or not folder.is_dir():
        return ()
    # As many as a mode could name, so that a folder full of other things is not read.
    files = [f for f in sorted(folder.iterdir()) if f.is_file() and not f.is_symlink()][:64]
    return tuple(
        (f"{TEMPLATES}/{file.name}", decode(_read(str(file), MODE_BYTES), str(file), MODE_BYTES))
        for file in files
    )


def _read(name: str, limit: int) -> bytes:
    """Return the bytes of a file, one more than the limit at most; raises `InputError`."""
    try:
        # Without waiting: a pipe that nobody writes to would hold a command for good.
        with open(os.open(name, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
                raise _wrong("file-unreadable", f"`{name}` is a pipe, not a file", name)
            return file.read(limit + 1)
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
