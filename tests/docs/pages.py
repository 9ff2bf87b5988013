"""Pages: what a Markdown file of ours tells a reader to do, done, and what it shows, compared.

A fenced block is run by what stands after its three ticks:

- ``console``: each ``$ `` line is a command at the prompt of one shell; what follows is its output.
  ``exit=N`` says how the last one ends, 0 unless said.
- ``text`` with ``agent=PATH``: an agent's client starts the one server of that MCP configuration.
  Each ``> `` line is a call of a tool with its arguments, each ``$ `` line the operator's command
  meanwhile; what follows is the answer.
- ``sh`` with ``run=yes``: the block is pasted into the shell, from the reader's home.
- any language with ``file=PATH``: the block is written there, from the home of the reader.
- any other block is for the eye.

In an output, a line ``...`` stands for any number of lines. Ids, times and hashes differ from run
to run: the first that the page shows stands for the first that came, in outputs and in commands.
"""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import anyio
from attrs import define, field, frozen

import remit

__all__ = ["ROOT", "Block", "Reader", "blocks", "pages"]

ROOT = Path(__file__).parents[2]
#: How the pages call the reader's home.
HOME = "/home/you"
#: A command, which goes on after a backslash at the end of a line, and its output.
_PROMPT = re.compile(r"((?:[^\n]*\\\n)*[^\n]*\n)(.*)", re.DOTALL)
_DB = ".local/share/remit/remit.db"
_FENCE = re.compile(r"^```(?P<info>[^`\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
#: What is made up anew: ids of approvals, grants, orchestrations, plans, runs, pipelines and
#: conversations; then hashes and times.
_ID = re.compile(r"\b[agopr][0-9a-f]{10}\b|\bpl(?:[0-9a-f]{8}){1,2}\b|\bgw-[0-9a-f]{16}\b")
_VARIES = re.compile(r"\b[0-9a-f]{12,64}\b|\b\d{4}-\d\d-\d\dT[\d:.]+Z|\b\d{8}-\d{4}\b")
#: Programs that a reader has, and the modules that they are.
_PROGRAMS = {"remit": "-m remit", "python": "", "mcp-server-git": "-m mcp_server_git"}


#: As `pip install`, into a folder of the reader's own, from this machine alone.
_PIP = (
    "-m pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation --no-index "
    '--root-user-action ignore --target "$HOME/.site"'
)


@frozen
class Block:
    """A fenced block: where it begins, what is said of it, and its text."""

    line: int
    language: str
    said: Mapping[str, str]
    text: str

    @property
    def exchanges(self) -> Iterator[tuple[str, str, str]]:
        """Yield what is said at each prompt: its sign, the line, and the answer that is shown."""
        signs = r"^([$>]) " if "agent" in self.said else r"^(\$) "
        _, *parts = re.split(signs, self.text, flags=re.MULTILINE)
        for sign, part in zip(parts[::2], parts[1::2], strict=True):
            found = _PROMPT.fullmatch(part)
            assert found, part
            yield sign, found[1], found[2]


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    text = page.read_text()
    for found in _FENCE.finditer(text):
        language, *said = found["info"].split() or [""]
        line = text.count("\n", 0, found.start()) + 1
        yield Block(line, language, dict(s.split("=", 1) for s in said), found["text"])


def pages() -> list[Path]:
    """Return every Markdown file that a reader may open."""
    found = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    return sorted(p for p in found if "decisions" not in p.parts)


@define
class Reader:
    """Somebody who follows a page at a terminal, in a home of their own."""

    home: Path
    cwd: Path = field(init=False)
    ids: dict[str, str] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.cwd = self.home
        programs = self.home / ".programs"
        programs.mkdir(parents=True)
        for name, module in _PROGRAMS.items():
            path = programs / name
            path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {module} "$@"\n')
            path.chmod(0o755)
        pip = programs / "pip"
        pip.write_text(f'#!/bin/sh\nshift\nexec {shlex.quote(sys.executable)} {_PIP} "$@"\n')
        pip.chmod(0o755)

    @property
    def environ(self) -> dict[str, str]:
        """What the reader's shell holds."""
        path = f"{self.home / '.programs'}:{os.environ['PATH']}"
        kept = {k: os.environ[k] for k in ("LANG", "LC_ALL") if k in os.environ}
        import_from = [str(Path(remit.__file__).parents[1]), str(self.home / ".site")]
        kept["PYTHONPATH"] = os.pathsep.join(import_from)
        who = {f"GIT_{w}_{k}": v for w in ("AUTHOR", "COMMITTER") for k, v in _YOU.items()}
        return {
            **kept, **who, "PATH": path, "HOME": str(self.home), "NO_COLOR": "1", "COLUMNS": "100",
            "TERM": "dumb", "GIT_CONFIG_NOSYSTEM": "1",
        }  # fmt: skip

    def follow(self, page: Path) -> int:
        """Do what a page says, in order; return how many blocks there were to do."""
        if "examples" in page.parts:
            self.cwd = self.home / page.parent.name
            shutil.copytree(page.parent, self.cwd)
        done = 0
        for block in blocks(page):
            if "agent" in block.said:
                anyio.run(self._talk, page, block)
            elif "file" in block.said:
                path = self.home / block.said["file"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(self._ours(block.text))
            elif block.language == "console":
                self._type(page, block)
            elif "run" in block.said:
                code, said = self.run(block.text)
                assert (code, said) == (0, ""), f"{page.relative_to(ROOT)}:{block.line}\n{said}"
            else:
                continue
            done += 1
        return done

    async def _talk(self, page: Path, block: Block) -> None:
        """Be the agent of a block, and the operator beside it."""
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client

        config = json.loads(self._ours((self.home / block.said["agent"]).read_text()))
        (server,) = config["mcpServers"].values()
        program, *rest = server["args"]
        assert (Path(server["command"]).name, program) == ("remit", "gateway")
        # A gateway heeds no HOME, so that an agent's client cannot lead it elsewhere.
        places = ["--config", str(self.home / ".config/remit"), "--db", str(self.home / _DB)]
        start = StdioServerParameters(
            command=server["command"],
            args=[program, *places, *rest],
            env=self.environ,
            cwd=self.cwd,
        )
        with (self.home / ".gateway").open("w") as errors:
            async with Client(
                stdio_client(start, errlog=errors), read_timeout_seconds=60
            ) as client:
                for sign, line, shown in block.exchanges:
                    if sign == "$":
                        said = self.run(line)[1]
                    else:
                        tool, _, args = line.strip().partition(" ")
                        answer = await client.call_tool(tool, json.loads(self._ours(args or "{}")))
                        texts = [part.text for part in answer.content if part.type == "text"]
                        said = "\n".join(texts).replace(str(self.home), HOME)
                    at = f"{page.relative_to(ROOT)}:{block.line}"
                    assert self._alike(shown, said), (
                        f"{at}: `{line.strip()}` was answered\n{said}\nand the page shows\n{shown}"
                    )

    def _ours(self, text: str) -> str:
        """Return text of the page as it is meant here: with this reader's home and ids."""
        for theirs, ours in self.ids.items():
            text = text.replace(theirs, ours)
        return text.replace(HOME, str(self.home))

    def _type(self, page: Path, block: Block) -> None:
        at = f"{page.relative_to(ROOT)}:{block.line}"
        commands = list(block.exchanges)
        for i, (_, command, shown) in enumerate(commands):
            wanted = int(block.said.get("exit", "0")) if i == len(commands) - 1 else 0
            code, output = self.run(command)
            assert code == wanted, f"{at}: `{command.strip()}` ended with {code}\n{output}"
            assert self._alike(shown, output), (
                f"{at}: `{command.strip()}` printed\n{output}\nand the page shows\n{shown}"
            )

    def run(self, command: str) -> tuple[int, str]:
        """Run one command as at a terminal; return how it ended and what it printed."""
        command = self._ours(command)
        after = self.home / ".cwd"
        script = f"cd {shlex.quote(str(self.cwd))}\n{command}\ncode=$?; pwd > {after}; exit $code\n"
        far, near = pty.openpty()
        try:
            ended = subprocess.run(
                ["bash", "-c", script], stdin=near, stdout=subprocess.PIPE, text=True,
                stderr=subprocess.STDOUT, env=self.environ, check=False, timeout=120,
            )  # fmt: skip
        finally:
            os.close(far)
            os.close(near)
        self.cwd = Path(after.read_text().strip())
        return ended.returncode, ended.stdout.replace(str(self.home), HOME)

    def _alike(self, shown: str, output: str) -> bool:
        want = [_plain(line) for line in shown.splitlines()]
        got = [_plain(line) for line in output.splitlines()]
        ends = _match(want, got)
        if ends:
            fresh = [i for i in _ID.findall(shown) if i not in self.ids]
            came = [i for i in _ID.findall(output) if i not in self.ids.values()]
            self.ids.update(zip(dict.fromkeys(fresh), dict.fromkeys(came), strict=False))
        return ends


_YOU = {"NAME": "You", "EMAIL": "you@example.com"}


def _plain(line: str) -> str:
    return _VARIES.sub("#", _ID.sub("@", line)).rstrip()


def _match(want: list[str], got: list[str]) -> bool:
    """Say whether the lines are those wanted, where `...` stands for any number of lines."""
    if not want:
        return not got
    if want[0].strip() == "...":
        return any(_match(want[1:], got[i:]) for i in range(len(got) + 1))
    return bool(got) and want[0] == got[0] and _match(want[1:], got[1:])
