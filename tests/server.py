"""A PostgreSQL server of the tests' own: made, started and ended by whoever asks for it."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from attrs import define, field

from tests.needs import missing

#: Where Debian puts what no person calls.
_DEBIAN = Path("/usr/lib/postgresql")
#: Who may log in over the network, with this password; everybody may through the socket's folder.
GUARDED, PASSWORD = "guarded", "s3cret-word"
_RULES = f"""local all {GUARDED} scram-sha-256
local all all trust
host all all 127.0.0.1/32 scram-sha-256
"""
#: Nothing has to outlive the machine, only the server's own end by a signal.
_SETTINGS = """fsync = off
synchronous_commit = off
full_page_writes = off
shared_buffers = 16MB
max_connections = 60
autovacuum = off
"""


def _program(name: str) -> str:
    found = sorted(_DEBIAN.glob(f"*/bin/{name}"), key=lambda p: int(p.parts[-3]))
    there = str(found[-1]) if found else shutil.which(name)
    return there or missing(f"no `{name}` (Debian: apt-get install postgresql)")


@define(eq=False)
class Server:
    """A server in a scratch folder, reached through a socket in it and on a loopback port."""

    folder: Path
    port: int
    _names: Iterator[int] = field(factory=itertools.count, init=False)
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def url(self, database: str) -> str:
        """The URL of a database, through the socket."""
        return f"postgresql://postgres@/{database}?host={self.folder}&port={self.port}"

    def over_network(self, database: str, password: str = PASSWORD) -> str:
        """The URL of a database for the user who needs a password."""
        return f"postgresql://{GUARDED}:{password}@127.0.0.1:{self.port}/{database}"

    def run(self, statement: str, database: str = "postgres") -> None:
        """Run one statement as the one who may do everything."""
        with psycopg.connect(self.url(database), autocommit=True) as db:
            db.execute(statement)

    def make(self, template: str = "template0", name: str | None = None) -> str:
        """Make a database, empty or as another is, and return its URL."""
        name = name or f"t{next(self._names)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    def drop(self, url: str) -> None:
        """Remove a database, whoever is connected to it."""
        self.run(f"DROP DATABASE {name_of(url)} WITH (FORCE)")

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = [_program("postgres"), "-D", str(self.folder / "data")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, **_user())
        for _ in range(400):
            try:
                return psycopg.connect(self.url("postgres")).close()
            except psycopg.OperationalError:
                if self._process.poll() is not None:
                    break
                time.sleep(0.025)
        raise RuntimeError((self.folder / "log").read_text())

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """End it, by default at once."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(20)
            self._process = None


def name_of(url: str) -> str:
    """The database that a URL names."""
    return url.partition("?")[0].rpartition("/")[2]


def _user() -> dict[str, Any]:
    """The server refuses to be root's."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    return missing("no user to run PostgreSQL as: it refuses root")


@contextmanager
def server() -> Iterator[Server]:
    """A server that runs."""
    initdb, user = _program("initdb"), _user()
    folder = Path(tempfile.mkdtemp(prefix="remit-pg."))
    try:
        if user:
            os.chown(folder, user["user"], user["group"])
        data = folder / "data"
        subprocess.run(
            [initdb, "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8",
             "--locale=C.UTF-8", "--no-sync", "--no-instructions"],
            check=True, stdout=subprocess.DEVNULL, **user,
        )  # fmt: skip
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        (data / "pg_hba.conf").write_text(_RULES)
        with (data / "postgresql.conf").open("a") as settings:
            settings.write(f"port = {port}\nlisten_addresses = '127.0.0.1'\n")
            settings.write(f"unix_socket_directories = '{folder}'\n{_SETTINGS}")
        made = Server(folder, port)
        made.start()
        try:
            made.run(f"CREATE ROLE {GUARDED} LOGIN PASSWORD '{PASSWORD}'")
            yield made
        finally:
            made.stop()
    finally:
        shutil.rmtree(folder)
