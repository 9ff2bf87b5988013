"""Folders of modes: how a mode's files are made, replaced and deleted.

A new mode never writes into a folder that is there, and a file is replaced whole or not at all.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from remit.policy.problems import InputError, Position, Problem
from remit.profiles.source import MODE_FILE, TEMPLATES, Source

__all__ = ["delete_mode", "make_mode", "replace_mode"]


def make_mode(source: Source) -> None:
    """Write a mode into a folder of its own; raises `InputError` if there is one already."""
    path = Path(source.file)
    folder = path.parent
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700)
        if source.templates:
            (folder / TEMPLATES).mkdir(mode=0o700)
        # The mode's own file last: without it the folder is none of a mode's.
        for name, text in (*source.templates, (MODE_FILE, source.text)):
            with open(folder / name, "x", encoding="utf-8", newline="") as file:
                file.write(text)
    except FileExistsError:
        message = f"there is something at `{folder}` already"
        hint = "a mode has a folder of its own: choose another name"
        raise InputError(Problem("file-exists", message, hint, Position(str(folder)))) from None
    except OSError as error:
        raise _unwritable(folder, error) from None


def replace_mode(path: Path, text: str) -> None:
    """Put a text in the place of a mode's file, at once; whatever its name, it keeps its place."""
    target = path.resolve()
    try:
        handle, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with open(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(draft, target.stat().st_mode & 0o777)
            os.replace(draft, target)
        except BaseException:
            os.unlink(draft)
            raise
    except OSError as error:
        raise _unwritable(path, error) from None


def delete_mode(path: Path) -> None:
    """Delete a mode's file and its templates; what else lies in its folder stays, and it too."""
    try:
        path.unlink()
        if path.name != MODE_FILE:
            return
        templates = path.parent / TEMPLATES
        if templates.is_dir() and not templates.is_symlink():
            for file in templates.iterdir():
                if file.is_file() or file.is_symlink():
                    file.unlink()
            if not any(templates.iterdir()):
                templates.rmdir()
        if not path.parent.is_symlink() and not any(path.parent.iterdir()):
            path.parent.rmdir()
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> InputError:
    why = (error.strerror or str(error)).lower()
    return InputError(Problem("file-unwritable", f"`{path}` cannot be written: {why}"))
