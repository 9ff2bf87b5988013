import ast
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import remit


class TestNames:
    def test_sorted(self) -> None:
        """The public names are listed in order."""
        assert remit.__all__ == sorted(remit.__all__)

    @pytest.mark.parametrize("name", remit.__all__)
    def test_resolves(self, name: str) -> None:
        """Every public name is there, and is public where it lives."""
        home = importlib.import_module(remit._HOMES[name])

        assert getattr(home, name) is getattr(remit, name)
        assert name in dir(remit)

    def test_checked(self) -> None:
        """What a type checker sees is what the table says."""
        assert dict(sorted(declared())) == remit._HOMES

    def test_unknown(self) -> None:
        """A name that is not there is an AttributeError, as of any module."""
        with pytest.raises(AttributeError, match="no attribute 'polcy'"):
            remit.polcy  # type: ignore[attr-defined]  # noqa: B018


def declared() -> Iterator[tuple[str, str]]:
    """Name and module of each import in the facade's TYPE_CHECKING block."""
    tree = ast.parse(Path(remit.__file__).read_text())
    (block,) = (
        node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name)
    )
    for node in block.body:
        if isinstance(node, ast.ImportFrom):
            assert node.module
            for alias in node.names:
                assert alias.asname == alias.name, "write `X as X`: it is a re-export"
                yield alias.name, node.module


def loaded(module: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after one import."""
    code = f"import json, sys, {module}; print(json.dumps([*sys.modules]))"
    said = subprocess.check_output([sys.executable, "-I", "-c", code], text=True)
    return {name.partition(".")[0] for name in json.loads(said)}


class TestImportBudget:
    def test_facade(self) -> None:
        """Importing remit imports nothing that is not of the standard library."""
        assert loaded("remit") - loaded("json") - sys.stdlib_module_names == {"remit"}

    def test_policy(self) -> None:
        """Importing the policy room brings attrs and nothing else."""
        outside = loaded("remit.policy") - loaded("json") - sys.stdlib_module_names

        assert outside <= {"remit", "attr", "attrs"}
