"""A rig for attacks: a worktree, a home, an operator's files and daemons, owned by one user."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import remit
from tests.needs import missing, need

HERE = Path(__file__).parent
#: The user that owns nothing and is allowed nothing.
NOBODY = 65534
TOKEN = "operator-token-value"
SECRET = "home-secret-value"
READ_ONLY = (
    "worktree.write", "file.delete", "file.write_outside", "git.commit", "git.push", "pr.create",
    "pr.publish", "vendor.write", "package.install", "package.publish", "process.spawn",
    "workspace.mutate", "enclosure.control",
)  # fmt: skip


def interpreter(uid: int) -> str:
    """An interpreter that a user can run; that of a virtual environment may lie in root's home."""
    for candidate in (os.path.realpath(sys.executable), shutil.which("python3", path="/usr/bin")):
        if candidate and _runs(candidate, uid):
            return candidate
    missing("a Python that every user can run (Debian: apt-get install python3)")


def _runs(program: str, uid: int) -> bool:
    more = {"user": uid, "group": uid, "extra_groups": []} if os.getuid() == 0 else {}
    wanted = f"import sys; sys.exit(sys.version_info < {sys.version_info[:2]})"
    try:
        return not subprocess.run([program, "-I", "-c", wanted], **more).returncode  # type: ignore[call-overload]
    except OSError:
        return False


def uid_of(who: str) -> int:
    """The user to be: root needs root, anyone can be someone."""
    if os.getuid() != 0:
        if who == "root":
            missing("root, to attack a sandbox as root")
        return os.getuid()
    return 0 if who == "root" else NOBODY


class Rig:
    """What an attack is run against; ``facts`` is what the attacker knows."""

    def __init__(self, who: str, base: Path) -> None:
        self.uid = uid_of(who)
        self.python = interpreter(self.uid)
        self.base = base
        self.worktree = base / "worktree"
        self.home = base / "home"
        self.data = base / "data"
        self.other = base / "other"
        # The attacker's own program must be readable inside, wherever the checkout lies.
        self.program = base / "attacks.py"
        self.program.write_text((HERE / "attacks.py").read_text())
        for folder in (self.worktree, self.home / ".ssh", self.data, self.other):
            folder.mkdir(parents=True)
        (self.worktree / "file").write_text("content\n")
        (self.worktree / "folder").mkdir()
        (self.worktree / "folder" / "inner").write_text("content\n")
        (self.worktree / "link-file").symlink_to("file")
        (self.worktree / "link-folder").symlink_to("folder")
        (self.worktree / "link-out").symlink_to(self.home / ".profile")
        (self.worktree / ".claude").mkdir()
        (self.home / ".profile").write_text("# profile\n")
        (self.home / ".ssh" / "id").write_text(SECRET)
        (self.home / ".netrc").write_text(SECRET)
        (self.data / "operator.token").write_text(TOKEN)
        (self.data / "operator.token").chmod(0o600)
        (self.data / "remit.db").write_text("database-content")
        self.git("init", "-q")
        self.git("add", ".")
        self.git("-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "one")
        os.mkfifo(self.worktree / "fifo")
        self.facts: dict[str, Any] = {
            "worktree": str(self.worktree),
            "file": str(self.worktree / "file"),
            "link_file": str(self.worktree / "link-file"),
            "link_folder": str(self.worktree / "link-folder"),
            "link_out": str(self.worktree / "link-out"),
            "fifo": str(self.worktree / "fifo"),
            "home": str(self.home),
            "token": str(self.data / "operator.token"),
            "database": str(self.data / "remit.db"),
            "other": str(self.other),
            "installation": str(Path(remit.__file__).parent),
            "scratch": "/tmp",
            "unix_socket": str(self.worktree / "socket"),
            "unix_datagrams": str(self.worktree / "datagrams"),
            "abstract_socket": f"remit-test-{base.name}",
        }
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "REMIT_OPERATOR": TOKEN,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def git(self, *words: str) -> str:
        return subprocess.run(
            [need("git"), "-C", str(self.worktree), *words],
            check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip

    def own(self) -> None:
        """Give all of it to the user."""
        for path in [self.base, *self.base.rglob("*")]:
            os.chown(path, self.uid, self.uid, follow_symlinks=False)

    def run(
        self, commands: Iterable[tuple[str, ...]], backend: str, **job: Any
    ) -> list[dict[str, Any]]:
        """Run commands in boxes as the user; one answer each."""
        done = subprocess.run(
            [self.python, str(HERE / "driver.py")],
            input=json.dumps(
                {
                    "uid": self.uid,
                    "worktree": str(self.worktree),
                    "control": [self.facts["token"], self.facts["database"]],
                    "others": [str(self.other)],
                    "environment": self.environment,
                    "refuse": (),
                    "commands": list(commands),
                    "backend": backend,
                    **job,
                }
            ),
            capture_output=True, text=True, timeout=300, env=self.environment,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        answers: list[dict[str, Any]] = json.loads(done.stdout)
        return answers

    def attack(self, names: Iterable[str], backend: str, **job: Any) -> dict[str, dict[str, Any]]:
        """Run attacks by name; each answer says whether it was refused and what it said."""
        names = list(names)
        facts = json.dumps(self.facts)
        commands = [(self.python, "-I", str(self.program), name, facts) for name in names]
        answers = {}
        for name, answer in zip(names, self.run(commands, backend, **job), strict=True):
            said = answer["out"].strip().splitlines()
            assert said, f"{name}: {answer['err']}"
            answers[name] = {**answer, **json.loads(said[-1])}
        return answers


def _serve(listener: socket.socket) -> None:
    while True:
        try:
            peer, _ = listener.accept()
        except OSError:
            return
        with peer:
            peer.sendall(b"reached")


@contextmanager
def rig(who: str) -> Iterator[Rig]:
    """Set up a rig with daemons and a process to attack, outside of folders that are private."""
    parent = next(
        (p for p in ("/srv", "/opt", str(Path.home())) if os.access(p, os.W_OK | os.X_OK)), None
    )
    if parent is None:
        missing("a writable folder outside /tmp")
    base = Path(tempfile.mkdtemp(prefix="remit-test-", dir=parent))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, base, ignore_errors=True)
        made = Rig(who, base)
        for name, address in (("unix", made.facts["unix_socket"]),
                              ("abstract", "\0" + made.facts["abstract_socket"])):  # fmt: skip
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(address)
            listener.listen(20)
            stack.callback(listener.shutdown, socket.SHUT_RDWR)
            threading.Thread(target=_serve, args=(listener,), name=name, daemon=True).start()
        datagrams = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        datagrams.bind(made.facts["unix_datagrams"])
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        stack.callback(tcp.shutdown, socket.SHUT_RDWR)
        threading.Thread(target=_serve, args=(tcp,), daemon=True).start()
        made.facts["port"] = tcp.getsockname()[1]
        made.facts["udp"] = tcp.getsockname()[1]
        reader = os.open(made.facts["fifo"], os.O_RDONLY | os.O_NONBLOCK)
        stack.callback(os.close, reader)
        made.own()
        victim = subprocess.Popen(
            ["sleep", "300"],
            env={"VICTIM_SECRET": SECRET, "PATH": os.environ["PATH"]},
            user=made.uid,
            group=made.uid,
            extra_groups=[] if os.getuid() == 0 else None,
        )
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        made.facts["victim"] = victim.pid
        yield made
