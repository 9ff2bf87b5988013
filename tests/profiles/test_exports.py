"""The room opens cheaply: names are imported when they are used."""

import subprocess
import sys

import pytest

import remit.profiles

LOADED = "import sys; print(*(m for m in ('cattrs', 'yaml', 'tomli_w') if m in sys.modules))"


def modules_after(code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{LOADED}"], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_importing_the_room_imports_no_library() -> None:
    """cattrs and yaml come with the loader, tomli_w with the writer."""
    assert modules_after("import remit.profiles") == []
    load = "from remit.profiles import Library; Library.load()"
    assert modules_after(load) == ["cattrs", "yaml"]
    write = "from remit.profiles import write_profile; write_profile(Library.load().default)"
    assert modules_after(f"{load}\n{write}") == ["cattrs", "yaml", "tomli_w"]


@pytest.mark.parametrize("name", remit.profiles.__all__)
def test_each_public_name_is_there(name: str) -> None:
    """What is promised can be imported."""
    assert getattr(remit.profiles, name) is not None


def test_another_name_is_an_attribute_error() -> None:
    """A misspelled name fails as on any module."""
    with pytest.raises(AttributeError, match="Libary"):
        remit.profiles.Libary  # type: ignore[attr-defined] # noqa: B018
