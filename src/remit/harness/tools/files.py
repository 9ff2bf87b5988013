"""Files as tools see them: bytes with an identity, text with its newlines, results with an end."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from attrs import frozen

from remit.harness.tools.desk import Desk, Refused
from remit.harness.tools.tree import Spot, Tree

__all__ = ["BOM", "MOST", "Snapshot", "Text", "is_binary", "page", "shortened", "snapshot", "spill"]

BOM = b"\xef\xbb\xbf"
#: Bytes of the largest file that is read or written whole.
MOST = 16 * 1024 * 1024
#: What one result holds at most; all that is longer is paged.
LINES, BYTES, WIDTH = 2_000, 50_000, 2_000


@frozen
class Snapshot:
    """A file as it was read: its bytes, its mode, and what changes when anything of it does."""

    data: bytes
    mode: int
    stamp: tuple[int, ...]


def stamp(status: os.stat_result) -> tuple[int, ...]:
    """Return what changes when a file is written or replaced."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def snapshot(tree: Tree, spot: Spot, *, follow: bool = True, most: int = MOST) -> Snapshot:
    """Read a whole file; raises `Refused` for what is none, or is too large."""
    with tree.opened(spot, follow=follow) as (fd, _):
        status = os.fstat(fd)
        if stat.S_ISDIR(status.st_mode):
            raise Refused(f"`{spot.name}` is a folder", "is-folder")
        if not stat.S_ISREG(status.st_mode):
            raise Refused(f"`{spot.name}` is no file", "not-file")
        if status.st_size > most:
            raise Refused(
                f"`{spot.name}` has {status.st_size} bytes, more than {most}", "too-large"
            )
        parts = []
        while part := os.read(fd, 1 << 20):
            parts.append(part)
            tree.desk.halt()
        return Snapshot(b"".join(parts), stat.S_IMODE(status.st_mode), stamp(status))


def is_binary(data: bytes) -> bool:
    """Say whether bytes are no text of any encoding that extends ASCII."""
    return b"\0" in data[:8192]


@frozen
class Text:
    """The bytes of a text file, and how its lines end."""

    data: bytes

    @classmethod
    def of(cls, data: bytes, spot: Spot) -> Text:
        """Return bytes as text that may be changed; raises `Refused` for other bytes."""
        if is_binary(data):
            raise Refused(f"`{spot.name}` is a binary file of {len(data)} bytes", "binary")
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            raise Refused(
                f"`{spot.name}` is not UTF-8: byte 0x{data[error.start]:02x} in line {line}",
                "encoding",
            ) from None
        return cls(data)

    @property
    def newline(self) -> bytes:
        """How lines end: CRLF if all of them do, else a line feed."""
        crlf = self.data.count(b"\r\n")
        return b"\r\n" if crlf and crlf == self.data.count(b"\n") else b"\n"

    def as_here(self, text: str) -> bytes:
        """Return a text of a model as bytes with the newlines of this file."""
        data = text.replace("\r\n", "\n").encode()
        return data.replace(b"\n", b"\r\n") if self.newline == b"\r\n" else text.encode()


def shortened(line: str, width: int = WIDTH) -> str:
    """Return a line that is not longer than a result can bear."""
    return line if len(line) <= width else f"{line[:width]}… ({len(line) - width} more characters)"


def page(lines: Iterable[str], most: int = LINES) -> tuple[list[str], bool]:
    """Return as many lines as one result holds, and whether there were more."""
    out: list[str] = []
    size = 0
    for line in lines:
        size += len(line.encode("utf-8", "replace")) + 1
        if len(out) >= most or (out and size > BYTES):
            return out, True
        out.append(line)
    return out, False


def spill(desk: Desk, kind: str, data: bytes) -> str | None:
    """Keep what a result cannot hold in the scratch folder; returns the path, None without one."""
    if desk.scratch is None:
        return None
    for number in range(1, 10_000):
        path = f"{desk.scratch}/{kind}-{number}.txt"
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        return path
    return None
