from pathlib import Path

import pytest

from tests.needs import need, need_module, need_npm


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)


@pytest.fixture
def ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")


class TestMissing:
    def test_skip(self, person: None) -> None:
        """For a person a missing component is a skip that says how to get it."""
        with pytest.raises(pytest.skip.Exception, match="apt-get install bubblewrap"):
            need("no-such-program", debian="bubblewrap")

    def test_fail(self, ci: None) -> None:
        """In CI a missing component is a failure that names it."""
        with pytest.raises(pytest.fail.Exception, match="no-such-program"):
            need("no-such-program")

    def test_module(self, ci: None) -> None:
        """A missing Python module is told by its name."""
        with pytest.raises(pytest.fail.Exception, match="no_such_module"):
            need_module("no_such_module")

    def test_npm(self, ci: None, tmp_path: Path, node: None) -> None:
        """A missing npm package is told by its name."""
        with pytest.raises(pytest.fail.Exception, match="@scope/package"):
            need_npm("@scope/package", tmp_path)


class TestPresent:
    def test_program(self, ci: None) -> None:
        """A program that is there is answered with its full path."""
        assert Path(need("git")).is_absolute()

    def test_module(self, ci: None) -> None:
        """A module that is there is no obstacle."""
        need_module("pytest")

    def test_npm(self, ci: None, tmp_path: Path, node: None) -> None:
        """An npm package that is there is answered with its folder."""
        folder = tmp_path / "@scope" / "package"
        folder.mkdir(parents=True)
        (folder / "package.json").write_text("{}")

        assert folder == need_npm("@scope/package", tmp_path)


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for node, which these tests only look for."""
    program = tmp_path / "bin" / "node"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(program.parent))
