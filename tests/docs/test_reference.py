"""The reference says what the code says."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import attrs
import click
import pytest

import remit
from remit.cli.app import app
from remit.harness.gateway.servers import ServerFile, ServersFile
from remit.harness.location import ConfigFile
from remit.harness.store.events import KINDS
from remit.plugins import hookspecs
from remit.policy.decision import Cause
from remit.policy.problems import CODE_GROUPS, CODES
from remit.policy.vocabulary import EFFECTS
from remit.profiles.schema import KINDS as KINDS_OF_FILES
from remit.profiles.schema import shipped_schema
from remit.profiles.shapes import BriefFile, CatalogFile, CeilingFile, ProfileFile, ToolFile
from tools import _reference

SOURCES = sorted(Path(remit.__file__).parent.rglob("*.py"))
PAGES = sorted(_reference.PAGES.glob("*.md"))


def page(name: str) -> str:
    return (_reference.PAGES / f"{name}.md").read_text()


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.stem)
def test_is_what_the_code_says(path: Path) -> None:
    """Each page of the reference is what `tools/reference` makes of it now."""
    text = path.read_text()

    assert _reference.filled(text) == text, "run tools/reference"


@pytest.mark.parametrize("kind", KINDS_OF_FILES)
def test_schemas_are_what_the_code_says(kind: str) -> None:
    """Each shipped schema is what `tools/reference` makes of the declarations now."""
    assert shipped_schema(kind) == _reference.schema_text(kind), "run tools/reference"


class TestWhole:
    """What the generator leaves out would be missed here."""

    def test_commands(self) -> None:
        """Every command and every option of each stands in the reference."""
        text = page("cli")
        for path, command in commands(app, "remit"):
            section = re.search(rf"^##+ `{path}`$(.*?)(?=^##|\Z)", text, re.M | re.S)
            assert section, path
            for option in (p for p in command.params if isinstance(p, click.Option)):
                assert option.hidden or f"`{option.opts[0]}" in section[1], (path, option.opts)

    @pytest.mark.parametrize(
        ("name", "prefix", "shape"),
        [
            ("profile", "", ProfileFile),
            ("profile", "ceiling.", CeilingFile),
            ("profile", "brief.", BriefFile),
            ("catalog", "", CatalogFile),
            ("catalog", "tools.NAME.", ToolFile),
            ("config", "", ConfigFile),
            ("servers", "", ServersFile),
            ("servers", "servers.NAME.", ServerFile),
        ],
    )
    def test_keys(self, name: str, prefix: str, shape: type) -> None:
        """Every key of a file stands there with the line that its declaration has."""
        rows = page(name).splitlines()
        for key in attrs.fields(shape):
            (row,) = (r for r in rows if r.startswith(f"| `{prefix}{key.name}` |"))
            assert key.metadata["doc"] in row

    def test_hooks(self) -> None:
        """Every hook stands there with its exact signature."""
        text = page("hooks")
        hooks = {n: h for n, h in vars(hookspecs).items() if hasattr(h, "remit_spec")}
        assert len(hooks) >= 8
        for name, hook in hooks.items():
            given = ", ".join(f"{n}: {a}" for n, a in inspect.get_annotations(hook).items())
            given, _, returned = given.rpartition("return: ")
            assert f"def {name}({given.rstrip(', ')}) -> {returned}\n" in text

    @pytest.mark.parametrize(
        ("name", "words"),
        [("events", KINDS), ("problems", CODES), ("effects", EFFECTS), ("decisions", list(Cause))],
    )
    def test_words(self, name: str, words: list[str]) -> None:
        """Every kind of record, code, effect class and cause has a row of its own."""
        rows = page(name).splitlines()
        for word in words:
            assert sum(r.startswith(f"| `{word}` |") for r in rows) == 1, word


class TestCodes:
    def test_stand_in_the_reference(self) -> None:
        """Every code that remit gives a problem is listed with what it means."""
        used = set(codes())

        assert len(used) > 100
        assert used - set(CODES) == set()

    def test_stand_in_one_group(self) -> None:
        """No code is listed twice."""
        assert sum(map(len, CODE_GROUPS.values())) == len(CODES)


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for name in command.list_commands(ctx):
            inner = command.get_command(ctx, name)
            assert inner is not None
            yield from commands(inner, f"{path} {name}")


#: The calls that take a code first, and the few that take one after something to check.
_FIRST = {"Problem", "report", "add", "problem", "_error", "_wrong", "partial", "_check"}
_CODE = re.compile(r"[a-z]+(-[a-z]+)+|usage|fault|mcp")


def codes() -> Iterator[str]:
    """Yield what looks like a code among the first three arguments of such calls."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            for arg in node.args[:3] if name in _FIRST else ():
                if isinstance(arg, ast.Constant) and _CODE.fullmatch(str(arg.value)):
                    yield str(arg.value)
