"""The examples are whole: the plugin is the one that its how-to writes, and does what it says."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from remit import Call, Dial, Engine, Host, Projection, Verdict
from remit.policy.vocabulary import Layer
from tests.docs.pages import ROOT, Reader, blocks

PLUGIN = ROOT / "docs" / "examples" / "plugin"
HOW_TO = ROOT / "docs" / "how-to" / "plugin.md"


def test_the_how_to_writes_the_example() -> None:
    """The files that the how-to has its reader write are those of the example, to the byte."""
    written = {
        path.removeprefix("remit-acme/"): block.text
        for block in blocks(HOW_TO)
        if (path := block.said.get("file", "")).startswith("remit-acme/")
    }
    there = {str(p.relative_to(PLUGIN)): p for p in PLUGIN.rglob("*") if p.suffix != ".md"}

    assert written == {
        n: p.read_text() for n, p in there.items() if p.is_file() and "__pycache__" not in n
    }


def test_the_how_to_writes_the_shell_server() -> None:
    """The server that the how-to has its reader write is the example, to the byte."""
    page = ROOT / "docs" / "how-to" / "a-shell-that-reads.md"
    (text,) = [b.text for b in blocks(page) if b.said.get("file") == "shell-server/server.py"]

    assert text == (ROOT / "docs" / "examples" / "shell-server" / "server.py").read_text()


@pytest.fixture(scope="module")
def acme() -> ModuleType:
    """The example, imported from where it lies."""
    spec = importlib.util.spec_from_file_location(
        "remit_acme", PLUGIN / "src" / "remit_acme" / "__init__.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PLUGIN / "src")
        spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def engine(acme: ModuleType) -> Engine:
    """An engine that was given the plugin in code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PLUGIN / "src")
        return Engine.load(extra={"acme": acme})


def project(engine: Engine, mode: str) -> Projection:
    tools = engine.with_natives(engine.catalog("acme-deploy"))
    return engine.project(engine.profile(mode), tools, Host("test"))


class TestPlugin:
    def test_its_effect_class_is_refused_where_read_only_modes_refuse(self, engine: Engine) -> None:
        """A class that does not say otherwise is world-changing, in modes written before it."""
        assert engine.effects["acme.deploy"].world_changing
        assert not project(engine, "plan").compiled.admits("deploy")

    @pytest.mark.parametrize("mode", ["chat", "release"])
    @pytest.mark.parametrize(
        ("args", "says"),
        [
            ({"build": "142-dirty"}, "guard `acme` says: build `142-dirty` has changes"),
            ({}, "guard `acme` says: the call names no build"),
            ({"build": 142}, "guard `acme` says: the call names no build"),
        ],
    )
    def test_its_guard_refuses(
        self, engine: Engine, mode: str, args: dict[str, object], says: str
    ) -> None:
        """The guard refuses in every mode and under every dial, by name."""
        projection = project(engine, mode)
        judged = projection.judge(Call("deploy", args), Dial.AUTO)

        assert (judged.decision.verdict, judged.decision.layer) == (Verdict.DENY, Layer.GUARD)
        assert says in projection.text(judged).reason

    def test_its_projection_is_beside_the_five(self, engine: Engine) -> None:
        """A layer of its own is made for each profile, under the plugin's name."""
        badges = [project(engine, mode).layers["acme"] for mode in ("release", "plan")]

        assert [(b.text, b.colour) for b in badges] == [
            ("Release on test", "red"),
            ("Plan on test", "green"),
        ]

    def test_an_installed_plugin_does_nothing_by_itself(self, tmp_path: Path) -> None:
        """Installed with pip but not named in remit.toml, nothing of it is there."""
        reader = Reader(tmp_path / "you")
        code, said = reader.run(f"pip install {PLUGIN} && remit effects && remit modes")

        assert code == 0, said
        assert "git.push" in said
        assert "acme" not in said


def test_the_host_says_what_it_wants(tmp_path: Path) -> None:
    """Started without a folder, the example says how it is started, and leaves no trace."""
    reader = Reader(tmp_path / "you")
    code, said = reader.run(f"python {ROOT / 'docs/examples/host/notes_platform.py'}")

    assert code == 1
    assert said.startswith("usage: python ")
    assert said.rstrip().endswith(" FOLDER")
